// SPDX-License-Identifier: Apache-2.0
// ProcessStream and run_and_capture.
#include "transport/process_stream.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <mutex>
#include <thread>
#include <utility>

#include "transport/fd_stream.hpp"
#include "transport/poll_wait.hpp"
#include "transport/spawn.hpp"
#include "transport/stderr_keeper.hpp"

namespace nb::transport {
namespace {

constexpr int k_socket_bytes = 1 << 20;
constexpr std::size_t k_read_bytes = 4096;
constexpr std::size_t k_most_pipe_bytes = 1 << 20;  // 64 KiB, but for large pages
constexpr std::chrono::milliseconds k_grace{1000};
constexpr std::chrono::milliseconds k_grace_after_sigterm{2000};

struct Pair {
  Fd ours;
  Fd theirs;
};

Result<Pair> make_socket_pair() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return fail_errno("socketpair");
  Pair pair{Fd(ends[0]), Fd(ends[1])};
  for (const int fd : ends) {
    // The kernel cuts this to net.core.wmem_max by itself; a failure costs speed only.
    static_cast<void>(::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &k_socket_bytes, sizeof k_socket_bytes));
  }
  return pair;
}

Result<Pair> make_pipe_to_us() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail_errno("pipe");
  Pair pair{Fd(ends[0]), Fd(ends[1])};
  NB_TRY(set_nonblocking(pair.ours.get()));
  return pair;
}

enum class Drained : std::uint8_t { open, ended };

// Takes what is there now, as much as a pipe holds: who writes without end does not keep us here.
template <class Take>
Drained drain(int fd, const Take& take) {
  std::array<std::byte, k_read_bytes> buffer{};
  std::size_t taken = 0;
  while (taken < k_most_pipe_bytes) {
    const ssize_t n = ::read(fd, buffer.data(), buffer.size());
    if (n > 0) {
      take(ByteView(buffer).first(static_cast<std::size_t>(n)));
      taken += static_cast<std::size_t>(n);
    } else if (n < 0 && errno == EINTR) {
      continue;
    } else {
      return n < 0 && errno == EAGAIN ? Drained::open : Drained::ended;
    }
  }
  return Drained::open;
}

// The thread that keeps standard error flowing. It ends with the pipe, or when told that the program has: a daemon
// that the program left behind (OpenSSH's ControlPersist) may hold the pipe open for hours.
class StderrThread {
 public:
  StderrThread(Fd pipe, Fd stop, StderrLine on_line, StderrFilter takes)
      : m_pipe(std::move(pipe)),
        m_stop(std::move(stop)),
        m_keeper(std::move(on_line), std::move(takes)),
        m_thread([this] { run(); }) {}
  ~StderrThread() { finish(); }
  StderrThread(const StderrThread&) = delete;
  StderrThread& operator=(const StderrThread&) = delete;

  // Takes what has been written by now, whatever the thread has come to.
  void catch_up() { static_cast<void>(take_what_is_there()); }
  // Takes what is still in the pipe and ends the thread.
  void finish() {
    signal_event_fd(m_stop.get());
    if (m_thread.joinable()) m_thread.join();
  }
  [[nodiscard]] std::string tail() const { return m_keeper.tail(); }

 private:
  Drained take_what_is_there() {
    const std::lock_guard lock(m_taking);
    return drain(m_pipe.get(), [this](ByteView data) { m_keeper.append(data); });
  }
  void run() {
    bool stopped = false;
    while (true) {
      const Drained state = take_what_is_there();
      if (state == Drained::ended || stopped) break;
      const auto wake = wait_for(m_pipe.get(), POLLIN, m_stop.get(), std::nullopt);
      stopped = !wake || *wake == Wake::interrupted;
    }
    const std::lock_guard lock(m_taking);
    m_keeper.finish();
  }

  Fd m_pipe;
  Fd m_stop;
  std::mutex m_taking;  // one at a time reads the pipe and appends
  StderrKeeper m_keeper;
  std::thread m_thread;  // last: it uses all of the above
};

class ProcessStream final : public ByteStream {
 public:
  ProcessStream(std::unique_ptr<ByteStream> io, Child child, Fd stderr_pipe, Fd stop, ProcessOptions options)
      : m_io(std::move(io)),
        m_child(std::move(child)),
        m_on_answer(std::move(options.on_answer)),
        m_stderr(std::move(stderr_pipe), std::move(stop), std::move(options.on_stderr),
                 std::move(options.takes_stderr)) {}
  ~ProcessStream() override;
  ProcessStream(const ProcessStream&) = delete;
  ProcessStream& operator=(const ProcessStream&) = delete;

