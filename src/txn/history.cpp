// SPDX-License-Identifier: Apache-2.0
#include "txn/history.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "txn/change_list.hpp"
#include "txn/set_files.hpp"
#include "txn/small_file.hpp"

namespace nb::txn {
namespace {

std::optional<std::uint64_t> number_of(const fs::NamedType& entry) {
  if (entry.type != fs::FileType::directory) return std::nullopt;
  const std::optional<std::uint64_t> number = parse_u64(entry.name);
  return number && std::to_string(*number) == entry.name ? number : std::nullopt;
}

}  // namespace

Result<std::vector<std::uint64_t>> generations_in(const fs::Directory& history) {
  NB_TRY_ASSIGN(const std::vector<fs::NamedType> entries, history.list());
  std::vector<std::uint64_t> numbers;
  for (const fs::NamedType& entry : entries) {
    if (const auto number = number_of(entry)) numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

RelPath kept_files(std::uint64_t generation) { return RelPath().child(std::to_string(generation)).child(k_files_name); }

Result<std::unique_ptr<fs::Directory>> open_kept_files(FileSet& set, std::uint64_t generation) {
  return set.control().open_directory_path(RelPath().child(k_history_name).join(kept_files(generation)));
}

Result<History> History::open(FileSet& set) {
  History history;
  NB_TRY_ASSIGN(history.m_directory, open_if_there(set.control(), k_history_name));
  std::vector<std::uint64_t>& numbers = history.m_numbers;
  if (history.m_directory) {
    NB_TRY_ASSIGN(numbers, generations_in(*history.m_directory));
  }
  // One above head was not finished.
  numbers.erase(std::upper_bound(numbers.begin(), numbers.end(), set.head().generation), numbers.end());
  NB_TRY_ASSIGN(const std::optional<fs::Stat> past, find_name(set.control(), k_past_name));
  history.m_lacks_live = (past || !numbers.empty()) && !history.has(set.head().generation);
  return history;
}

bool History::has(std::uint64_t number) const { return std::binary_search(m_numbers.begin(), m_numbers.end(), number); }

Result<Generation> read_account(const fs::Directory& history, std::uint64_t number) {
  const std::string record = "history/" + std::to_string(number) + "/" + std::string(k_generation_name);
  const auto damaged = [&record](const std::string& reason) { return fail(Errc::bad_set, record + ": " + reason); };
  const auto directory = history.open_directory(std::to_string(number));
  if (!directory) return wrap(directory.error(), record);
  const Result<Bytes> data = read_small_file(**directory, k_generation_name);
  if (!data && data.error().code == Errc::not_found) return damaged("missing");
  if (!data) return wrap(data.error(), record);
  Result<Generation> generation = decode_generation(*data);
  if (!generation) return wrap(generation.error(), record);
  if (generation->number != number) return damaged("of another generation");
  return generation;
}

Status for_each_change(const fs::Directory& history, const Generation& generation,
                       const std::function<Status(const Change&)>& visit) {
  NB_TRY_ASSIGN(const auto directory, history.open_directory(std::to_string(generation.number)));
  return read_changes(*directory, k_changes_name, {generation.number, *generation.previous}, visit);
}

Result<Generation> History::read(std::uint64_t number) const {
  if (!has(number)) return fail(Errc::not_found, "generation " + std::to_string(number));
  return read_account(*m_directory, number);
}

Result<std::uint64_t> History::newest_at(std::int64_t time_ns) const {
  // Clocks go wrong: not the first that is old enough from the end by bisection, but by looking at each.
  for (auto it = m_numbers.rbegin(); it != m_numbers.rend(); ++it) {
    NB_TRY_ASSIGN(const Generation generation, read(*it));
    if (generation.time_ns != 0 && generation.time_ns <= time_ns) return *it;
  }
  return fail(Errc::not_found, "a generation that old");
}

Status History::for_each_change(const Generation& generation, const std::function<Status(const Change&)>& visit) const {
  if (!generation.previous) return fail(Errc::not_found, "changes of the oldest generation");
  return txn::for_each_change(*m_directory, generation, visit);
}

}  // namespace nb::txn
