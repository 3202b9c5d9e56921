// SPDX-License-Identifier: Apache-2.0
#include "txn/thin.hpp"

#include <algorithm>
#include <set>

#include "base/failpoint.hpp"
#include "base/text.hpp"
#include "txn/apply_lock.hpp"
#include "txn/arrivals.hpp"
#include "txn/history.hpp"
#include "txn/history_size.hpp"
#include "txn/prepare.hpp"
#include "txn/small_file.hpp"
#include "txn/stage.hpp"
#include "txn/thin_apply.hpp"
#include "txn/thin_plan.hpp"

namespace nb::txn {
namespace {

constexpr std::chrono::seconds k_wait_readers{60};
constexpr std::uint64_t k_room_for_a_plan = std::uint64_t{1} << 20;
constexpr std::string_view k_trash_prefix = "thin-";

std::string trash_name(std::uint64_t number) { return std::string(k_trash_prefix) + std::to_string(number); }

std::optional<std::uint64_t> trash_number(std::string_view name) {
  if (!name.starts_with(k_trash_prefix)) return std::nullopt;
  return parse_u64(name.substr(k_trash_prefix.size()));
}

// Where everything is that thinning touches.
struct Places {
  std::unique_ptr<fs::Directory> device;  // for syncfs: opened before the first write
  std::unique_ptr<fs::Directory> history;
  std::unique_ptr<fs::Directory> stages;

  static Result<Places> open(FileSet& set) {
    Places places;
    NB_TRY_ASSIGN(places.device, set.control().reopen());
    NB_TRY_ASSIGN(places.history, set.control().open_directory(k_history_name));
    NB_TRY_ASSIGN(places.stages, open_or_create_directory(set.control(), k_stages_name));
    return places;
  }
};

// Neighbours that go, each run with the generation that survives them.
Result<std::vector<ThinRun>> runs_of(const History& history, std::vector<std::uint64_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  for (const std::uint64_t number : numbers) {
    const std::string what = "generation " + std::to_string(number);
    if (!history.has(number)) return fail(Errc::not_found, what);
    if (number == history.numbers().back()) return fail(Errc::usage, what + " is the live tree's");
  }
  std::vector<ThinRun> runs;
  for (auto it = history.numbers().rbegin(); it != history.numbers().rend(); ++it) {
    const bool goes = std::binary_search(numbers.begin(), numbers.end(), *it);
    if (!goes) runs.push_back({*it, {}, false});
    if (goes) runs.back().dropped.push_back(*it);
  }
  if (!runs.empty()) runs.back().to_the_oldest = !runs.back().dropped.empty();
  std::erase_if(runs, [](const ThinRun& run) { return run.dropped.empty(); });
  return runs;
}

// One history/merge: as many runs as fit, the rest of them for the next one.
class Batch {
 public:
  Batch(FileSet& set, Clock& clock, Places& places, const ThinOptions& options)
      : m_set(set), m_clock(clock), m_places(places), m_options(options) {}

  // What could not even be planned leaves `runs` and is among the problems.
  Status drop(std::vector<ThinRun>& runs, ThinReport& report) {
    NB_TRY(make_trash());
    Status done = plan(runs, report);
    if (done && !m_plans.empty()) done = decide();
    if (!m_decided) withdraw();
    NB_TRY(done);
    if (m_plans.empty()) return {};
    NB_TRY(finish());
    settle(runs, report);
    return {};
  }

 private:
  struct Planned {
    ThinRun run;
    ThinPlan plan;
  };

  Status make_trash() {
    NB_TRY_ASSIGN(const std::vector<fs::NamedType> names, m_places.stages->list());
    for (const fs::NamedType& each : names) {
      if (const auto number = trash_number(each.name)) m_number = std::max(m_number, *number + 1);
    }
    NB_TRY_ASSIGN(m_trash, m_places.stages->create_directory(trash_name(m_number)));
    return {};
  }

  Status plan(std::vector<ThinRun>& runs, ThinReport& report) {
    NB_TRY_ASSIGN(ThinWriter writer, ThinWriter::create(*m_places.history, {m_set.format().uuid, m_number}));
    std::size_t ops = 0;
    for (auto run = runs.begin(); run != runs.end() && ops < k_most_paths_at_once;) {
      if (m_options.go_on && !m_options.go_on()) return fail(Errc::interrupted, "before generations were dropped");
      Result<ThinPlan> plan = plan_thinning(*m_places.history, *run, m_next_slot);
      if (!plan) {
        report.problems.push_back({run->dropped.front(), std::move(plan).error()});
        run = runs.erase(run);
        continue;
      }
      ops += plan->ops.size();
      for (const ThinOp& op : plan->ops) NB_TRY(writer.append(op));
      m_moves = m_moves || !std::get<Merge>(plan->ops.front()).becomes_base;
      plan->ops.clear();
      m_plans.push_back({*run, std::move(*plan)});
      ++run;
    }
    if (m_plans.empty()) return {};
    // On a disk that is full the oldest can still go, which takes no room.
    if (m_moves) NB_TRY(hold_reserve_in(*m_trash));
    NB_FAILPOINT("txn.thin.planned");
    NB_TRY(writer.finish());
    return sync_plans();
  }

