// SPDX-License-Identifier: Apache-2.0
#include "transport/stderr_keeper.hpp"

namespace nb::transport {
namespace {

// A peer that never writes a newline must not grow our memory: longer lines are passed on in pieces.
constexpr std::size_t k_max_line_bytes = 4096;

}  // namespace

void StderrKeeper::emit(std::string_view line) const {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (m_on_line) m_on_line(line);
}

void StderrKeeper::append(ByteView data) {
  const std::string_view text = as_text(data);
  {
    const std::lock_guard lock(m_mutex);
    m_tail.append(text);
    if (m_tail.size() > k_stderr_tail_bytes) m_tail.erase(0, m_tail.size() - k_stderr_tail_bytes);
  }
  for (const char c : text) {
    if (c != '\n') m_line += c;
    if (c != '\n' && m_line.size() < k_max_line_bytes) continue;
    emit(m_line);
    m_line.clear();
  }
}

void StderrKeeper::finish() {
  if (m_line.empty()) return;
  emit(m_line);
  m_line.clear();
}

std::string StderrKeeper::tail() const {
  const std::lock_guard lock(m_mutex);
  return m_tail;
}

}  // namespace nb::transport
