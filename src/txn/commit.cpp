// SPDX-License-Identifier: Apache-2.0
#include "txn/commit.hpp"

#include "base/failpoint.hpp"
#include "txn/apply_lock.hpp"
#include "txn/history.hpp"
#include "txn/small_file.hpp"

namespace nb::txn {
namespace {

using Progress = TransactionState::Progress;

void enter(const CommitOptions& options, CommitPhase phase) {
  if (options.on_phase) options.on_phase(phase);
}

// A failed sync is never tried again: the kernel has dropped the data and would report success.
Error give_up_stage(TransactionState& state, Error error) {
  state.progress = Progress::poisoned;
  const Status poisoned = poison(state.set, state.id, *state.stage.directories.top);
  if (!poisoned) error.context += "; the stage could not be marked as lost: " + poisoned.error().message();
  return error;
}

Result<Durability> prepare(TransactionState& state, Prepare& checks) {
  NB_TRY(state.stage.log->flush());
  NB_TRY(checks.close_staged_directories());
  NB_FAILPOINT("txn.prepare.dirs");
  NB_TRY(checks.check_operations());
  NB_FAILPOINT("txn.prepare.checked");
  NB_TRY(checks.hold_reserve());
  NB_FAILPOINT("txn.prepare.reserved");
  Result<Durability> synced = sync_stage(*state.device, state.set.control(), state.stage);
  if (!synced && synced.error().code == Errc::sync_failed) {
    return tl::make_unexpected(give_up_stage(state, synced.error()));
  }
  NB_TRY(synced);
  NB_FAILPOINT("txn.prepare.synced");
  return synced;
}

// Where earlier generations are kept, each one after them leads back to them.
Result<bool> keeps_history(TransactionState& state, const CommitOptions& options) {
  if (state.set.format().lifetime == Lifetime::ephemeral) return false;
  if (options.keep_history) return true;
  NB_TRY_ASSIGN(const History history, History::open(state.set));
  return !history.numbers().empty();
}

Result<JournalHeader> new_header(TransactionState& state, const CommitOptions& options) {
  JournalHeader header;
  NB_TRY_ASSIGN(header.keeps_history, keeps_history(state, options));
  header.account = options.account;
  header.transaction = state.id;
  header.set = state.set.format().uuid;
  header.generation = state.set.head().generation + 1;
  header.time_ns = state.clock.wall().time_since_epoch().count();
  return header;
}

Status make_journal(TransactionState& state, const CommitOptions& options, const Closers& closers) {
  NB_TRY_ASSIGN(const JournalHeader header, new_header(state, options));
  Status written = write_journal(state, header, closers);
  if (written) return failpoint("txn.commit.journal_synced");
  static_cast<void>(remove_if_there(state.set.control(), k_journal_new_name));
  return written;
}

// A rename that reports a failure may have happened all the same (half of one that is made of link and unlink, or a
// network file system that lost the answer). The next recovery commits whatever has the journal's name.
Status not_renamed(TransactionState& state, const Error& error) {
  // The name was taken, and not by us.
  if (error.code == Errc::exists) return tl::make_unexpected(error);
  const auto standing = find_name(state.set.control(), k_journal_name);
  if (standing && !*standing) return tl::make_unexpected(error);
  state.progress = Progress::ended;
  return fail(Errc::in_doubt, error.message());
}

// From the successful return on the new generation is decided.
Status pass_commit_point(TransactionState& state, const CommitOptions& options) {
  fs::Directory& control = state.set.control();
  if (options.on_commit_point) options.on_commit_point();
  NB_FAILPOINT("txn.commit.ready");
  const Status renamed = control.rename(k_journal_new_name, control, k_journal_name, fs::RenameMode::no_replace);
  if (!renamed) return not_renamed(state, renamed.error());
  state.progress = Progress::ended;
  Status synced = failpoint("txn.commit.renamed");
  if (synced) synced = control.sync();
  if (!synced) return fail(Errc::in_doubt, synced.error().message());
  return {};
}

// Names what others had put in the way and what could not be given back its name.
Error rolled_back(const Error& reason, Conflicts& conflicts) {
  Error error{Errc::rolled_back, 0, reason.message()};
  const std::vector<RelPath> aside = conflicts.all();
  if (!aside.empty()) {
    error.context += "; not ours, kept in .nbackup/conflict: " + aside.front().str();
    if (aside.size() > 1) error.context += " and " + std::to_string(aside.size() - 1) + " more";
  }
  conflicts.tidy();
  return error;
}

Error not_undone(const Error& reason, const Error& failure) {
  return {Errc::recovery_failed, 0, reason.message() + "; undoing it: " + failure.message()};
}

Result<CommitOutcome> apply_and_seal(TransactionState& state, const Journal& journal) {
  StageDirectories& stage = state.stage.directories;
  ApplyContext context{LiveTree(state.set.root()), state.set.control(), *stage.fresh, *stage.old,
                       Conflicts(state.set.control(), state.id)};
  // Fails at worst for want of what it is there to give.
  static_cast<void>(remove_if_there(*stage.top, k_reserve_name));
  Status applied = failpoint("txn.commit.point");
  if (applied) applied = redo_and_file(state.set, journal, context, Attempt::first);
  if (!applied) {
    const Status undone = roll_back(state.set, *state.device, journal, context);
    return tl::make_unexpected(undone ? rolled_back(applied.error(), context.conflicts)
                                      : not_undone(applied.error(), undone.error()));
  }
  const Result<Durability> sealed = seal(state.set, *state.device, journal, context);
  // The journal stands: the next recovery repeats what is needed and ends it.
  if (!sealed) return fail(Errc::in_doubt, "after all was applied: " + sealed.error().message());
  // Head is durable, so that a journal which cannot be removed now is harmless; the next recovery removes it.
  static_cast<void>(drop_journal(state.set, k_journal_name));
  state.made = journal.header().generation;
  CommitOutcome outcome;
  outcome.changed = true;
  outcome.kept_history = journal.header().keeps_history;
  outcome.generation = journal.header().generation;
  outcome.conflicts = context.conflicts.all();
  context.conflicts.tidy();
  outcome.durable = *sealed == Durability::sure;
  return outcome;
}

Result<CommitOutcome> commit_prepared(TransactionState& state, const CommitOptions& options, const Prepare& checks) {
  NB_TRY_ASSIGN(const std::unique_ptr<fs::File> lock,
                take_apply_lock(state.set, options.wait_readers, state.clock, options.go_on));
  NB_FAILPOINT("txn.commit.locked");
  NB_TRY(make_journal(state, options, checks.closers()));
  if (options.go_on && !options.go_on()) {
    static_cast<void>(remove_if_there(state.set.control(), k_journal_new_name));
    return fail(Errc::interrupted, "before the commit point");
  }
  NB_TRY(pass_commit_point(state, options));
  Result<Journal> journal = Journal::open(state.set.control(), k_journal_name);
  if (!journal) return fail(Errc::in_doubt, journal.error().message());
  return apply_and_seal(state, *journal);
}

}  // namespace

Result<CommitOutcome> commit(TransactionState& state, const CommitOptions& options) {
  if (state.progress == Progress::poisoned) return fail(Errc::sync_failed, "the stage was given up");
  if (state.progress == Progress::ended) return fail(Errc::internal, "commit of an ended transaction");
  const Stage& stage = state.stage;
  if (stage.moves.count + stage.metadata.count + stage.ends.count == stage.idle_ends) {
    CommitOutcome unchanged;
    unchanged.generation = state.set.head().generation;
    return unchanged;
  }
  enter(options, CommitPhase::sync);
  Prepare checks(state);
  NB_TRY_ASSIGN(const Durability staged, prepare(state, checks));
  enter(options, CommitPhase::commit);
  NB_TRY_ASSIGN(CommitOutcome outcome, commit_prepared(state, options, checks));
  if (staged == Durability::unsure) outcome.durable = false;
  enter(options, CommitPhase::cleanup);
  return outcome;
}

}  // namespace nb::txn
