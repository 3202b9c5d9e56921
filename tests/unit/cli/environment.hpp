// SPDX-License-Identifier: Apache-2.0
// Environment: sets variables for as long as it lives. Those that say where the user's files lie are unset meanwhile.
#pragma once

#include <cstdlib>
#include <map>
#include <optional>
#include <string>

namespace nb::test {

class Environment {
 public:
  Environment() {
    for (const char* name : {"HOME", "NBACKUP_CACHE", "NBACKUP_CONFIG", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"}) {
      keep(name);
      ::unsetenv(name);
    }
  }
  ~Environment() {
    for (const auto& [name, value] : m_before) {
      if (value) ::setenv(name.c_str(), value->c_str(), 1);
      if (!value) ::unsetenv(name.c_str());
    }
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  void set(const std::string& name, const std::string& value) {
    keep(name);
    ::setenv(name.c_str(), value.c_str(), 1);
  }

 private:
  void keep(const std::string& name) {
    const char* value = std::getenv(name.c_str());
    m_before.try_emplace(name, value == nullptr ? std::nullopt : std::optional<std::string>(value));
  }

  std::map<std::string, std::optional<std::string>> m_before;
};

}  // namespace nb::test
