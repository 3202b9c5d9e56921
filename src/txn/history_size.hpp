// SPDX-License-Identifier: Apache-2.0
// How much space the history of a set takes. Each generation is looked through once: what was found stands in
// history/sizes (docs/formats.md) until a neighbour is dropped. After a commit only the new generation is looked at,
// however many there are. The record is a hint: where it is missing or damaged the looking is done again.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "txn/file_set.hpp"

namespace nb::txn {

inline constexpr std::string_view k_sizes_name = "sizes";

struct HistorySize {
  std::uint64_t bytes = 0;        // on disk, of what only history has
  std::uint64_t generations = 0;  // kept, the live one counted
  friend bool operator==(const HistorySize&, const HistorySize&) = default;
};

// What is remembered of one generation.
struct SizeRow {
  std::uint64_t number = 0;
  std::uint64_t bytes = 0;
  friend bool operator==(const SizeRow&, const SizeRow&) = default;
};
struct Sizes {
  bool is_whole = false;      // no generation is missing between the first and the last
  std::vector<SizeRow> rows;  // rising
  friend bool operator==(const Sizes&, const Sizes&) = default;
};

Bytes encode(const Sizes& sizes);
// Errc::bad_set.
Result<Sizes> decode_sizes(ByteView data);

// Of a set that the caller has the writer's lock of, with no interrupted commit. Files that have a name elsewhere, in
// the live tree or in another generation, take nothing; what cannot be looked into takes nothing either. Nothing is
// returned where more than `most_entries` would have to be looked at.
Result<std::optional<HistorySize>> measure_history(FileSet& set, std::uint64_t most_entries);

// Before these generations change: their rows go, the others stay, and all generations are listed the next time. The
// caller syncs the directory before it decides on the change: rows that came back would be believed.
Status forget_sizes(fs::Directory& history, const std::set<std::uint64_t>& numbers);

}  // namespace nb::txn