  Result<std::size_t> read(std::span<std::byte> out, std::chrono::milliseconds inactivity) override;
  Status write(ByteView data) override { return m_io->write(data); }
  Status finish_writing() override { return m_io->finish_writing(); }
  void close_now() override { m_io->close_now(); }
  PeerEnd wait_end(std::chrono::milliseconds limit) override;
  [[nodiscard]] std::string describe() const override { return m_io->describe(); }

 private:
  std::unique_ptr<ByteStream> m_io;
  Child m_child;
  std::function<void()> m_on_answer;  // empty once it was called
  StderrThread m_stderr;
};

Result<std::size_t> ProcessStream::read(std::span<std::byte> out, std::chrono::milliseconds inactivity) {
  Result<std::size_t> taken = m_io->read(out, inactivity);
  if (m_on_answer && taken && *taken > 0) {
    m_stderr.catch_up();
    std::exchange(m_on_answer, nullptr)();
  }
  return taken;
}

PeerEnd ProcessStream::wait_end(std::chrono::milliseconds limit) {
  if (m_child.wait(limit)) m_stderr.finish();
  PeerEnd end = m_child.end();
  end.stderr_tail = m_stderr.tail();
  return end;
}

ProcessStream::~ProcessStream() {
  m_io->close_now();
  if (m_child.wait(k_grace)) return;
  m_child.signal(SIGTERM);
  static_cast<void>(m_child.wait(k_grace_after_sigterm));
}

// Reads both pipes of a running program until both end.
struct Capture {
  std::string output;
  std::size_t max_bytes = 0;
  StderrKeeper errors{StderrLine{}};

  Status collect(int out_fd, int err_fd, Deadline deadline);
};

Status Capture::collect(int out_fd, int err_fd, Deadline deadline) {
  Drained out_state = Drained::open;
  while (out_state == Drained::open) {
    out_state = drain(out_fd, [this](ByteView data) {
      if (output.size() <= max_bytes) output.append(as_text(data));
    });
    if (output.size() > max_bytes) return fail(Errc::protocol, "too much output");
    if (out_state == Drained::ended) break;
    // Standard error may end first, and must not keep waking us then.
    const Drained err_state = drain(err_fd, [this](ByteView data) { errors.append(data); });
    if (err_state == Drained::ended) err_fd = -1;
    NB_TRY_ASSIGN(const Wake wake, wait_for(out_fd, POLLIN, err_fd, deadline));
    if (wake == Wake::timed_out) return fail(Errc::timeout, "no end of output");
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<ByteStream>> open_process_stream(ProcessOptions options) {
  NB_TRY_ASSIGN(Pair io, make_socket_pair());
  NB_TRY_ASSIGN(Pair errors, make_pipe_to_us());
  NB_TRY_ASSIGN(Fd stop, make_event_fd());
  FdStreamOptions stream_options{options.write_inactivity, options.description};
  NB_TRY_ASSIGN(auto stream, open_socket_stream(std::move(io.ours), std::move(stream_options)));
  NB_TRY_ASSIGN(Child child, spawn(options.argv, io.theirs.get(), io.theirs.get(), errors.theirs.get()));
  return std::make_unique<ProcessStream>(std::move(stream), std::move(child), std::move(errors.ours), std::move(stop),
                                         std::move(options));
}

Result<Captured> run_and_capture(const std::vector<std::string>& argv, std::size_t max_bytes,
                                 std::chrono::milliseconds limit) {
  const Deadline deadline = std::chrono::steady_clock::now() + limit;
  const Fd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!nothing.valid()) return fail_errno("open /dev/null");
  NB_TRY_ASSIGN(Pair output, make_pipe_to_us());
  NB_TRY_ASSIGN(Pair errors, make_pipe_to_us());
  NB_TRY_ASSIGN(Child child, spawn(argv, nothing.get(), output.theirs.get(), errors.theirs.get()));
  output.theirs.reset();
  errors.theirs.reset();
  Capture capture;
  capture.max_bytes = max_bytes;
  const Status collected = capture.collect(output.ours.get(), errors.ours.get(), deadline);
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - std::chrono::steady_clock::now());
  const bool ended = collected.has_value() && child.wait(left);
  if (!ended) {
    child.signal(SIGKILL);
    static_cast<void>(child.wait(k_grace_after_sigterm));
    if (!collected) return wrap(collected.error(), argv.front());
    return fail(Errc::timeout, argv.front());
  }
  static_cast<void>(drain(errors.ours.get(), [&](ByteView data) { capture.errors.append(data); }));
  Captured captured{child.end(), std::move(capture.output)};
  captured.end.stderr_tail = capture.errors.tail();
  return captured;
}

}  // namespace nb::transport
