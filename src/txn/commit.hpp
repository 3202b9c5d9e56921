// SPDX-License-Identifier: Apache-2.0
// The steps of a commit behind its commit point, shared by commit() and recover(). docs/formats.md has the state
// machine.
#pragma once

#include "txn/prepare.hpp"
#include "txn/sync.hpp"
#include "txn/transaction.hpp"

namespace nb::txn {

// Everything a Transaction owns.
struct TransactionState {
  enum class Progress : std::uint8_t { staging, poisoned, ended };
  FileSet& set;
  Clock& clock;
  TxId id{};
  std::unique_ptr<fs::Directory> device;  // for syncfs: opened before the first write
  Stage stage;
  Progress progress = Progress::staging;
  std::optional<std::uint64_t> made = {};  // the generation that it has become
  // False where a file may have another inode number tomorrow (FAT, FUSE, NFS): the journal says none then.
  bool numbers_last = true;
};

Result<CommitOutcome> commit(TransactionState& state, const CommitOptions& options);

// The journal from the stage's spools, fsynced under its temporary name.
Status write_journal(TransactionState& state, const JournalHeader& header, const Closers& closers);

// Brings the live tree to the new generation, and what it replaced to history where the journal says so.
Status redo_and_file(FileSet& set, const Journal& journal, ApplyContext& context, Attempt attempt);

// Syncs what was applied and makes `head` name the journal's transaction. After this the commit is done.
Result<Durability> seal(FileSet& set, fs::Directory& device, const Journal& journal, ApplyContext& context);
Status drop_journal(FileSet& set, std::string_view name);

// Undoes `journal`, which stands under its redo name: first the decision is made durable, so that a crash on the way
// can only lead on backwards.
Status roll_back(FileSet& set, fs::Directory& device, const Journal& journal, ApplyContext& context);
// The same from the decision on.
Status finish_undo(FileSet& set, fs::Directory& device, const Journal& journal, ApplyContext& context);

}  // namespace nb::txn
