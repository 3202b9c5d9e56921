// SPDX-License-Identifier: Apache-2.0
// FdStream: each direction has its own descriptor and lock. close_now() wakes whoever is inside by an eventfd that
// stays readable, then takes both locks and closes; so no descriptor is closed under a running call.
#include "transport/fd_stream.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <mutex>

#include "transport/poll_wait.hpp"

namespace nb::transport {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int k_pipe_bytes = 1 << 20;

enum class FdKind : std::uint8_t { socket, other };

struct Side {
  Fd fd;
  FdKind kind = FdKind::other;
  int flags_before = 0;
  std::mutex mutex;

  void restore_and_close() {
    if (!fd.valid()) return;
    // Others may share the open file (a terminal, a test's pipe) and expect it as it was.
    if ((flags_before & O_NONBLOCK) == 0) static_cast<void>(::fcntl(fd.get(), F_SETFL, flags_before));
    fd.reset();
  }
};

Result<FdKind> kind_of(int fd) {
  struct stat st {};
  if (::fstat(fd, &st) != 0) return fail_errno("fstat");
  return S_ISSOCK(st.st_mode) ? FdKind::socket : FdKind::other;
}

tl::unexpected<Error> lost(const char* operation, int sys_errno) {
  return fail(Errc::connection_lost, operation, sys_errno);
}

class FdStream final : public ByteStream {
 public:
  FdStream(FdStreamOptions options, Fd wake) : m_options(std::move(options)), m_wake(std::move(wake)) {}
  ~FdStream() override { close_now(); }
  FdStream(const FdStream&) = delete;
  FdStream& operator=(const FdStream&) = delete;

  Status adopt(Fd in, Fd out);

  Result<std::size_t> read(std::span<std::byte> out, std::chrono::milliseconds inactivity) override;
  Status write(ByteView data) override;
  Status finish_writing() override;
  void close_now() override;
  PeerEnd wait_end(std::chrono::milliseconds) override { return {}; }
  [[nodiscard]] std::string describe() const override { return m_options.description; }

 private:
  Result<std::size_t> write_some(ByteView data);
  Status wait(int fd, short events, Deadline deadline, const char* operation) const;
  Status wait_until_taken();