  Status sync_plans() {
    NB_TRY_ASSIGN(const ThinRecord record, ThinRecord::open(*m_places.history, k_merge_new_name));
    NB_TRY(sync_moved(*m_places.history, *m_trash, *m_places.device, record));
    if (!m_places.device->sync_file_system_reports()) {
      for (const Planned& each : m_plans) NB_TRY(sync_survivor(each.run.survivor));
      NB_TRY(m_places.stages->sync());
      NB_TRY(m_places.history->sync());
    }
    return failpoint("txn.thin.plan_synced");
  }

  Status sync_survivor(std::uint64_t number) {
    NB_TRY_ASSIGN(const auto directory, m_places.history->open_directory(std::to_string(number)));
    for (const std::string_view name : {k_changes_new_name, k_generation_new_name}) {
      const auto file = directory->open_file(name, fs::OpenMode::read);
      if (!file && file.error().code == Errc::not_found) continue;
      NB_TRY(file);
      NB_TRY((*file)->sync());
    }
    const auto files = directory->open_directory(k_files_name);
    if (files) {
      const auto anchors = (*files)->open_directory(k_control_name);
      if (anchors) NB_TRY((*anchors)->sync());
      NB_TRY((*files)->sync());
    }
    return directory->sync();
  }

  // From here on it is decided.
  Status decide() {
    NB_TRY_ASSIGN(m_lock, take_apply_lock(m_set, m_options.wait_readers, m_clock, m_options.go_on));
    NB_FAILPOINT("txn.thin.locked");
    fs::Directory& history = *m_places.history;
    const Status renamed = history.rename(k_merge_new_name, history, k_merge_name, fs::RenameMode::no_replace);
    const auto standing = find_name(history, k_merge_name);
    m_decided = !standing || standing->has_value();
    NB_TRY(renamed);
    NB_FAILPOINT("txn.thin.renamed");
    return history.sync();
  }

  // Nothing was decided: what was written means nothing.
  void withdraw() {
    static_cast<void>(remove_if_there(*m_places.history, k_merge_new_name));
    static_cast<void>(remove_stage(*m_places.stages, trash_name(m_number)));
  }

  Status finish() {
    NB_FAILPOINT("txn.thin.decided");
    static_cast<void>(remove_if_there(*m_trash, k_reserve_name));
    NB_TRY_ASSIGN(const ThinRecord record, ThinRecord::open(*m_places.history));
    NB_TRY(apply_thinning(*m_places.history, *m_trash, *m_places.device, record));
    m_lock.reset();
    return {};
  }

  void settle(std::vector<ThinRun>& runs, ThinReport& report) {
    for (const Planned& each : m_plans) {
      const auto end = each.run.dropped.begin() + static_cast<std::ptrdiff_t>(each.plan.dropped);
      report.dropped.insert(report.dropped.end(), each.run.dropped.begin(), end);
      const auto run =
          std::find_if(runs.begin(), runs.end(), [&](const ThinRun& one) { return one.survivor == each.run.survivor; });
      run->dropped.erase(run->dropped.begin(), run->dropped.begin() + static_cast<std::ptrdiff_t>(each.plan.dropped));
    }
    std::erase_if(runs, [](const ThinRun& run) { return run.dropped.empty(); });
  }

