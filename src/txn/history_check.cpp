// SPDX-License-Identifier: Apache-2.0
#include "txn/history_check.hpp"

#include <algorithm>

namespace nb::txn {
namespace {

// The next older generation; nothing at the end of the way.
Result<std::optional<std::uint64_t>> step_back(const History& history, std::uint64_t number) {
  const auto account = history.read(number);
  if (!account) return tl::make_unexpected(no_way_back(account.error(), number, k_generation_name));
  if (!account->previous) return std::optional<std::uint64_t>();
  const Status read = history.for_each_change(*account, [](const Change&) { return Status(); });
  if (!read) return tl::make_unexpected(no_way_back(read.error(), number, k_changes_name));
  return account->previous;
}

}  // namespace

Error no_way_back(const Error& error, std::uint64_t generation, std::string_view record) {
  // What is missing of it is damage; an error of the disk, or of rights, is what it is.
  const bool is_missing = error.code == Errc::not_found;
  const std::string number = std::to_string(generation);
  const std::string reason = is_missing ? "missing" : error.context;
  return {is_missing ? Errc::bad_set : error.code, is_missing ? 0 : error.sys_errno,
          "history/" + number + "/" + std::string(record) + ": " + reason + "; no generation before " + number +
              " can be restored any more"};
}

Result<HistoryCheck> check_history(FileSet& set) {
  NB_TRY_ASSIGN(const History history, History::open(set));
  HistoryCheck check;
  std::vector<std::uint64_t> unseen(history.numbers().rbegin(), history.numbers().rend());
  std::optional<std::uint64_t> at = unseen.empty() ? std::nullopt : std::optional(unseen.front());
  while (at) {
    std::erase(unseen, *at);
    auto next = step_back(history, *at);
    if (!next) {
      check.damage = std::move(next).error();
      break;
    }
    at = *next;
    // The oldest may lead back to one that is not there any more.
    if (at && !history.has(*at)) break;
  }
  check.lost = std::move(unseen);
  if (check.lost.empty()) check.damage.reset();
  return check;
}

}  // namespace nb::txn
