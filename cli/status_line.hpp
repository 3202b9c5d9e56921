// SPDX-License-Identifier: Apache-2.0
// A line on a terminal that is drawn in place and taken away before anything else is printed there.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace nb::cli {

class StatusLine {
 public:
  enum class Use : std::uint8_t { shown, hidden };

  // Nothing is drawn where it is hidden. `file` outlives the line.
  StatusLine(std::FILE* file, Use use) : m_file(file), m_use(use) {}
  ~StatusLine() { clear(); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  // `text` fits: the last column stays free, because some terminals wrap as soon as it is filled.
  void show(const std::string& text);
  void clear();
  [[nodiscard]] bool is_shown() const { return m_use == Use::shown; }

 private:
  std::FILE* m_file;
  Use m_use;
  bool m_drawn = false;
};

}  // namespace nb::cli
