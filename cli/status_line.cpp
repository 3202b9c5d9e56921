// SPDX-License-Identifier: Apache-2.0
#include "cli/status_line.hpp"

namespace nb::cli {

void StatusLine::show(const std::string& text) {
  if (m_use == Use::hidden) return;
  std::fprintf(m_file, "\r%s\x1b[K", text.c_str());
  std::fflush(m_file);
  m_drawn = true;
}

void StatusLine::clear() {
  if (!m_drawn) return;
  std::fputs("\r\x1b[K", m_file);
  std::fflush(m_file);
  m_drawn = false;
}

}  // namespace nb::cli
