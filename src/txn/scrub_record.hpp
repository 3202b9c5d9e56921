// SPDX-License-Identifier: Apache-2.0
// What a set knows of the scrubs of it (.nbackup/scrub, docs/formats.md): the last one that came to its end, and where
// one stands that did not. And the lock that scrubs and heals hold against each other, the kernel's as the others are.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "txn/file_set.hpp"

namespace nb::txn {

inline constexpr std::string_view k_scrub_name = "scrub";

struct ScrubCounts {
  std::uint64_t files = 0;  // that were read
  std::uint64_t bytes = 0;
  std::uint64_t damaged = 0;     // content changed, stat data did not; or it cannot be read any more
  std::uint64_t edited = 0;      // changed by somebody else, and it shows
  std::uint64_t unknown = 0;     // nothing was known of them; believed from now on
  std::uint64_t unreadable = 0;  // not permitted to us
  friend bool operator==(const ScrubCounts&, const ScrubCounts&) = default;
};

// Which files a scrub reads: those whose paths belong to part `number` of `count`. 1 of 1: all.
struct ScrubPart {
  std::uint64_t number = 1;
  std::uint64_t count = 1;
  friend bool operator==(const ScrubPart&, const ScrubPart&) = default;
};

struct ScrubPass {
  ScrubPart part;
  std::int64_t began_ns = 0;  // wall clock, since 1970
  std::int64_t ended_ns = 0;  // of one that stands: when it was last at work
  ScrubCounts counts;
  friend bool operator==(const ScrubPass&, const ScrubPass&) = default;
};

// The file that was looked at last: in the live tree, or in files/ of a generation; these come after it, rising.
struct ScrubPlace {
  std::optional<std::uint64_t> generation;  // nothing: the live tree
  RelPath path;                             // the root: none yet
  friend auto operator<=>(const ScrubPlace&, const ScrubPlace&) = default;
};

// One that did not come to its end, and how far it has come.
struct StandingPass {
  ScrubPass pass;
  ScrubPlace place;
  friend bool operator==(const StandingPass&, const StandingPass&) = default;
};

// Of more the oldest are forgotten: their parts begin anew.
inline constexpr std::size_t k_most_waiting_passes = 64;

struct ScrubRecord {
  std::optional<ScrubPass> last;        // the last that came to its end
  std::optional<StandingPass> present;  // the one that was at work last, if it did not
  std::vector<StandingPass> waiting;    // of other parts, in the order in which they were left
  friend bool operator==(const ScrubRecord&, const ScrubRecord&) = default;
};

Bytes encode(const ScrubRecord& record);
Result<ScrubRecord> decode_scrub_record(ByteView data);  // Errc::bad_set

// An empty one where there is none, or where it is damaged: it saves work and decides nothing.
Result<ScrubRecord> read_scrub_record(FileSet& set);
// In one step; not durable. The caller holds the scrub lock. Of passes that wait the oldest are left out where there is
// no room for all.
Status write_scrub_record(FileSet& set, ScrubRecord record);

// It ends with the file. Errc::locked if another scrub or heal of the set is at work.
Result<std::unique_ptr<fs::File>> take_scrub_lock(FileSet& set);

}  // namespace nb::txn
