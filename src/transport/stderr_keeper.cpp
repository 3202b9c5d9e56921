// SPDX-License-Identifier: Apache-2.0
#include "transport/stderr_keeper.hpp"

#include <algorithm>
#include <utility>

namespace nb::transport {
namespace {

// A peer that never writes a newline must not grow our memory: longer lines are passed on in pieces.
constexpr std::size_t k_max_line_bytes = 4096;

std::string_view without_end(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string last_of(std::string text) {
  if (text.size() > k_stderr_tail_bytes) text.erase(0, text.size() - k_stderr_tail_bytes);
  return text;
}

}  // namespace

void StderrKeeper::emit() {
  const std::string whole = [this] {
    const std::lock_guard lock(m_mutex);
    return std::exchange(m_line, {});
  }();
  const std::string_view line = without_end(whole);
  if (m_takes && m_takes(line)) return;
  {
    const std::lock_guard lock(m_mutex);
    m_tail += whole;
    if (m_tail.size() > 2 * k_stderr_tail_bytes) m_tail = last_of(std::move(m_tail));
  }
  if (m_on_line) m_on_line(line);
}

void StderrKeeper::append(ByteView data) {
  std::string_view text = as_text(data);
  while (!text.empty()) {
    const std::size_t newline = text.find('\n');
    const std::size_t room = k_max_line_bytes - m_line.size();
    const std::size_t size = std::min(newline == std::string_view::npos ? text.size() : newline + 1, room);
    {
      const std::lock_guard lock(m_mutex);
      m_line += text.substr(0, size);
    }
    text.remove_prefix(size);
    if (m_line.ends_with('\n') || m_line.size() == k_max_line_bytes) emit();
  }
}

void StderrKeeper::finish() {
  if (!m_line.empty()) emit();
}

std::string StderrKeeper::tail() const {
  const std::lock_guard lock(m_mutex);
  return last_of(m_tail + m_line);
}

}  // namespace nb::transport
