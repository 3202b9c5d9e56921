// SPDX-License-Identifier: Apache-2.0
#include "txn/history_check.hpp"

#include <algorithm>

#include "fs/metadata.hpp"
#include "txn/set_files.hpp"
#include "txn/small_file.hpp"

namespace nb::txn {
namespace {

// What is missing of a history is damage; an error of the disk, or of rights, is what it is.
Error missing(const std::string& what) { return {Errc::bad_set, 0, what + ": missing"}; }

std::string leads_nowhere(std::uint64_t number) {
  return "history/" + std::to_string(number) + ": does not lead to the generation before";
}

// The next older generation; nothing at the end of the way.
Result<std::optional<std::uint64_t>> step_back(const History& history, std::uint64_t number) {
  const auto account = history.read(number);
  if (!account) return tl::make_unexpected(no_way_back(account.error(), number));
  if (!account->previous) return std::optional<std::uint64_t>();
  const Status read = history.for_each_change(*account, [](const Change&) { return Status(); });
  if (!read) return tl::make_unexpected(no_way_back(in_changes(read.error(), number), number));
  return account->previous;
}

// Without listing what may be ten thousand generations.
Result<bool> has_live(FileSet& set) {
  NB_TRY_ASSIGN(const std::unique_ptr<fs::Directory> history, open_if_there(set.control(), k_history_name));
  if (!history) return false;
  NB_TRY_ASSIGN(const std::optional<fs::Stat> live, find_name(*history, std::to_string(set.head().generation)));
  return live && live->type == fs::FileType::directory;
}

}  // namespace

Error no_way_back(Error error, std::uint64_t generation) {
  const std::string number = std::to_string(generation);
  if (error.code == Errc::not_found) error = missing("history/" + number);
  error.context += "; no generation before " + number + " can be restored any more";
  return error;
}

Error no_live_account(std::uint64_t live) { return no_way_back({Errc::not_found, 0, ""}, live); }

Error in_changes(Error error, std::uint64_t generation) {
  const std::string list = "history/" + std::to_string(generation) + "/" + std::string(k_changes_name);
  if (error.code == Errc::not_found) return missing(list);
  constexpr std::string_view k_own_name = "changes: ";
  if (error.context.starts_with(k_own_name)) error.context.erase(0, k_own_name.size());
  error.context = list + ": " + error.context;
  return error;
}

Status check_live_account(FileSet& set) {
  NB_TRY_ASSIGN(const bool is_there, has_live(set));
  if (is_there) return {};
  NB_TRY_ASSIGN(const History history, History::open(set));
  return history.lacks_live() ? tl::make_unexpected(no_live_account(set.head().generation)) : Status();
}

void note_past(FileSet& set) {
  const auto noted = find_name(set.control(), k_past_name);
  if (!noted || *noted) return;
  const auto is_there = has_live(set);
  if (is_there && *is_there) static_cast<void>(set.control().create_file(k_past_name));
}

Result<HistoryCheck> check_history(FileSet& set) {
  NB_TRY_ASSIGN(const History history, History::open(set));
  HistoryCheck check;
  std::vector<std::uint64_t> unseen(history.numbers().rbegin(), history.numbers().rend());
  std::optional<std::uint64_t> at = unseen.empty() ? std::nullopt : std::optional(set.head().generation);
  std::uint64_t last = 0;
  while (at) {
    // The oldest may lead back to one that is not there any more; then nothing is lost.
    std::erase(unseen, *at);
    last = *at;
    auto next = step_back(history, *at);
    if (!next) {
      check.damage = std::move(next).error();
      break;
    }
    at = *next;
  }
  check.lost = std::move(unseen);
  if (check.lost.empty()) check.damage.reset();
  if (!check.lost.empty() && !check.damage) check.damage = no_way_back({Errc::bad_set, 0, leads_nowhere(last)}, last);
  return check;
}

}  // namespace nb::txn
