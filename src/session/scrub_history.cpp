// SPDX-License-Identifier: Apache-2.0
#include "session/scrub_history.hpp"

#include "session/source_setup.hpp"
#include "txn/history.hpp"
#include "txn/kept_trees.hpp"
#include "txn/small_file.hpp"

namespace nb::session {
namespace {

// A commit waits for readers, and asks again every 100 ms.
constexpr std::chrono::seconds k_longest_hold{1};
constexpr std::chrono::milliseconds k_break{200};

class RecordCheck {
 public:
  // `directory`: null where there is none.
  RecordCheck(fs::Directory* directory, const txn::History& history, ScrubObserver& observer)
      : m_history(history), m_observer(observer) {
    if (directory != nullptr) m_trees.emplace(*directory);
  }

  Status check_live(std::uint64_t number) { return m_history.lacks_live() ? lost(number) : Status(); }

  Status check(std::uint64_t number) {
    const std::string name = place_of(number) + "/";
    const auto account = m_history.read(number);
    if (!account) return bad(name + std::string(txn::k_generation_name), account.error(), "the generation is lost");
    if (!account->previous && number == m_history.numbers().front()) return {};
    if (!account->previous) return bad(place_of(number) + " has no way back", {}, k_older_is_lost);
    NB_TRY(check_previous(*account->previous));
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

  // Where older ones are there.
  Status check_previous(std::uint64_t number) {
    return number < m_history.numbers().front() || m_history.has(number) ? Status() : lost(number);
  }

  Status check_kept(std::uint64_t number, const std::string& name, const RelPath& path) {
    // Goes with the last name that needs it; its records stay.
    if (txn::is_anchor(path)) return {};
    const auto found = m_trees->find(number, path);
    if (found && !*found) {
      return bad(name + "files/" + path.str(), {Errc::not_found, 0, ""}, "older generations miss it");
    }
    return {};
  }

  Status lost(std::uint64_t number) { return bad(place_of(number), {Errc::not_found, 0, ""}, k_older_is_lost); }

  Status bad(const std::string& what, const Error& error, const std::string& means) {
    if (error.code == Errc::interrupted) return tl::make_unexpected(error);
    ++m_count;
    const bool is_missing = error.code == Errc::not_found;
    return m_observer.on_problem(
        {Errc::damaged, error.sys_errno, what + (is_missing ? " is missing: " : ": ") + means});
  }

  const txn::History& m_history;
  ScrubObserver& m_observer;
  std::optional<txn::KeptTrees> m_trees;
  std::uint64_t m_count = 0;
};

struct Stretch {
  std::uint64_t bad = 0;
  std::optional<std::uint64_t> done;  // the newest generation that was looked at
  bool is_last = false;
};

// The generations after `done`, under one lock, as many as there is time for: what is dropped meanwhile is not looked at.
Result<Stretch> check_stretch(txn::FileSet& set, std::optional<std::uint64_t> done, ScrubObserver& observer,
                              Clock& clock) {
  NB_TRY_ASSIGN(const auto lock, lock_to_read(set, "scrub", clock));
  const SteadyTime began = clock.steady();
  NB_TRY_ASSIGN(const auto directory, txn::open_if_there(set.control(), txn::k_history_name));
  NB_TRY_ASSIGN(const txn::History history, txn::History::open(set));
  RecordCheck check(directory.get(), history, observer);
  if (!done) NB_TRY(check.check_live(set.head().generation));
  Stretch stretch{0, done, true};
  for (const std::uint64_t number : history.numbers()) {
    if (stretch.done && number <= *stretch.done) continue;
    stretch.is_last = stretch.done == done || clock.steady() - began < k_longest_hold;
    if (!stretch.is_last) break;
    NB_TRY(check.check(number));
    stretch.done = number;
  }
  stretch.bad = check.count();
  return stretch;
}

}  // namespace

Result<std::uint64_t> check_records(txn::FileSet& set, ScrubObserver& observer, Clock& clock) {
  std::uint64_t bad = 0;
  std::optional<std::uint64_t> done;
  while (true) {
    NB_TRY_ASSIGN(const Stretch stretch, check_stretch(set, done, observer, clock));
    bad += stretch.bad;
    if (stretch.is_last) return bad;
    done = stretch.done;
    clock.pause(k_break);
  }
}

}  // namespace nb::session