  FileSet& m_set;
  Clock& m_clock;
  Places& m_places;
  const ThinOptions& m_options;
  std::uint64_t m_number = 1;
  std::uint64_t m_next_slot = 1;
  std::unique_ptr<fs::Directory> m_trash;
  std::unique_ptr<fs::File> m_lock;
  std::vector<Planned> m_plans;
  bool m_moves = false;
  bool m_decided = false;
};

// Also what a crash has left of earlier ones. What cannot be removed now stays for the next time.
Status empty_trash(fs::Directory& stages) {
  NB_TRY_ASSIGN(const std::vector<fs::NamedType> names, stages.list());
  Status result;
  for (const fs::NamedType& each : names) {
    if (!trash_number(each.name)) continue;
    const Status removed = remove_stage(stages, each.name);
    if (result && !removed) result = wrap(removed.error(), "space of dropped generations: .nbackup/tx/" + each.name);
  }
  return result;
}

// An anchor that is the last name of its file holds nothing but space.
void tidy_anchors(fs::Directory& history, std::uint64_t generation) {
  const RelPath path = kept_files(generation).child(k_control_name);
  const auto anchors = history.open_directory_path(path);
  if (!anchors) return;
  const auto names = (*anchors)->list();
  if (!names) return;
  for (const fs::NamedType& each : *names) {
    const auto stat = (*anchors)->stat_at(each.name);
    if (stat && stat->links == 1) static_cast<void>((*anchors)->remove_file(each.name));
  }
}

// On a disk that is full, what only saves work makes room for the plan.
void make_room(FileSet& set, fs::Directory& history) {
  const auto space = set.control().space();
  if (!space || space->free_bytes >= k_room_for_a_plan) return;
  static_cast<void>(remove_if_there(history, k_sizes_name));
  for (const std::uint64_t number : arrival_lists(set.control()).value_or(std::vector<std::uint64_t>())) {
    static_cast<void>(drop_arrivals(set.control(), number));
  }
}

Error in_doubt(const Error& error) {
  return {Errc::in_doubt, error.sys_errno, "dropping generations: " + error.message()};
}

}  // namespace

Result<ThinReport> drop_generations(FileSet& set, const WriterLock&, Clock& clock,
                                    const std::vector<std::uint64_t>& numbers, const ThinOptions& options) {
  ThinReport report;
  NB_TRY_ASSIGN(const bool interrupted, set.needs_recovery());
  if (interrupted) return fail(Errc::recovery_failed, "a commit is not finished");
  NB_TRY_ASSIGN(const History history, History::open(set));
  NB_TRY_ASSIGN(std::vector<ThinRun> runs, runs_of(history, numbers));
  std::set<std::uint64_t> survivors;
  for (const ThinRun& run : runs) survivors.insert(run.survivor);
  if (history.numbers().empty()) return report;
  NB_TRY_ASSIGN(Places places, Places::open(set));
  make_room(set, *places.history);
  if (!survivors.empty()) NB_TRY(forget_sizes(*places.history, survivors));
  while (!runs.empty()) {
    const Status done = Batch(set, clock, places, options).drop(runs, report);
    if (done) continue;
    const auto standing = is_thinning(set);
    if (standing && !*standing) return tl::make_unexpected(done.error());
    return tl::make_unexpected(in_doubt(done.error()));
  }
  std::sort(report.dropped.rbegin(), report.dropped.rend());
  report.emptied = empty_trash(*places.stages);
  // All of them: a crash may have kept an earlier call from it.
  for (const std::uint64_t number : history.numbers()) tidy_anchors(*places.history, number);
  return report;
}

Result<bool> is_thinning(FileSet& set) {
  NB_TRY_ASSIGN(const std::unique_ptr<fs::Directory> history, open_if_there(set.control(), k_history_name));
  if (!history) return false;
  NB_TRY_ASSIGN(const std::optional<fs::Stat> standing, find_name(*history, k_merge_name));
  return standing.has_value();
}

Result<bool> finish_thinning(FileSet& set, const WriterLock&, Clock& clock, const GoOn& go_on) {
  NB_TRY_ASSIGN(const bool standing, is_thinning(set));
  if (!standing) return false;
  NB_FAILPOINT("txn.thin.found");
  const auto failed = [](const Error& error) { return fail(Errc::recovery_failed, error.context, error.sys_errno); };
  NB_TRY_ASSIGN(Places places, Places::open(set));
  const Result<ThinRecord> record = ThinRecord::open(*places.history);
  if (!record) {
    return fail(Errc::recovery_failed, ".nbackup/history/merge is damaged (" + record.error().context +
                                           "); see \"When a set is damaged\" in the manual");
  }
  if (record->header().set != set.format().uuid) return fail(Errc::recovery_failed, "history/merge is of another set");
  const auto trash = places.stages->open_directory(trash_name(record->header().trash));
  if (!trash) return failed(trash.error());
  NB_TRY_ASSIGN(const std::unique_ptr<fs::File> lock, take_apply_lock(set, k_wait_readers, clock, go_on));
  // Its name may be in memory only.
  NB_TRY(record->sync());
  NB_TRY(places.history->sync());
  static_cast<void>(remove_if_there(**trash, k_reserve_name));
  // Whoever measured since then saw it half done.
  static_cast<void>(remove_if_there(*places.history, k_sizes_name));
  const Status done = apply_thinning(*places.history, **trash, *places.device, *record);
  if (!done) return failed(done.error());
  return true;
}

}  // namespace nb::txn
