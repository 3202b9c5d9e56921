// SPDX-License-Identifier: Apache-2.0
#include "txn/arrivals.hpp"

#include <algorithm>

#include "base/failpoint.hpp"
#include "base/text.hpp"
#include "txn/record_file.hpp"
#include "txn/small_file.hpp"
#include "txn/stage_log.hpp"

namespace nb::txn {
namespace {

constexpr std::uint64_t k_look_every = 16;
constexpr std::uint64_t k_large_log_bytes = std::uint64_t{1} << 20;

Result<std::vector<std::uint64_t>> rising_numbers(const fs::Directory& arrivals) {
  NB_TRY_ASSIGN(const std::vector<fs::NamedType> names, arrivals.list());
  std::vector<std::uint64_t> numbers;
  for (const fs::NamedType& each : names) {
    if (const auto number = parse_u64(each.name)) numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

// The newest lists stay, whole, as far as there is room for them.
Status drop_excess(fs::Directory& arrivals) {
  NB_TRY_ASSIGN(const std::vector<std::uint64_t> numbers, rising_numbers(arrivals));
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::string name = std::to_string(numbers[numbers.size() - 1 - i]);
    NB_TRY_ASSIGN(const std::optional<fs::Stat> stat, find_name(arrivals, name));
    bytes += stat ? stat->size : 0;
    // The one that has just come is kept in any case.
    const bool is_too_much = i >= k_most_arrival_lists || bytes > k_most_arrival_bytes;
    if (i > 0 && is_too_much) NB_TRY(remove_if_there(arrivals, name));
  }
  return {};
}

}  // namespace

Status keep_arrivals(fs::Directory& control, fs::Directory& stage, std::uint64_t generation) {
  NB_TRY_ASSIGN(const std::optional<fs::Stat> log, find_name(stage, k_log_name));
  const std::uint64_t log_bytes = log ? log->size : 0;
  if (log_bytes > k_empty_log_bytes) {
    NB_TRY_ASSIGN(const auto arrivals, open_or_create_directory(control, k_arrivals_name));
    NB_FAILPOINT("txn.cleanup.arrivals");
    NB_TRY(stage.rename(k_log_name, *arrivals, std::to_string(generation), fs::RenameMode::replace));
  }
  // Looking through thousands of small ones every time would be felt.
  if (generation % k_look_every != 0 && log_bytes <= k_large_log_bytes) return {};
  NB_TRY_ASSIGN(const auto arrivals, open_if_there(control, k_arrivals_name));
  return arrivals ? drop_excess(*arrivals) : Status();
}

Result<std::vector<std::uint64_t>> arrival_lists(const fs::Directory& control) {
  NB_TRY_ASSIGN(const auto arrivals, open_if_there(control, k_arrivals_name));
  return arrivals ? rising_numbers(*arrivals) : std::vector<std::uint64_t>();
}

Status for_each_arrival(const fs::Directory& control, std::uint64_t generation,
                        const std::function<Status(const StagedRecord&)>& visit) {
  NB_TRY_ASSIGN(const auto arrivals, control.open_directory(k_arrivals_name));
  NB_TRY_ASSIGN(const auto file, arrivals->open_file(std::to_string(generation), fs::OpenMode::read));
  NB_TRY_ASSIGN(const fs::Stat stat, file->stat());
  RecordCursor cursor(*file, 0, stat.size);
  NB_TRY_ASSIGN(const bool is_log, skip_log_title(cursor));
  while (is_log) {
    const Result<std::optional<ByteView>> frame = cursor.next();
    if (!frame && frame.error().code != Errc::bad_set) return tl::make_unexpected(frame.error());
    if (!frame || !*frame) break;
    const Result<StagedRecord> record = decode_staged_record(**frame);
    if (!record) break;
    if (!record->is_tree && !record->is_partial) NB_TRY(visit(*record));
  }
  return {};
}

Status drop_arrivals(fs::Directory& control, std::uint64_t generation) {
  NB_TRY_ASSIGN(const auto arrivals, control.open_directory(k_arrivals_name));
  return remove_if_there(*arrivals, std::to_string(generation));
}

}  // namespace nb::txn
