// SPDX-License-Identifier: Apache-2.0
#include "base/failpoint.hpp"

#ifdef NB_FAILPOINTS

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "base/assert.hpp"
#include "base/fd.hpp"
#include "base/text.hpp"

namespace nb {
namespace {

struct Armed {
  std::string action;
  std::uint64_t passes_left = 1;
};

class Registry {
 public:
  Registry() {
    if (const char* spec = std::getenv("NBACKUP_FAILPOINT")) arm_all(spec);
    if (const char* log = std::getenv("NBACKUP_FAILPOINT_LOG")) m_log = log;
  }

  Status pass(std::string_view name) {
    const std::lock_guard lock(m_mutex);
    note(name);
    const auto it = m_armed.find(std::string(name));
    if (it == m_armed.end() || it->second.passes_left == 0) return {};
    if (--it->second.passes_left > 0) return {};
    return act(it->second.action, name);
  }

 private:
  void arm_all(std::string_view spec) {
    for (const std::string_view item : split(spec, ',')) {
      const std::size_t equals = item.find('=');
      NB_ASSERT(equals != std::string_view::npos);
      const std::string_view what = item.substr(equals + 1);
      const std::size_t at = what.find('@');
      Armed armed{std::string(what.substr(0, at)), 1};
      if (at != std::string_view::npos) armed.passes_left = parse_u64(what.substr(at + 1)).value_or(1);
      m_armed[std::string(item.substr(0, equals))] = armed;
    }
  }

  void note(std::string_view name) {
    if (m_log.empty() || !m_noted.insert(std::string(name)).second) return;
    const Fd fd(::open(m_log.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644));
    static_cast<void>(write_full(fd.get(), as_bytes(std::string(name) + "\n")));
  }

  static Status act(const std::string& action, std::string_view name) {
    if (action == "abort") ::kill(::getpid(), SIGKILL);
    if (action == "stop") ::raise(SIGSTOP);
    if (action == "error") return fail_errno("failpoint " + std::string(name), EIO);
    return {};
  }

  std::mutex m_mutex;
  std::map<std::string, Armed> m_armed;
  std::set<std::string> m_noted;
  std::string m_log;
};

}  // namespace

Status failpoint(std::string_view name) {
  static Registry registry;
  return registry.pass(name);
}

}  // namespace nb

#endif
