// SPDX-License-Identifier: Apache-2.0
#include "scan/link_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>

namespace nb::scan {
namespace {

// 8 MiB of index: two million inodes have chains of two, a hundred million of a hundred.
constexpr unsigned k_index_bits = 20;
constexpr std::size_t k_tail_bytes = std::size_t{256} << 10;
// previous:u64 device:u64 inode:u64 ctime:u64 length:u32, then the path
constexpr std::size_t k_head_bytes = 36;
// Most records are read at once.
constexpr std::size_t k_guess_bytes = 256;

std::size_t bucket_of(const InodeKey& key) {
  const std::uint64_t mixed = (key.inode ^ key.device * 0xD6E8FEB86659FD93U) * 0x9E3779B97F4A7C15U;
  return static_cast<std::size_t>(mixed >> (64 - k_index_bits));
}

}  // namespace

LinkFile::LinkFile(Fd file) : m_file(std::move(file)), m_newest(std::size_t{1} << k_index_bits) {}

Result<LinkFile> LinkFile::make() {
  Result<Fd> file = fail(Errc::io, "no place for a temporary file");
  for (const std::string& place : temporary_places()) {
    file = make_nameless_file(place);
    if (file) return LinkFile(std::move(*file));
  }
  return tl::make_unexpected(file.error());
}

Status LinkFile::flush() {
  std::size_t done = 0;
  while (done < m_tail.size()) {
    const ssize_t n =
        ::pwrite(m_file.get(), m_tail.data() + done, m_tail.size() - done, static_cast<off_t>(m_written + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("write the temporary file of hard links");
    done += static_cast<std::size_t>(n);
  }
  m_written += m_tail.size();
  m_tail.clear();
  return {};
}

Status LinkFile::add(const InodeKey& key, const RelPath& path) {
  if (m_tail.size() >= k_tail_bytes) NB_TRY(flush());
  std::uint64_t& newest = m_newest[bucket_of(key)];
  const std::uint64_t here = m_written + m_tail.size();
  ByteWriter out(m_tail);
  out.u64(newest);
  out.u64(key.device);
  out.u64(key.inode);
  out.u64(key.ctime);
  out.u32(static_cast<std::uint32_t>(path.str().size()));
  out.raw(as_bytes(path.str()));
  newest = here + 1;
  return {};
}

// Bytes from the file or the tail; a record is whole in one of them. Fewer at the end.
Result<std::size_t> LinkFile::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  if (offset >= m_written) {
    const std::size_t from = static_cast<std::size_t>(offset - m_written);
    const std::size_t count = std::min(out.size(), m_tail.size() - from);
    std::copy_n(m_tail.begin() + static_cast<std::ptrdiff_t>(from), count, out.begin());
    return count;
  }
  for (;;) {
    const ssize_t n = ::pread(m_file.get(), out.data(), out.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("read the temporary file of hard links");
    return static_cast<std::size_t>(n);
  }
}

Result<std::optional<RelPath>> LinkFile::find(const InodeKey& key) const {
  std::uint64_t next = m_newest[bucket_of(key)];
  std::array<std::byte, k_guess_bytes> begin;
  while (next != 0) {
    const std::uint64_t here = next - 1;
    NB_TRY_ASSIGN(const std::size_t got, read_at(here, begin));
    ByteReader in(ByteView(begin).first(got), Errc::io, "temporary file of hard links");
    NB_TRY_ASSIGN(next, in.u64());
    NB_TRY_ASSIGN(const std::uint64_t device, in.u64());
    NB_TRY_ASSIGN(const std::uint64_t inode, in.u64());
    NB_TRY_ASSIGN(const std::uint64_t ctime, in.u64());
    NB_TRY_ASSIGN(const std::uint32_t length, in.u32());
    if (key != InodeKey{device, inode, ctime}) continue;
    if (length > k_max_path_bytes) return in.bad("length of a path");
    std::string path(length, '\0');
    NB_TRY_ASSIGN(const std::size_t read, read_at(here + k_head_bytes, std::as_writable_bytes(std::span(path))));
    if (read != length) return in.bad("too short");
    NB_TRY_ASSIGN(RelPath parsed, RelPath::parse(path, Errc::io));
    return parsed;
  }
  return std::nullopt;
}

}  // namespace nb::scan
