// SPDX-License-Identifier: Apache-2.0
// AskedNames: which names a source may send at the root of a pull: those that the user asked for, and nothing else. A
// server that sends another one breaks the protocol; it must not choose which of the client's files it writes to.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "session/name_pattern.hpp"

namespace nb::session {

class AskedNames {
 public:
  void add(std::string name) { m_names.insert(std::move(name)); }
  // As the last component of a path in a past tree, where it may be a pattern.
  void add_past(std::string name);
  [[nodiscard]] bool contains(const std::string& name) const;

 private:
  std::set<std::string> m_names;
  std::vector<NamePattern> m_patterns;
};

}  // namespace nb::session
