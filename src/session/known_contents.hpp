// SPDX-License-Identifier: Apache-2.0
// KnownContents: what the content of each file of a set should be, from all that the set remembers: the manifest, the
// store of scrubs, and the lists of what came with the last generations. Used by scrub and heal, under the scrub lock.
#pragma once

#include <functional>
#include <memory>

#include "cache/content_store.hpp"
#include "cache/manifest.hpp"
#include "delta/signature_piece.hpp"
#include "txn/lock.hpp"
#include "txn/scrub_record.hpp"

namespace nb::session {

// A file in a set: in the live tree, or in files/ of a generation.
using FilePlace = txn::ScrubPlace;

enum class Standing : std::uint8_t {
  known,    // its content was `digest`, and its stat data say that it still is
  likely,   // of that size and mtime, under a number that may be another file's: believed if the content fits
  cut,      // its size alone is another than that of `digest`: no change that anybody makes
  changed,  // somebody else has written to it
  unknown,
};

struct Expected {
  Standing standing = Standing::unknown;
  std::uint64_t size = 0;
  hash::Digest digest;
  std::int64_t seen_ns = 0;  // by the scrub that began then
};

class KnownContents {
 public:
  using Warn = std::function<void(const std::string&)>;
  // `set` outlives it. To be read, a store that is not there, or damaged, stays that way.
  KnownContents(txn::FileSet& set, Warn warn, cache::FileAccess access = cache::FileAccess::write);

  // Takes over what came with the last generations.
  Status take_arrivals(std::int64_t now_ns, const GoOn& go_on);
  Expected expect(const FilePlace& place, const fs::Stat& stat);
  // Its content is `digest` now.
  void note(const FilePlace& place, const fs::Stat& stat, const hash::Digest& digest, std::int64_t seen_ns);
  // When the inode was made; zero where that says nothing of which one it is.
  [[nodiscard]] fs::Timestamp birth_of(const fs::Stat& stat) const;
  // Whether the whole signature of the content `digest`, which is to be at `path` of the live tree, is known; then
  // piece() has it.
  bool has_signature(const RelPath& path, std::uint64_t file_bytes, const hash::Digest& digest);
  std::optional<delta::SignaturePiece> piece(const RelPath& path, std::uint64_t index, std::uint64_t file_bytes);
  [[nodiscard]] const delta::BlockSigner& signer() const { return m_signer; }
  [[nodiscard]] cache::ContentStore& store() { return *m_store; }
  // Null where there is none.
  [[nodiscard]] cache::Manifest* manifest() { return m_manifest.get(); }
  void flush() { m_store->flush(); }

 private:
  class Takeover;
  [[nodiscard]] bool is_of(const cache::Content& row, const FilePlace& place, const fs::Stat& stat) const;

  txn::FileSet& m_set;
  bool m_knows_inodes;
  delta::BlockSigner m_signer;
  std::unique_ptr<cache::Manifest> m_manifest;
  std::unique_ptr<cache::ContentStore> m_store;
};

}  // namespace nb::session
