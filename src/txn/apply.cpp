// SPDX-License-Identifier: Apache-2.0
#include "txn/apply.hpp"

#include "base/failpoint.hpp"
#include "txn/sync.hpp"

namespace nb::txn {
namespace {

using Walk = Journal::Walk;

// Hard links to everything that will be replaced, made durable before the first name changes: a power cut may keep a
// later rename without an earlier link, and the old file would be gone beyond rollback.
Status link_all(const Journal& journal, ApplyContext& context) {
  const auto step = [&](const JournalOp& op) -> Result<Walk> {
    if (const auto* opener = std::get_if<OpenUp>(&op); opener != nullptr && opens(*opener)) {
      NB_TRY(redo_op(*opener, context));
    }
    if (const auto* place = std::get_if<Place>(&op)) NB_TRY(link_replaced(*place, context));
    return std::holds_alternative<SetMetadata>(op) ? Walk::stop : Walk::go_on;
  };
  NB_TRY(journal.for_each(step));
  return context.filed ? sync_history_places(context) : context.old.sync();
}

// The directories' own operations stand at the end, children before parents: backward, each parent is opened before
// its children. One that cannot be opened fails what needs it later, if anything does. Where an end sets no mode the
// directory has a closer, if it was ever opened.
Status open_all_up(const Journal& journal, ApplyContext& context) {
  return journal.for_each_backward([&](const JournalOp& op) -> Result<Walk> {
    if (const auto* closer = std::get_if<OpenUp>(&op)) {
      static_cast<void>(open_directory_up(closer->path, closer->directory, context));
    } else if (const auto* end = std::get_if<SetMetadata>(&op)) {
      const bool is_end = end->target.type == fs::FileType::directory && !is_time_only(end->before, end->after);
      if (!is_end) return Walk::go_on;
      static_cast<void>(open_directory_up(end->path, end->target, context));
    } else {
      return Walk::stop;
    }
    return Walk::go_on;
  });
}

}  // namespace

Status redo(const Journal& journal, ApplyContext& context, Attempt attempt) {
  if (attempt == Attempt::again) NB_TRY(open_all_up(journal, context));
  NB_FAILPOINT("txn.apply.opened");
  NB_TRY(link_all(journal, context));
  NB_FAILPOINT("txn.apply.linked");
  const auto step = [&](const JournalOp& op) -> Result<Walk> {
    NB_FAILPOINT("txn.apply.op");
    NB_TRY(std::visit([&](const auto& each) { return redo_op(each, context); }, op));
    return Walk::go_on;
  };
  NB_TRY(journal.for_each(step));
  return failpoint("txn.apply.done");
}

Status undo(const Journal& journal, ApplyContext& context) {
  NB_TRY(open_all_up(journal, context));
  NB_FAILPOINT("txn.undo.opened");
  const auto move_back = [&](const JournalOp& op) -> Result<Walk> {
    NB_FAILPOINT("txn.undo.op");
    if (const auto* place = std::get_if<Place>(&op)) NB_TRY(undo_op(*place, context));
    if (const auto* remove = std::get_if<Remove>(&op)) NB_TRY(undo_op(*remove, context));
    return Walk::go_on;
  };
  NB_TRY(journal.for_each_backward(move_back));
  NB_FAILPOINT("txn.undo.moved");
  const auto set_back = [&](const JournalOp& op) -> Result<Walk> {
    NB_FAILPOINT("txn.undo.metadata");
    if (const auto* metadata = std::get_if<SetMetadata>(&op)) NB_TRY(undo_op(*metadata, context));
    // What closes a directory gives it its old mode, which is what undoing needs too.
    if (const auto* closer = std::get_if<OpenUp>(&op); closer != nullptr && !opens(*closer)) {
      NB_TRY(redo_op(*closer, context));
    }
    return Walk::go_on;
  };
  NB_TRY(journal.for_each(set_back));
  return failpoint("txn.undo.done");
}

}  // namespace nb::txn
