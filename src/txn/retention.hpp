// SPDX-License-Identifier: Apache-2.0
// Retention: which generations a policy keeps, and why. Pure but for the time zone of the process, which is what days,
// weeks and months are told by. The rules mean what they mean in borg and restic:
//
//   keep-last N                           the N newest generations
//   keep-hourly, -daily, -weekly,         the newest generation of each of the N newest periods in which there is one;
//   -monthly, -yearly N                   weeks are those of ISO 8601
//   keep-within D                         every generation that is at most D older than the newest one
//
// A generation goes when no rule keeps it. The newest, which is the live tree, always stays.
//
// "Within" counts from the newest generation and not from now, so that nothing expires while no backups are made. Order
// is that of the numbers: a clock that jumped makes a period of its own at worst. Times after `now` were made by a
// wrong clock and do not move the point that "within" counts from. A generation whose time is not known (0: the tree
// before the first push) was live until the next one, and is as old as that; it is not the newest of any period.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"

namespace nb::txn {

inline constexpr std::uint64_t k_keep_all = ~std::uint64_t{0};

struct RetentionPolicy {
  std::uint64_t last = 0;  // each of these: k_keep_all is no limit
  std::uint64_t hourly = 0;
  std::uint64_t daily = 0;
  std::uint64_t weekly = 0;
  std::uint64_t monthly = 0;
  std::uint64_t yearly = 0;
  std::uint64_t within_seconds = 0;
  friend bool operator==(const RetentionPolicy&, const RetentionPolicy&) = default;
};

// The last 7 generations and everything within 30 days.
RetentionPolicy default_policy();
// "last 7, within 30 days"; "the newest alone" if no rule keeps anything.
std::string describe(const RetentionPolicy& policy);

// What a set says for itself.
struct SetPolicy {
  RetentionPolicy keep = default_policy();
  // The entries that a push may delete which names no limit of its own, or comes from a client that may only add.
  // k_keep_all: no limit; unset: the usual one (session/sink.cpp).
  std::optional<std::uint64_t> max_delete;
  friend bool operator==(const SetPolicy&, const SetPolicy&) = default;
};

// .nbackup/policy: text with a check line. Errors are Errc::bad_set.
Bytes encode(const SetPolicy& policy);
Result<SetPolicy> decode_policy(ByteView data);

struct DatedGeneration {
  std::uint64_t number = 0;
  std::int64_t time_ns = 0;  // since 1970; 0 or less: not known
};

enum class Fate : std::uint8_t { keep, drop };

struct Decision {
  DatedGeneration generation;
  Fate fate = Fate::drop;
  std::vector<std::string> reasons;  // "newest", "last 3", "daily 2026-11-30", "within 30 days"; "no rule keeps it"
};

// One decision for each of `generations`, which are in the order of their numbers, oldest first; so are the decisions.
std::vector<Decision> decide(const std::vector<DatedGeneration>& generations, const RetentionPolicy& policy,
                             std::int64_t now_ns);

}  // namespace nb::txn
