// SPDX-License-Identifier: Apache-2.0
// fork and exec by hand: posix_spawn cannot set a signal to ignored. Between fork and exec only async-signal-safe calls
// are made, since other threads of the parent may have held any lock.
#include "transport/spawn.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

#include "transport/poll_wait.hpp"

namespace nb::transport {
namespace {

constexpr std::chrono::milliseconds k_look_again{5};

// What was ignored on purpose (nohup) stays ignored: the child is to outlive the hangup as we do. Not what this process
// ignores for its own sake, nor SIGCHLD, without which no child could wait for its own.
bool stays_ignored(int number) {
  struct sigaction before {};
  const bool ours = number == SIGPIPE || number == SIGXFSZ || number == SIGCHLD;
  return !ours && ::sigaction(number, nullptr, &before) == 0 && before.sa_handler == SIG_IGN;
}

void reset_signals() {
  struct sigaction action {};
  for (int number = 1; number < NSIG; ++number) {
    const bool keyboard = number == SIGINT || number == SIGQUIT;
    action.sa_handler = keyboard || stays_ignored(number) ? SIG_IGN : SIG_DFL;
    static_cast<void>(::sigaction(number, &action, nullptr));  // fails for SIGKILL and SIGSTOP, as it should
  }
  sigset_t none;
  sigemptyset(&none);
  static_cast<void>(::sigprocmask(SIG_SETMASK, &none, nullptr));
}

[[noreturn]] void run_child(char* const* argv, const std::array<int, 3>& fds, int report_fd) {
  reset_signals();
  bool ready = true;
  for (int target = 0; target < 3; ++target) {
    ready = ready && ::dup2(fds[static_cast<std::size_t>(target)], target) == target;  // clears close-on-exec
  }
  if (ready) ::execvp(argv[0], argv);
  const int error = errno;
  static_cast<void>(!::write(report_fd, &error, sizeof error));
  ::_exit(127);
}

// Copies at 3 or above, so that no dup2 in the child overwrites a descriptor that is still needed.
Result<Fd> above_standard(int fd) {
  Fd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
  if (!copy.valid()) return fail_errno("dup");
  return copy;
}

struct Report {
  Fd read_end;
  Fd write_end;
};

Result<Report> make_report_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail_errno("pipe");
  Report report{Fd(ends[0]), Fd(ends[1])};
  NB_TRY_ASSIGN(report.write_end, above_standard(report.write_end.get()));
  return report;
}

}  // namespace

// By number: glibc 2.36 declares the wrapper without C linkage for C++.
Child::Child(pid_t pid) : m_pid(pid), m_pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0U))) {}

bool Child::try_reap() {
  if (m_status) return true;
  int status = 0;
  pid_t got = 0;
  do {
    got = ::waitpid(m_pid, &status, WNOHANG);
  } while (got < 0 && errno == EINTR);
  if (got == m_pid) m_status = status;
  // Somebody else reaped it (SIGCHLD ignored): gone, without saying how.
  if (got < 0) m_status = W_EXITCODE(255, 0);
  return m_status.has_value();
}

bool Child::wait(std::chrono::milliseconds limit) {
  const auto until = std::chrono::steady_clock::now() + limit;
  while (!try_reap()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    if (left <= std::chrono::milliseconds::zero()) return false;
    if (!m_pidfd.valid()) {
      std::this_thread::sleep_for(std::min(left, k_look_again));
    } else if (!wait_for(m_pidfd.get(), POLLIN, -1, deadline_after(left))) {
      return false;
    }
  }
  return true;
}

void Child::signal(int number) const {
  if (!m_status) static_cast<void>(::kill(m_pid, number));
}

PeerEnd Child::end() const {
  PeerEnd end;
  if (!m_status) return end;
  if (WIFEXITED(*m_status)) end.exit_status = WEXITSTATUS(*m_status);
  if (WIFSIGNALED(*m_status)) {
    const char* name = ::sigabbrev_np(WTERMSIG(*m_status));
    end.signal_name = name != nullptr ? name : std::to_string(WTERMSIG(*m_status));
  }
  return end;
}

Result<Child> spawn(const std::vector<std::string>& argv, int stdin_fd, int stdout_fd, int stderr_fd) {
  if (argv.empty() || argv.front().empty()) return fail(Errc::usage, "no program to start");
  std::vector<char*> words;
  words.reserve(argv.size() + 1);
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  NB_TRY_ASSIGN(const Fd in, above_standard(stdin_fd));
  NB_TRY_ASSIGN(const Fd out, above_standard(stdout_fd));
  NB_TRY_ASSIGN(const Fd err, above_standard(stderr_fd));
  NB_TRY_ASSIGN(Report report, make_report_pipe());
  const pid_t pid = ::fork();
  if (pid < 0) return fail_errno("fork");
  if (pid == 0) run_child(words.data(), {in.get(), out.get(), err.get()}, report.write_end.get());
  report.write_end.reset();
  Child child(pid);
  int exec_errno = 0;
  std::array<std::byte, sizeof exec_errno> raw{};
  NB_TRY_ASSIGN(const std::size_t got, read_full(report.read_end.get(), raw));
  if (got == 0) return child;
  std::memcpy(&exec_errno, raw.data(), sizeof exec_errno);
  static_cast<void>(child.wait(std::chrono::seconds(10)));
  return fail_errno("start " + argv.front(), exec_errno);
}

}  // namespace nb::transport
