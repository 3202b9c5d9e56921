// SPDX-License-Identifier: Apache-2.0
// Recovery: what stands in the control directory after a crash decides, never what the process remembers.
#include "base/failpoint.hpp"
#include "txn/apply_lock.hpp"
#include "txn/arrivals.hpp"
#include "txn/commit.hpp"
#include "txn/history_check.hpp"
#include "txn/orphans.hpp"
#include "txn/small_file.hpp"
#include "txn/spare.hpp"
#include "txn/thin.hpp"

namespace nb::txn {
namespace {

constexpr std::chrono::seconds k_wait_readers{60};

Error failed(const Error& reason) { return {Errc::recovery_failed, reason.sys_errno, reason.context}; }

// The journal that stands, if any.
struct Standing {
  std::string_view name;
  Journal journal;
};

Result<std::optional<Standing>> find_journal(FileSet& set) {
  for (const std::string_view name : {k_journal_undo_name, k_journal_name}) {
    Result<Journal> journal = Journal::open(set.control(), name);
    if (journal) return std::optional<Standing>(Standing{name, std::move(*journal)});
    // It was whole when it got this name: what is damaged now tells nothing, and going on would make a mix.
    if (journal.error().code == Errc::bad_set) {
      return fail(Errc::recovery_failed, ".nbackup/" + std::string(name) + " is damaged (" + journal.error().context +
                                             "); see \"When a set is damaged\" in the manual");
    }
    if (journal.error().code != Errc::not_found) return tl::make_unexpected(std::move(journal).error());
  }
  return std::optional<Standing>();
}

Status check_belongs(const FileSet& set, const JournalHeader& header) {
  if (header.set != set.format().uuid) return fail(Errc::recovery_failed, "the journal is of another file set");
  if (header.generation != set.head().generation + 1) {
    return fail(Errc::recovery_failed, "the journal does not follow the generation in head");
  }
  return {};
}

// After a commit in doubt the name may exist in memory only. Nothing is applied before it is known to last.
Status make_sure(FileSet& set, const Journal& journal) {
  Status synced = journal.sync();
  if (synced) synced = set.control().sync();
  if (!synced) return fail(Errc::in_doubt, synced.error().message());
  return failpoint("txn.recover.synced");
}

// What such a commit had replaced would go with the next run's trash.
Status check_no_orphan(FileSet& set) {
  NB_TRY_ASSIGN(const std::vector<Orphan> orphans, find_orphans(set));
  if (orphans.empty()) return {};
  const RelPath content = orphans.front().place.child(orphans.front().content);
  return fail(
      Errc::recovery_failed,
      "the journal of an interrupted commit is missing; it had replaced what lies in .nbackup/" + content.str());
}

RecoveryReport report(FileSet& set, RecoveryAction action, ApplyContext& context) {
  RecoveryReport result;
  result.action = action;
  result.generation = set.head().generation;
  result.conflicts = context.conflicts.all();
  context.conflicts.tidy();
  return result;
}

Result<RecoveryReport> go_back(FileSet& set, fs::Directory& device, const Standing& standing, ApplyContext& context) {
  const Status undone = standing.name == k_journal_undo_name ? finish_undo(set, device, standing.journal, context)
                                                             : roll_back(set, device, standing.journal, context);
  if (!undone) return tl::make_unexpected(failed(undone.error()));
  return report(set, RecoveryAction::rolled_back, context);
}

Result<RecoveryReport> work(FileSet& set, const Standing& standing) {
  NB_TRY_ASSIGN(const std::unique_ptr<fs::Directory> device, set.control().reopen());
  const Result<StageDirectories> stage = StageDirectories::open(set.control(), standing.journal.header().transaction);
  if (!stage) return tl::make_unexpected(failed(stage.error()));
  ApplyContext context{LiveTree(set.root()), set.control(), *stage->fresh, *stage->old,
                       Conflicts(set.control(), standing.journal.header().transaction)};
  static_cast<void>(remove_if_there(*stage->top, k_reserve_name));
  if (standing.name == k_journal_undo_name) return go_back(set, *device, standing, context);
  Status redone = failpoint("txn.recover.redo");
  if (redone) redone = redo_and_file(set, standing.journal, context, Attempt::again);
  if (!redone) {
    Result<RecoveryReport> back = go_back(set, *device, standing, context);
    if (back) return back;
    return wrap(std::move(back).error(), redone.error().message() + "; undoing it");
  }
  const Result<Durability> sealed = seal(set, *device, standing.journal, context);
  if (!sealed) return fail(Errc::in_doubt, sealed.error().message());
  NB_TRY(drop_journal(set, k_journal_name));
  // As after any commit, a hint for scrubs.
  if (set.format().lifetime == Lifetime::permanent) {
    static_cast<void>(keep_arrivals(set.control(), *stage->top, set.head().generation));
  }
  return report(set, RecoveryAction::completed, context);
}

}  // namespace

Result<RecoveryReport> recover(FileSet& set, const WriterLock& writer, Clock& clock, const GoOn& go_on) {
  NB_TRY(set.reload());
  // One is as good as none; a full disk must not end a run for it.
  static_cast<void>(keep_spare(set.control(), set.format(), set.secret()));
  RecoveryReport nothing;
  NB_TRY_ASSIGN(const bool thinned, finish_thinning(set, writer, clock, go_on));
  if (thinned) nothing.action = RecoveryAction::thinned;
  nothing.generation = set.head().generation;
  NB_TRY_ASSIGN(const std::optional<Standing> standing, find_journal(set));
  if (!standing) {
    NB_TRY(check_no_orphan(set));
    return nothing;
  }
  NB_FAILPOINT("txn.recover.found");
  if (standing->name == k_journal_name && standing->journal.header().transaction == set.head().transaction) {
    // Its head may stand in memory only.
    const Status synced = set.control().sync();
    if (!synced) return fail(Errc::in_doubt, synced.error().message());
    NB_TRY(drop_journal(set, k_journal_name));
    nothing.action = RecoveryAction::journal_removed;
    return nothing;
  }
  NB_TRY(check_belongs(set, standing->journal.header()));
  if (standing->name == k_journal_name && standing->journal.header().keeps_history) NB_TRY(check_live_account(set));
  NB_TRY_ASSIGN(const std::unique_ptr<fs::File> lock, take_apply_lock(set, k_wait_readers, clock, go_on));
  NB_TRY(make_sure(set, standing->journal));
  return work(set, *standing);
}

}  // namespace nb::txn
