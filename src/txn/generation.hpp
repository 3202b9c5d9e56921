// SPDX-License-Identifier: Apache-2.0
// What a file set keeps of its generations, as values with their encodings (docs/formats.md, "History"): the account of
// one generation, and the changes that lead back from it to the one before. Pure; used by the rest of txn/ and fuzzed.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "txn/records.hpp"

namespace nb::txn {

// .nbackup/history/<generation>/generation: text with a check line.
struct Generation {
  std::uint64_t number = 0;
  // The kept generation that `changes` leads back to. Nothing: this is the oldest, and there are no changes.
  std::optional<std::uint64_t> previous;
  TxId transaction{};        // zero for a generation from before there was a history
  std::int64_t time_ns = 0;  // wall clock of its commit, since 1970; 0: not known
  RunAccount account;
  friend bool operator==(const Generation&, const Generation&) = default;
};

// .nbackup/history/<generation>/changes: how `previous` differs from the generation. Taken one after the other they give
// back the earlier tree: what is said of a path takes the place of what was said of it and of everything below it.

// Nothing was there. `lost`: something was, but somebody else's edit took its place before it could be kept.
struct Absent {
  RelPath path;
  bool lost = false;
  friend bool operator==(const Absent&, const Absent&) = default;
};
// What was there, with all below it, is files/<path> now.
struct KeptEntry {
  RelPath path;
  fs::FileType type = fs::FileType::regular;
  friend bool operator==(const KeptEntry&, const KeptEntry&) = default;
};
// What is there by now, live or kept, had these metadata, literal values; nothing is said of what is below it. `shared`:
// the inode has other names, live or kept, and it goes for all of them.
struct OldMetadata {
  RelPath path;
  fs::Metadata metadata;
  bool shared = false;
  friend bool operator==(const OldMetadata&, const OldMetadata&) = default;
};
using Change = std::variant<Absent, KeptEntry, OldMetadata>;

// A file that lost its path when lists were merged, while what was said of its inode goes for other names of it: a
// KeptEntry and a shared OldMetadata of ".nbackup/<number>", which is no path of any tree (docs/formats.md, "Anchors").
[[nodiscard]] bool is_anchor(const RelPath& path);

// The first record of `changes`.
struct ChangesHeader {
  std::uint64_t generation = 0;
  std::uint64_t previous = 0;
  friend bool operator==(const ChangesHeader&, const ChangesHeader&) = default;
};

Bytes encode(const Generation& generation);
Bytes encode(const Change& change);
Bytes encode(const ChangesHeader& header);

// Errors are Errc::bad_set.
Result<Generation> decode_generation(ByteView data);
Result<Change> decode_change(ByteView data);
Result<ChangesHeader> decode_changes_header(ByteView data);

}  // namespace nb::txn
