// SPDX-License-Identifier: Apache-2.0
// DiskReader: reads files from the disk itself, not from the page cache, behind which rot would hide, at a limited rate,
// and says where a content is not what it should be. For scrub and heal.
#pragma once

#include <optional>
#include <vector>

#include "base/clock.hpp"
#include "delta/signature_piece.hpp"
#include "fs/directory.hpp"
#include "transport/token_bucket.hpp"
#include "txn/lock.hpp"

namespace nb::session {

class DiskReader {
 public:
  // `bytes_per_second` 0: no limit. `go_on` is asked while it reads: false is Errc::interrupted.
  DiskReader(const delta::BlockSigner& signer, std::uint64_t bytes_per_second, Clock& clock, GoOn go_on);

  // Errc::io, with the errno, where the disk does not give it back; Errc::changed if it is shorter than `size`.
  Result<hash::Digest> digest(fs::File& file, std::uint64_t size);
  // The whole blocks, joined where they are neighbours, that cannot be read; at most `most` ranges.
  Result<std::vector<fs::Extent>> unreadable(fs::File& file, std::uint64_t size, std::size_t most);
  // The same of blocks that are not those of `piece`.
  Result<std::vector<fs::Extent>> differing(fs::File& file, std::uint64_t size, const delta::SignaturePiece& piece,
                                            std::size_t most);
  // Block number `number` of a content of `size` bytes; nothing if it cannot be had.
  Result<std::optional<Bytes>> block(fs::File& file, std::uint64_t size, std::uint64_t number);
  // Waits as the rate asks for.
  Status pass(std::uint64_t bytes);

 private:
  const delta::BlockSigner& m_signer;
  std::optional<transport::TokenBucket> m_bucket;
  Clock& m_clock;
  GoOn m_go_on;
  Bytes m_buffer;
};

// Appends block `number` of a content of `size` bytes, which lies behind all that are in `ranges`.
void add_block(std::vector<fs::Extent>& ranges, std::uint64_t size, std::uint64_t number);

}  // namespace nb::session
