// SPDX-License-Identifier: Apache-2.0
// Scrub: reads the files of a set, the live ones and those that history keeps, and compares them with what they should
// be. Nothing in the set changes but what is known of it: `.nbackup/scrub`, `damage` and `contents.db`.
//
// No lock against pushes is held while it reads: nothing of ours ever writes into an inode of the tree, so a file that
// has the same stat data before and after it was read is one content. What is replaced meanwhile is passed over.
#pragma once

#include <chrono>

#include "base/clock.hpp"
#include "txn/damage.hpp"
#include "txn/scrub_record.hpp"

namespace nb::session {

struct ScrubOptions {
  txn::ScrubPart part;
  std::optional<std::chrono::seconds> time;  // the file at hand is finished; the next scrub goes on behind it
  std::uint64_t bytes_per_second = 0;        // 0: no limit
};

// What it tells while it works. An error ends the scrub, with its place kept.
class ScrubObserver {
 public:
  virtual ~ScrubObserver() = default;
  virtual Status on_damaged(const txn::Damaged& file, const std::string& reason) = 0;
  virtual Status on_edited(const txn::ScrubPlace& place) = 0;
  // Something beside contents: a directory or a file that cannot be opened, a record of history that is lost.
  virtual Status on_problem(const Error& error) = 0;
  virtual Status on_notice(const std::string& text) = 0;
};

struct ScrubReport {
  txn::ScrubPass pass;  // with earlier runs of it
  bool resumed = false;
  bool ended = false;              // all of the part was read
  std::size_t damaged_in_all = 0;  // files on the list now, found by whatever scrub
  std::uint64_t bad_records = 0;
};

// Errc::locked if another scrub or heal is at work, Errc::interrupted if the user ended it (the place is kept).
Result<ScrubReport> scrub(txn::FileSet& set, const ScrubOptions& options, ScrubObserver& observer, Clock& clock);

}  // namespace nb::session
