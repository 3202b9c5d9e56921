// SPDX-License-Identifier: Apache-2.0
#include "session/scrub_history.hpp"

#include "session/source_setup.hpp"
#include "txn/history.hpp"
#include "txn/kept_trees.hpp"
#include "txn/small_file.hpp"

namespace nb::session {
namespace {

class RecordCheck {
 public:
  RecordCheck(fs::Directory& directory, const txn::History& history, ScrubObserver& observer)
      : m_history(history), m_observer(observer), m_trees(directory) {}

  // One that another leads back to, or the live one, where older ones are there.
  Status check_presence(std::uint64_t number) {
    const auto& numbers = m_history.numbers();
    if (numbers.empty() || number < numbers.front() || m_history.has(number)) return {};
    return bad(place_of(number), {Errc::not_found, 0, ""}, k_older_is_lost);
  }

  Status check(std::uint64_t number) {
    const std::string name = place_of(number) + "/";
    const auto account = m_history.read(number);
    if (!account) return bad(name + std::string(txn::k_generation_name), account.error(), "the generation is lost");
    if (!account->previous && number == m_history.numbers().front()) return {};
    if (!account->previous) return bad(place_of(number) + " has no way back", {}, k_older_is_lost);
    NB_TRY(check_presence(*account->previous));
    Status told;
    const Status read = m_history.for_each_change(*account, [&](const txn::Change& change) -> Status {
      if (!may_go_on()) return fail(Errc::interrupted, "");
      const auto* kept = std::get_if<txn::KeptEntry>(&change);
      if (kept != nullptr && told) told = check_kept(number, name, kept->path);
      return told;
    });
    NB_TRY(told);
    if (read || read.error().code == Errc::interrupted) return read;
    return bad(name + std::string(txn::k_changes_name), read.error(), k_older_is_lost);
  }

  [[nodiscard]] std::uint64_t count() const { return m_count; }

 private:
  static constexpr const char* k_older_is_lost = "what is older cannot be restored";

  static std::string place_of(std::uint64_t number) { return ".nbackup/history/" + std::to_string(number); }

  Status check_kept(std::uint64_t number, const std::string& name, const RelPath& path) {
    // Goes with the last name that needs it; its records stay.
    if (txn::is_anchor(path)) return {};
    const auto found = m_trees.find(number, path);
    if (found && !*found) {
      return bad(name + "files/" + path.str(), {Errc::not_found, 0, ""}, "older generations miss it");
    }
    return {};
  }

  Status bad(const std::string& what, const Error& error, const std::string& means) {
    if (error.code == Errc::interrupted) return tl::make_unexpected(error);
    ++m_count;
    const bool is_missing = error.code == Errc::not_found;
    return m_observer.on_problem(
        {Errc::damaged, error.sys_errno, what + (is_missing ? " is missing: " : ": ") + means});
  }

  const txn::History& m_history;
  ScrubObserver& m_observer;
  txn::KeptTrees m_trees;
  std::uint64_t m_count = 0;
};

}  // namespace

Result<std::uint64_t> check_records(txn::FileSet& set, ScrubObserver& observer, Clock& clock) {
  NB_TRY_ASSIGN(const auto lock, lock_to_read(set, "scrub", clock));
  NB_TRY_ASSIGN(const auto directory, txn::open_if_there(set.control(), txn::k_history_name));
  if (!directory) return std::uint64_t{0};
  NB_TRY_ASSIGN(const txn::History history, txn::History::open(set));
  RecordCheck check(*directory, history, observer);
  NB_TRY(check.check_presence(set.head().generation));
  for (const std::uint64_t number : history.numbers()) NB_TRY(check.check(number));
  return check.count();
}

}  // namespace nb::session
