// SPDX-License-Identifier: Apache-2.0
// NamePattern: one component of a path as the shell's patterns have it: '*', '?', '[...]', '\' before a byte that
// stands for itself. A leading dot is matched by a dot alone. Both ends of a pull use it: the source to find what is
// meant, the sink to know which names may come. Pure.
#pragma once

#include <string>
#include <string_view>

#include "filter/glob.hpp"

namespace nb::session {

class NamePattern {
 public:
  // Whether `name`, a component that is no entry's name, may be one.
  static bool is_pattern(std::string_view name);

  // `text` has at most k_max_name_bytes (asserted).
  explicit NamePattern(std::string_view text);
  [[nodiscard]] bool matches(std::string_view name) const;

 private:
  filter::Glob m_glob;
  bool m_takes_dot;
};

}  // namespace nb::session
