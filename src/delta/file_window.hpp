// SPDX-License-Identifier: Apache-2.0
// FileWindow: the part of a file that the matcher looks at, read once from front to back into one buffer.
#pragma once

#include <cstdint>

#include "base/bytes.hpp"
#include "fs/directory.hpp"

namespace nb::delta {

class FileWindow {
 public:
  // `file` outlives the window. Its size is that at the beginning; becoming shorter is Errc::changed.
  FileWindow(fs::File& file, std::uint64_t size, std::size_t capacity_bytes);

  // Bytes [from, to) of the file, which has them; `from` is not below keep_from(). Valid until the next call.
  Result<ByteView> view(std::uint64_t from, std::uint64_t to);
  // Bytes below this offset are no longer needed. What lies between it and the end of a later view fits into the
  // capacity (asserted).
  void keep_from(std::uint64_t offset) { m_keep = offset; }
  // Reading ahead stops here, where a hole begins.
  void read_ahead_to(std::uint64_t offset) { m_ahead = offset; }

 private:
  void make_room(std::uint64_t to);
  Status read_to(std::uint64_t to);

  fs::File& m_file;
  std::uint64_t m_size;
  Bytes m_buffer;
  std::uint64_t m_begin = 0;  // offset of the buffer's first byte
  std::uint64_t m_end = 0;    // what has been read
  std::uint64_t m_keep = 0;
  std::uint64_t m_ahead = 0;
};

}  // namespace nb::delta
