// SPDX-License-Identifier: Apache-2.0
// Transaction: one run's change to a file set, from an empty stage to a new generation. Until commit() passes its
// commit point the set is the old generation, whatever happens; from then on it is the new one, by redoing the journal.
//
// Layout, all on the set's own mount: .nbackup/tx/<id>/new/<slot> what comes in, old/<slot> what goes out, log the
// resume data; openers, moves, metadata and ends the journal in the making, closing the final modes of staged
// directories, taken the files whose content the set has already. Slot numbers are never used twice within a stage, not
// even by a later run that adopts it.
//
// Used by one thread (the sink's).
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "base/clock.hpp"
#include "txn/file_set.hpp"
#include "txn/lock.hpp"

namespace nb::txn {

enum class CommitPhase : std::uint8_t { sync, commit, cleanup };

struct CommitOptions {
  std::chrono::seconds wait_readers{60};
  GoOn go_on;                                 // asked while readers are waited for and right before the commit point
  std::function<void(CommitPhase)> on_phase;  // may be empty
  std::function<void()> on_commit_point;      // called right before it: from here the process must not give up
  // What is replaced and removed goes to history (permanent sets). Without it, it does so too where earlier generations
  // are kept, which nothing could be restored from otherwise; the caller may then drop the generation before.
  bool keep_history = true;
  RunAccount account;
};

struct CommitOutcome {
  bool changed = false;  // false: there was nothing to do, no generation was made
  std::uint64_t generation = 0;
  std::vector<RelPath> conflicts;  // foreign edits: in .nbackup/conflict/<id>/ now, or left in place
  bool durable = true;             // false where the file system cannot promise it
  bool kept_history = false;       // trash() has nothing: it is in history/<generation>
};

class Transaction {
 public:
  // Finishes or undoes an interrupted commit first (recover), then opens a stage. What an earlier run of this set left
  // staged is adopted as resume data unless it is marked poisoned, or the disk is so full that nothing could be added.
  // Leftover trash is set aside, not emptied now.
  static Result<std::unique_ptr<Transaction>> begin(FileSet& set, const WriterLock& lock, const TxId& id, Clock& clock,
                                                    const GoOn& go_on = {});
  // Leaves the stage on disk, as resume data.
  ~Transaction();

  [[nodiscard]] const TxId& id() const;

  // --- Stage -------------------------------------------------------------------------------------------------------
  [[nodiscard]] fs::Directory& slots();  // new/: the caller creates files and directories in it
  [[nodiscard]] std::uint64_t next_slot();
  [[nodiscard]] static std::string slot_name(std::uint64_t slot);

  // What begin() found in the way of the commit that it finished: foreign edits, kept in .nbackup/conflict.
  [[nodiscard]] const std::vector<RelPath>& recovered_conflicts() const;

  // Resume data: the newest record for `path` from earlier runs, as logged; the caller checks it before use.
  [[nodiscard]] Result<std::optional<StagedRecord>> find_staged(const RelPath& path);
  // The same of all of them, the newest first.
  [[nodiscard]] Result<std::vector<StagedRecord>> find_all_staged(const RelPath& path);
  [[nodiscard]] bool has_resume_data() const;
  // Tells the log that `record` is complete. Written in batches: a crash loses at most the last 64 KiB of records.
  Status log_staged(const StagedRecord& record);
  Status flush_log();

  // A directory inside a staged tree, with mode u+rwx until prepare sets these, deepest first. Called parent before child.
  Status finish_staged_directory(std::uint64_t slot, const RelPath& below_slot, std::uint32_t mode,
                                 fs::Timestamp mtime);

  // --- Journal -----------------------------------------------------------------------------------------------------
  // Operations on disjoint paths, except that add_end() may name what add() touches. OpenUps are applied first, then
  // the others in order, then the ends in reverse order: call add_end() parent before child. One that changes nothing
  // sets again what the others disturb; alone with openers it makes no generation. Where only the time is to change, its
  // place in the order does not matter, and the rest is left as somebody else may have made it.
  Status add(const JournalOp& op);
  // `has_news`: it makes a generation though it sets what was there, as where this file system cannot hold what is new.
  Status add_end(const SetMetadata& op, bool has_news = false);

  // The Place and Remove operations added so far, in order; nothing may be added meanwhile.
  Status for_each_move(const std::function<Status(const JournalOp&)>& visit);
  // old/: after commit() what it replaced and removed, under the slots of these operations, until clean_up().
  [[nodiscard]] fs::Directory& trash();

  // A list of the caller's own records, kept beside the stage: it may be long. It ends with the run.
  Status add_taken(ByteView record);
  Status for_each_taken(const std::function<Status(ByteView)>& visit);

  // --- End ---------------------------------------------------------------------------------------------------------
  // Prepare, commit point, apply, finish (docs/formats.md). Errors before the commit point leave the old generation and
  // the stage; Errc::in_doubt, Errc::rolled_back and Errc::recovery_failed say what happened after it.
  Result<CommitOutcome> commit(const CommitOptions& options);
  // Empties trash and stage, little by little; for an ephemeral set removes the control directory. After commit(), or
  // instead of it to drop the stage.
  Status clean_up();

 private:
  struct State;
  explicit Transaction(std::unique_ptr<State> state);
  std::unique_ptr<State> m_state;
};

// --- Recovery --------------------------------------------------------------------------------------------------------
enum class RecoveryAction : std::uint8_t { nothing, completed, rolled_back, journal_removed, thinned };

struct RecoveryReport {
  RecoveryAction action = RecoveryAction::nothing;
  std::uint64_t generation = 0;
  std::vector<RelPath> conflicts;
};

// Finishes an interrupted commit, or undoes it if it cannot be completed; finishes an interrupted dropping of
// generations (`thinned`, unless there was a commit as well). Idempotent; safe to interrupt.
// Errc::recovery_failed if neither works: the journal stays. Only its wait for readers, before it changes anything, can
// be ended by `go_on`.
Result<RecoveryReport> recover(FileSet& set, const WriterLock& lock, Clock& clock, const GoOn& go_on = {});

}  // namespace nb::txn