  FdStreamOptions m_options;
  Fd m_wake;
  std::atomic<bool> m_closed{false};
  // When the peer last took something, or said something; or a write began.
  std::atomic<SteadyClock::time_point> m_alive{SteadyClock::now()};
  bool m_finished = false;  // guarded by m_out.mutex
  Side m_in;
  Side m_out;
};

Status FdStream::adopt(Fd in, Fd out) {
  m_in.fd = std::move(in);
  m_out.fd = std::move(out);
  for (Side* side : {&m_in, &m_out}) {
    NB_TRY_ASSIGN(side->kind, kind_of(side->fd.get()));
    side->flags_before = ::fcntl(side->fd.get(), F_GETFL);
    if (side->flags_before < 0) return fail_errno("fcntl");
    // Fails on anything but a pipe, and above the user's pipe limit; neither matters.
    static_cast<void>(::fcntl(side->fd.get(), F_SETPIPE_SZ, k_pipe_bytes));
  }
  NB_TRY(set_nonblocking(m_in.fd.get()));
  NB_TRY(set_nonblocking(m_out.fd.get()));
  return {};
}

Status FdStream::wait(int fd, short events, Deadline deadline, const char* operation) const {
  NB_TRY_ASSIGN(const Wake wake, wait_for(fd, events, m_wake.get(), deadline));
  if (wake == Wake::interrupted) return lost(operation, 0);
  if (wake == Wake::timed_out) return fail(Errc::timeout, operation);
  return {};
}

Result<std::size_t> FdStream::read(std::span<std::byte> out, std::chrono::milliseconds inactivity) {
  const std::lock_guard lock(m_in.mutex);
  const Deadline deadline = deadline_after(inactivity);
  while (true) {
    if (m_closed) return lost("read", 0);
    const ssize_t n = ::read(m_in.fd.get(), out.data(), out.size());
    if (n > 0) m_alive = SteadyClock::now();
    if (n >= 0) return static_cast<std::size_t>(n);
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return lost("read", errno);
    NB_TRY(wait(m_in.fd.get(), POLLIN, deadline, "read"));
  }
}

// As much as fits now, or 0 where that is nothing.
Result<std::size_t> FdStream::write_some(ByteView data) {
  while (true) {
    const int fd = m_out.fd.get();
    const ssize_t n = m_out.kind == FdKind::socket ? ::send(fd, data.data(), data.size(), MSG_NOSIGNAL)
                                                   : ::write(fd, data.data(), data.size());
    if (n >= 0) return static_cast<std::size_t>(n);
    if (errno == EINTR) continue;
    if (errno == EAGAIN) return std::size_t{0};
    return lost("write", errno);
  }
}

// A peer that says something is there, however long it takes nothing: it may be busy with what it was sent before.
Status FdStream::wait_until_taken() {
  while (true) {
    const SteadyClock::time_point alive = m_alive;
    const Status ready = wait(m_out.fd.get(), POLLOUT, deadline_after(m_options.write_inactivity, alive), "write");
    if (ready || ready.error().code != Errc::timeout || m_alive.load() == alive) return ready;
  }
}

Status FdStream::write(ByteView data) {
  const std::lock_guard lock(m_out.mutex);
  m_alive = SteadyClock::now();
  while (!data.empty()) {
    if (m_closed) return lost("write", 0);
    if (m_finished) return fail(Errc::internal, "write after finish_writing");
    NB_TRY_ASSIGN(const std::size_t count, write_some(data));
    data = data.subspan(count);
    if (count != 0) {
      m_alive = SteadyClock::now();
    } else {
      NB_TRY(wait_until_taken());
    }
  }
  return {};
}

Status FdStream::finish_writing() {
  const std::lock_guard lock(m_out.mutex);
  if (m_closed) return lost("finish writing", 0);
  if (std::exchange(m_finished, true)) return {};
  if (m_out.kind == FdKind::other) {
    m_out.restore_and_close();
  } else if (::shutdown(m_out.fd.get(), SHUT_WR) != 0) {
    return lost("finish writing", errno);
  }
  return {};
}

void FdStream::close_now() {
  m_closed = true;
  signal_event_fd(m_wake.get());
  for (Side* side : {&m_in, &m_out}) {
    const std::lock_guard lock(side->mutex);
    // The program at the other end of a socket may have handed our end on to a child: closing is not enough.
    if (side->kind == FdKind::socket && side->fd.valid()) static_cast<void>(::shutdown(side->fd.get(), SHUT_RDWR));
    side->restore_and_close();
  }
}

}  // namespace

void ignore_sigpipe() {
  struct sigaction current {};
  if (::sigaction(SIGPIPE, nullptr, &current) != 0 || current.sa_handler != SIG_DFL) return;
  struct sigaction ignored {};
  ignored.sa_handler = SIG_IGN;
  static_cast<void>(::sigaction(SIGPIPE, &ignored, nullptr));
}

Result<std::unique_ptr<ByteStream>> open_fd_stream(Fd in, Fd out, FdStreamOptions options) {
  ignore_sigpipe();
  NB_TRY_ASSIGN(Fd wake, make_event_fd());
  auto stream = std::make_unique<FdStream>(std::move(options), std::move(wake));
  NB_TRY(stream->adopt(std::move(in), std::move(out)));
  return stream;
}

Result<std::unique_ptr<ByteStream>> open_socket_stream(Fd socket, FdStreamOptions options) {
  Fd second(::fcntl(socket.get(), F_DUPFD_CLOEXEC, 0));
  if (!second.valid()) return fail_errno("dup");
  return open_fd_stream(std::move(socket), std::move(second), std::move(options));
}

}  // namespace nb::transport
