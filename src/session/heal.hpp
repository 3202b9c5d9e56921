// SPDX-License-Identifier: Apache-2.0
// Heal: gives damaged files of a set their content back, from wherever a sound one is: elsewhere in the live tree, in
// history, or in a directory that the user names. Nothing is used unread: a content or block counts if its digest under
// the set's secret is the one that is wanted.
//
// It writes into the damaged inode, which nothing else of ours does: so all of its names and all generations that show
// it are whole again at once, and what a crash leaves is no worse than what was there. The entry stays on the list of
// damaged files until the whole content has been read back from the disk.
#pragma once

#include <chrono>

#include "base/clock.hpp"
#include "txn/damage.hpp"
#include "txn/lock.hpp"

namespace nb::session {

struct HealOptions {
  std::optional<std::string> from;         // path string of this machine: a tree that may have the same files
  std::optional<std::string> stay_within;  // which confines it
  std::chrono::seconds wait_readers{60};
};

enum class Healing : std::uint8_t {
  done,
  possible,   // in a dry run
  no_source,  // no sound content was found
  failed,     // it could not be written, or did not come back from the disk
};

class HealObserver {
 public:
  virtual ~HealObserver() = default;
  // `source`: where the content came from, for people; or why it failed.
  virtual Status on_file(const txn::Damaged& file, Healing outcome, const std::string& source) = 0;
  virtual Status on_notice(const std::string& text) = 0;
};

struct HealReport {
  std::uint64_t healed = 0;  // dry run: could be
  std::uint64_t left = 0;
  std::optional<Error> cut_short = std::nullopt;  // Errc::interrupted or readers_busy: not all were tried
};

// Of all files on the list. Errc::usage if no scrub has made one, Errc::locked if a scrub or heal is at work.
Result<HealReport> heal(txn::FileSet& set, const txn::WriterLock& lock, const HealOptions& options,
                        HealObserver& observer, Clock& clock);
// What it would do; takes no lock and writes nothing.
Result<HealReport> heal_dry(txn::FileSet& set, const HealOptions& options, HealObserver& observer, Clock& clock);

}  // namespace nb::session
