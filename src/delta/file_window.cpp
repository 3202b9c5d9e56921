// SPDX-License-Identifier: Apache-2.0
#include "delta/file_window.hpp"

#include <algorithm>
#include <cstring>

#include "base/assert.hpp"

namespace nb::delta {

FileWindow::FileWindow(fs::File& file, std::uint64_t size, std::size_t capacity_bytes)
    : m_file(file), m_size(size), m_buffer(capacity_bytes) {}

// Moves what must stay to the front of the buffer.
void FileWindow::make_room(std::uint64_t to) {
  if (to - m_begin <= m_buffer.size()) return;
  const std::uint64_t keep = std::min(m_keep, m_end);
  std::memmove(m_buffer.data(), m_buffer.data() + (keep - m_begin), m_end - keep);
  m_begin = keep;
  NB_ASSERT(to - m_begin <= m_buffer.size());
}

Status FileWindow::read_to(std::uint64_t to) {
  while (m_end < to) {
    const std::uint64_t wanted = std::min({std::max(to, m_ahead), m_size, m_begin + m_buffer.size()});
    const auto free = std::span(m_buffer).subspan(m_end - m_begin, wanted - m_end);
    NB_TRY_ASSIGN(const std::size_t got, m_file.read_at(m_end, free));
    if (got == 0) return fail(Errc::changed, "read: the file has become shorter");
    m_end += got;
  }
  return {};
}

Result<ByteView> FileWindow::view(std::uint64_t from, std::uint64_t to) {
  NB_ASSERT(from <= to && to <= m_size);
  const std::uint64_t first = std::min(from, m_keep);
  if (first > m_end) m_begin = m_end = first;  // beyond a hole
  NB_ASSERT(from >= m_begin);
  if (to > m_end) {
    make_room(to);
    NB_TRY(read_to(to));
  }
  return ByteView(m_buffer).subspan(from - m_begin, to - from);
}

}  // namespace nb::delta
