// SPDX-License-Identifier: Apache-2.0
#include "cli/child_program.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>

#include "base/fd.hpp"
#include "session/interrupt.hpp"
#include "transport/spawn.hpp"

namespace nb::cli {
namespace {

constexpr std::chrono::milliseconds k_look_for_interrupt{100};

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// In memory, so that a program that does not read it cannot stop us.
Result<Fd> open_input(const std::string& text) {
  Fd file(text.empty() ? ::open("/dev/null", O_RDONLY | O_CLOEXEC) : ::memfd_create("input", MFD_CLOEXEC));
  if (!file.valid()) return fail_errno("standard input of a program");
  NB_TRY(write_full(file.get(), as_bytes(text)));
  if (!text.empty() && ::lseek(file.get(), 0, SEEK_SET) != 0) return fail_errno("standard input of a program");
  return file;
}

// posix_spawn's two structures, for as long as one call needs them.
class SpawnPlan {
 public:
  explicit SpawnPlan(int input) {
    ::posix_spawn_file_actions_init(&m_actions);
    ::posix_spawn_file_actions_adddup2(&m_actions, input, STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&m_actions, STDERR_FILENO, STDOUT_FILENO);
    ::posix_spawnattr_init(&m_attributes);
    // What this process ignores for its own sake; what it handles is back at its default by exec, and what nohup has
    // ignored stays so.
    sigset_t defaults;
    ::sigemptyset(&defaults);
    ::sigaddset(&defaults, SIGPIPE);
    ::sigaddset(&defaults, SIGXFSZ);
    ::posix_spawnattr_setsigdefault(&m_attributes, &defaults);
    ::posix_spawnattr_setflags(&m_attributes, POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnPlan() {
    ::posix_spawn_file_actions_destroy(&m_actions);
    ::posix_spawnattr_destroy(&m_attributes);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  Result<pid_t> start(const ChildProgram& program) const {
    pid_t pid = 0;
    const int error = ::posix_spawn(&pid, program.argv.front().c_str(), &m_actions, &m_attributes,
                                    pointers(program.argv).data(), pointers(program.environment).data());
    if (error != 0) return fail_errno("start " + program.argv.front(), error);
    return pid;
  }

 private:
  posix_spawn_file_actions_t m_actions{};
  posix_spawnattr_t m_attributes{};
};

Result<transport::PeerEnd> run(const ChildProgram& program, Clock& clock) {
  NB_TRY_ASSIGN(const Fd input, open_input(program.input));
  // A command that hears of an interrupted run must not be ended by that interrupt. Asked before there is one: an
  // interrupt that comes while it starts is for it.
  bool passes_on = !session::interrupt_requested();
  NB_TRY_ASSIGN(const pid_t pid, SpawnPlan(input.get()).start(program));
  transport::Child child(pid);
  const SteadyTime began = clock.steady();
  while (!child.wait(k_look_for_interrupt)) {
    if (passes_on && session::interrupt_requested()) {
      child.signal(SIGTERM);
      passes_on = false;
    }
    if (program.limit.count() != 0 && clock.steady() - began > program.limit) child.signal(SIGKILL);
  }
  return child.end();
}

}  // namespace

std::optional<std::string> run_to_end(const ChildProgram& program, Clock& clock) {
  const auto end = run(program, clock);
  if (!end) return end.error().message();
  if (end->ended_well()) return std::nullopt;
  return "ended with " +
         (end->exit_status ? "exit code " + std::to_string(*end->exit_status) : "signal " + end->signal_name);
}

std::vector<std::string> inherited_environment() {
  std::vector<std::string> variables;
  for (char** each = environ; *each != nullptr; ++each) variables.emplace_back(*each);
  return variables;
}

}  // namespace nb::cli
