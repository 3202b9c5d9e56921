// SPDX-License-Identifier: Apache-2.0
#include "session/moment.hpp"

#include <ctime>

#include <array>

namespace nb::session {
namespace {

// Times in messages are UTC: server and client may have different zones.
std::string utc(std::int64_t time_ns) {
  const auto seconds = static_cast<std::time_t>(time_ns / 1'000'000'000);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts);
  return text.data();
}

std::string kept_ones(const txn::FileSet& set, const txn::History& history) {
  const auto& numbers = history.numbers();
  const std::uint64_t newest = set.head().generation;
  const std::uint64_t oldest = numbers.empty() ? newest : numbers.front();
  if (oldest == newest) return "the set keeps none but its live one, " + std::to_string(newest);
  const std::string range = std::to_string(oldest) + " to " + std::to_string(newest);
  const bool all = newest - oldest + 1 == numbers.size();
  return "the set keeps " + range + (all ? "" : ", with gaps");
}

Result<std::uint64_t> newest_by(const txn::FileSet& set, const txn::History& history, std::int64_t time_ns) {
  // Where nothing is kept, head alone knows when the live one was committed.
  if (set.head().time_ns <= time_ns) return set.head().generation;
  const auto number = history.newest_at(time_ns);
  if (number || number.error().code != Errc::not_found) return number;
  std::int64_t oldest_ns = set.head().time_ns;
  for (const std::uint64_t each : history.numbers()) {
    NB_TRY_ASSIGN(const txn::Generation oldest, history.read(each));
    oldest_ns = oldest.time_ns;
    if (oldest_ns != 0) break;
  }
  return fail(Errc::usage, "no generation is from " + utc(time_ns) + " or before: the oldest that the set keeps is " +
                               "from " + utc(oldest_ns));
}

}  // namespace

Result<std::uint64_t> generation_at(const txn::FileSet& set, const txn::History& history, const wire::Moment& at) {
  switch (at.kind) {
    case wire::MomentKind::latest: return set.head().generation;
    case wire::MomentKind::generation:
      if (at.value == set.head().generation || history.has(at.value)) return at.value;
      return fail(Errc::usage, "generation " + std::to_string(at.value) + " is not there: " + kept_ones(set, history));
    case wire::MomentKind::time: return newest_by(set, history, static_cast<std::int64_t>(at.value));
  }
  return fail(Errc::protocol, "a moment of an unknown kind");
}

}  // namespace nb::session
