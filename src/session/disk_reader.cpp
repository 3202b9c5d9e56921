// SPDX-License-Identifier: Apache-2.0
#include "session/disk_reader.hpp"

#include <algorithm>

#include "base/failpoint.hpp"
#include "fs/metadata.hpp"

namespace nb::session {
namespace {

constexpr std::size_t k_read_bytes = std::size_t{256} << 10;

}  // namespace

DiskReader::DiskReader(const delta::BlockSigner& signer, std::uint64_t bytes_per_second, Clock& clock, GoOn go_on)
    : m_signer(signer), m_clock(clock), m_go_on(std::move(go_on)), m_buffer(k_read_bytes) {
  if (bytes_per_second != 0) m_bucket.emplace(bytes_per_second, clock.steady());
}

Status DiskReader::pass(std::uint64_t bytes) {
  if (m_go_on && !m_go_on()) return fail(Errc::interrupted, "");
  while (m_bucket && bytes > 0) {
    const std::size_t count = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, m_bucket->size()));
    const std::chrono::milliseconds wait = m_bucket->take(count, m_clock.steady());
    if (wait.count() == 0) {
      bytes -= count;
      continue;
    }
    m_clock.pause(wait);
    if (m_go_on && !m_go_on()) return fail(Errc::interrupted, "");
  }
  return {};
}

Result<hash::Digest> DiskReader::digest(fs::File& file, std::uint64_t size) {
  hash::FileHasher hasher(m_signer.secret());
  file.forget_cached();
  file.expect_sequential_read();
  NB_FAILPOINT("session.scrub.read");
  const fs::ContentVisitor visitor{[&hasher](fs::Extent hole) -> Status {
                                     hasher.update_zeros(hole.length);
                                     return {};
                                   },
                                   [&](std::uint64_t, ByteView bytes) -> Status {
                                     hasher.update(bytes);
                                     return pass(bytes.size());
                                   }};
  NB_TRY(fs::read_through(file, size, m_buffer, visitor));
  file.forget_cached();
  return hasher.finish();
}

Result<std::optional<Bytes>> DiskReader::block(fs::File& file, std::uint64_t size, std::uint64_t number) {
  Bytes bytes(delta::block_bytes(size, number));
  NB_TRY(pass(bytes.size()));
  const auto got = fs::read_fully(file, number * delta::k_block_bytes, bytes);
  if (!got && got.error().code != Errc::io) return tl::make_unexpected(got.error());
  if (!got || *got != bytes.size()) return std::optional<Bytes>();
  return std::optional<Bytes>(std::move(bytes));
}

Result<std::vector<fs::Extent>> DiskReader::unreadable(fs::File& file, std::uint64_t size, std::size_t most) {
  std::vector<fs::Extent> ranges;
  for (std::uint64_t number = 0; number < delta::blocks_in(size) && ranges.size() <= most; ++number) {
    NB_TRY_ASSIGN(const auto bytes, block(file, size, number));
    if (!bytes) add_block(ranges, size, number);
  }
  if (ranges.size() > most) ranges.clear();
  return ranges;
}

Result<std::vector<fs::Extent>> DiskReader::differing(fs::File& file, std::uint64_t size,
                                                      const delta::SignaturePiece& piece, std::size_t most) {
  std::vector<fs::Extent> ranges;
  for (std::uint64_t i = 0; i < piece.size() && ranges.size() <= most; ++i) {
    const std::uint64_t number = piece.first_block() + i;
    NB_TRY_ASSIGN(const auto bytes, block(file, size, number));
    if (!bytes || m_signer.strong(*bytes) != piece.block(i).strong) add_block(ranges, size, number);
  }
  return ranges;
}

void add_block(std::vector<fs::Extent>& ranges, std::uint64_t size, std::uint64_t number) {
  const fs::Extent next{number * delta::k_block_bytes, delta::block_bytes(size, number)};
  const bool joins = !ranges.empty() && ranges.back().offset + ranges.back().length == next.offset;
  if (joins) {
    ranges.back().length += next.length;
  } else {
    ranges.push_back(next);
  }
}

}  // namespace nb::session
