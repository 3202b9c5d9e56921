// SPDX-License-Identifier: Apache-2.0
// Stage: the directory .nbackup/tx/<id> of one transaction, made anew or taken over from a run that did not commit.
#pragma once

#include <memory>

#include "txn/file_set.hpp"
#include "txn/record_file.hpp"
#include "txn/stage_log.hpp"

namespace nb::txn {

inline constexpr std::string_view k_stages_name = "tx";
inline constexpr std::string_view k_head_new_name = "head.new";
inline constexpr std::string_view k_reserve_name = "reserve";
inline constexpr std::string_view k_poisoned_name = "poisoned";
inline constexpr std::string_view k_old_name = "old";

// A transaction's name. Anything else under tx/ was set aside.
bool is_stage_name(std::string_view name);
// Whether `head` names that transaction.
bool is_committed(const Head& head, std::string_view name);

// A directory of a staged tree that prepare closes (spool `closing`).
struct StagedDirectory {
  std::uint64_t slot = 0;
  RelPath below_slot;
  std::uint32_t mode = 0;
  fs::Timestamp mtime;
};
Bytes encode(const StagedDirectory& record);
Result<StagedDirectory> decode_staged_directory(ByteView data);

// Where the stage of a journal is, for apply and recovery.
struct StageDirectories {
  std::unique_ptr<fs::Directory> top;    // tx/<id>
  std::unique_ptr<fs::Directory> fresh;  // new
  std::unique_ptr<fs::Directory> old;
  static Result<StageDirectories> open(fs::Directory& control, const TxId& id);
};

// A temporary list of records beside the stage; begins empty in each run.
struct Spool {
  std::unique_ptr<RecordWriter> writer;
  std::uint64_t count = 0;
  static Result<Spool> create(fs::Directory& stage, std::string_view name);
  Status append(ByteView record);
  // All that was appended so far.
  Result<RecordCursor> read();
};

struct Stage {
  StageDirectories directories;
  std::unique_ptr<StageLog> log;
  std::uint64_t next_slot = 1;
  bool adopted = false;         // holds what an earlier run has staged
  Spool openers;                // OpenUp
  Spool moves;                  // Place, Remove
  Spool metadata;               // SetMetadata of anything but directories
  Spool ends;                   // SetMetadata of directories, parents before children
  std::uint64_t idle_ends = 0;  // those of them that only set again what was there
  Spool closing;                // StagedDirectory
  Spool taken;                  // records of the session's, for Transaction::add_taken

  // Adopts what the newest uncommitted run left, unless it is poisoned; makes an empty stage if there is none.
  static Result<Stage> open(FileSet& set, const TxId& id);
};

// First of all after a failed sync: the stage must never be used again. An error if nothing keeps a later run from it,
// which then has only its own sync of what it adopts (sync_stage).
Status poison(FileSet& set, const TxId& id, fs::Directory& stage);
// Removes tx/<name> and everything in it, little by little.
Status remove_stage(fs::Directory& stages, const std::string& name);
// Removes everything under tx/ and what a crash left of temporary files. The caller has made sure that no journal
// needs it. What cannot be removed stays; the stage of a transaction in `head` loses its name for it.
Status remove_stages(fs::Directory& control, const Head& head);

}  // namespace nb::txn
