// SPDX-License-Identifier: Apache-2.0
// Emptying what no journal needs any more, one slot at a time.
#include "base/failpoint.hpp"
#include "fs/metadata.hpp"
#include "txn/journal.hpp"
#include "txn/kept_trees.hpp"
#include "txn/small_file.hpp"
#include "txn/stage.hpp"

namespace nb::txn {
namespace {

Status unless_gone(Status status) {
  if (!status && status.error().code == Errc::not_found) return {};
  return status;
}

// One level below the stage: new/ and old/ hold one entry a slot, and where generations were dropped a slot may itself be
// a directory that is closed to an ordinary user.
Status empty_slots(fs::Directory& stage, const std::string& name) {
  open_up(stage, name);
  NB_TRY_ASSIGN(const std::unique_ptr<fs::Directory> slots, stage.open_directory(name));
  NB_TRY_ASSIGN(const std::vector<fs::NamedType> entries, slots->list());
  for (const fs::NamedType& entry : entries) {
    NB_TRY(unless_gone(fs::remove_tree(*slots, entry.name)));
    NB_FAILPOINT("txn.cleanup.entry");
  }
  return unless_gone(stage.remove_directory(name));
}

}  // namespace

// A stage that is half removed must not pass for resume data: the log goes first, and the mark of a poisoned one last.
Status remove_stage(fs::Directory& stages, const std::string& name) {
  NB_TRY_ASSIGN(const std::unique_ptr<fs::Directory> stage, stages.open_directory(name));
  NB_TRY(remove_if_there(*stage, k_log_name));
  NB_TRY_ASSIGN(const std::vector<fs::NamedType> entries, stage->list());
  for (const fs::NamedType& entry : entries) {
    if (entry.name == k_poisoned_name) continue;
    if (entry.type == fs::FileType::directory) {
      NB_TRY(empty_slots(*stage, entry.name));
    } else {
      NB_TRY(remove_if_there(*stage, entry.name));
    }
  }
  NB_TRY(remove_if_there(*stage, k_poisoned_name));
  return unless_gone(stages.remove_directory(name));
}

Status remove_stages(fs::Directory& control, const Head& head) {
  NB_TRY(remove_if_there(control, k_journal_new_name));
  NB_TRY(remove_if_there(control, k_head_new_name));
  NB_TRY_ASSIGN(const std::unique_ptr<fs::Directory> stages, open_if_there(control, k_stages_name));
  if (!stages) return {};
  NB_TRY_ASSIGN(const std::vector<fs::NamedType> entries, stages->list());
  Status result;
  for (const fs::NamedType& entry : entries) {
    // One that cannot be removed now (an immutable file in it) must not keep the others. It loses its name: once head has
    // forgotten the transaction, what lies in it would pass for that of a commit whose journal is gone.
    Status removed =
        entry.type == fs::FileType::directory ? remove_stage(*stages, entry.name) : stages->remove_file(entry.name);
    if (!removed && is_committed(head, entry.name)) {
      static_cast<void>(stages->rename(entry.name, *stages, entry.name + ".rest", fs::RenameMode::no_replace));
    }
    if (result && !removed) result = std::move(removed);
  }
  NB_FAILPOINT("txn.cleanup.done");
  return result;
}

}  // namespace nb::txn
