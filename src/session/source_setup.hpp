// SPDX-License-Identifier: Apache-2.0
// SourceSetup: the tree a source reads from, with the locks that keep it one generation where it lies in file sets.
// Used by serve (pull) and by the client (push).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "session/interrupt.hpp"
#include "session/known_damage.hpp"
#include "session/source_tree.hpp"
#include "txn/lock.hpp"

namespace nb::session {

struct SourceReader {
  std::string client;                      // user@host, should a commit have to be finished
  std::optional<std::string> stay_within;  // serve --root
  // Where the sink writes. It holds the writer's lock, so nobody else can commit there, and its own commit, which comes
  // after everything was read, must not wait for its own source: this set is not locked.
  std::optional<txn::Uuid> destination_set = {};
};

// File sets that are read: none of them commits while this lives, but for the destination's.
struct HeldSets {
  std::vector<std::unique_ptr<txn::FileSet>> sets;
  std::vector<std::unique_ptr<txn::ReaderLock>> locks;
  KnownDamage damage;  // in any of them

  // The set at `root`: a commit that was interrupted there is finished, then it is locked and its head read. One that
  // is held already is not taken twice.
  Result<txn::FileSet*> hold(std::unique_ptr<fs::Directory> root, const SourceReader& reader, Clock& clock);
  // Commits need not wait any more: what was opened may change.
  void let_go() { locks.clear(); }
};

struct SourceSetup {
  HeldSets held;
  scan::MetadataView view = scan::MetadataView::plain;
  std::uint64_t generation = 0;  // of the first set: the one that is read; 0 without one
  SourceTree tree;               // may read through the sets
};

// A commit that was cut off must be finished before anybody reads: half of each generation is what nobody asked for.
Status finish_interrupted(txn::FileSet& set, const std::string& client, Clock& clock);

// Keeps commits waiting while it lives. One that was cut off is finished first, also one that dies while its end is waited
// for. `head` is read again under the lock.
Result<std::unique_ptr<txn::ReaderLock>> lock_to_read(txn::FileSet& set, const std::string& client, Clock& clock);

// Opens the sources; where they lie in a file set, finishes a commit that was interrupted there and keeps later ones
// waiting while this lives. A set whose root lies above `stay_within` is left alone: what is below it is then read as a
// plain tree.
Result<SourceSetup> set_up_source(const std::vector<std::string>& sources, const SourceReader& reader, Clock& clock);

}  // namespace nb::session
