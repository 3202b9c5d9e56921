// SPDX-License-Identifier: Apache-2.0
// Journal writing, sealing and rolling back.
#include "base/failpoint.hpp"
#include "txn/commit.hpp"
#include "txn/file_history.hpp"
#include "txn/set_files.hpp"
#include "txn/small_file.hpp"

namespace nb::txn {
namespace {

Status copy(Spool& spool, JournalWriter& journal) {
  NB_TRY_ASSIGN(RecordCursor cursor, spool.read());
  while (true) {
    NB_TRY_ASSIGN(const std::optional<ByteView> record, cursor.next());
    if (!record) return {};
    NB_TRY(journal.append(*record));
  }
}

// Merges the ends, children before parents, with the closers of directories that have none: each of these comes after
// everything below it and before its own parents, or it would bar the way.
class EndsWriter {
 public:
  EndsWriter(JournalWriter& journal, Closers closers) : m_journal(journal), m_closers(std::move(closers)) {}

  Status write(Spool& ends) {
    NB_TRY_ASSIGN(RecordCursor cursor, ends.read());
    cursor.to_end();
    while (true) {
      NB_TRY_ASSIGN(const std::optional<ByteView> record, cursor.previous());
      if (!record) break;
      NB_TRY_ASSIGN(const JournalOp op, decode_journal_op(*record));
      NB_TRY(before(std::get<SetMetadata>(op)));
      NB_TRY(m_journal.append(*record));
    }
    return emit(m_closers.begin(), m_closers.end());
  }

 private:
  Status before(const SetMetadata& end) {
    const std::string& path = end.path.str();
    if (end.path.is_root()) {
      NB_TRY(emit(m_closers.upper_bound(path), m_closers.end()));
    } else {
      // Everything that begins with "path/": '0' is the byte after '/'.
      NB_TRY(emit(m_closers.lower_bound(path + "/"), m_closers.lower_bound(path + "0")));
    }
    if (is_time_only(end.before, end.after)) return {};
    // An end for the very directory does what its closer would do.
    const auto [first, last] = m_closers.equal_range(path);
    for (auto it = first; it != last;) {
      it = it->second.directory.inode == end.target.inode ? m_closers.erase(it) : std::next(it);
    }
    return {};
  }

  // Backwards: what is below sorts after.
  Status emit(Closers::iterator first, Closers::iterator last) {
    for (auto it = last; it != first;) {
      --it;
      NB_TRY(m_journal.append(encode(JournalOp(it->second))));
    }
    m_closers.erase(first, last);
    return {};
  }

  JournalWriter& m_journal;
  Closers m_closers;
};

Head next_head(const Head& head, const JournalHeader& header) {
  Head next;
  next.generation = header.generation;
  next.transaction = header.transaction;
  next.time_ns = header.time_ns;
  next.recent.push_back(header.transaction);
  for (const TxId& id : head.recent) {
    if (next.recent.size() < k_max_recent) next.recent.push_back(id);
  }
  return next;
}

}  // namespace

Status write_journal(TransactionState& state, const JournalHeader& header, const Closers& closers) {
  NB_TRY_ASSIGN(JournalWriter journal, JournalWriter::create(state.set.control(), header));
  NB_TRY(copy(state.stage.openers, journal));
  NB_TRY(copy(state.stage.moves, journal));
  NB_TRY(copy(state.stage.metadata, journal));
  NB_TRY(EndsWriter(journal, closers).write(state.stage.ends));
  NB_FAILPOINT("txn.commit.journal_written");
  return journal.finish();
}

Status redo_and_file(FileSet& set, const Journal& journal, ApplyContext& context, Attempt attempt) {
  if (!journal.header().keeps_history) return redo(journal, context, attempt);
  if (attempt == Attempt::again) NB_TRY(take_history_back(set, journal, context));
  NB_TRY(make_history_places(set, journal, context));
  NB_TRY(redo(journal, context, attempt));
  return file_history(set, journal, context);
}

Result<Durability> seal(FileSet& set, fs::Directory& device, const Journal& journal, ApplyContext& context) {
  NB_TRY_ASSIGN(const Durability durability, sync_applied(device, journal, context));
  NB_FAILPOINT("txn.finish.synced");
  fs::Directory& control = set.control();
  NB_TRY(remove_if_there(control, k_head_new_name));
  NB_TRY(write_new_file(control, k_head_new_name, encode(next_head(set.head(), journal.header()))));
  NB_FAILPOINT("txn.finish.head_written");
  NB_TRY(control.rename(k_head_new_name, control, k_head_name, fs::RenameMode::replace));
  NB_FAILPOINT("txn.finish.head_renamed");
  NB_TRY(control.sync());
  NB_FAILPOINT("txn.finish.head");
  NB_TRY(set.reload());
  return durability;
}

Status drop_journal(FileSet& set, std::string_view name) {
  NB_TRY(remove_if_there(set.control(), name));
  NB_TRY(set.control().sync());
  return failpoint("txn.finish.journal_removed");
}

Status roll_back(FileSet& set, fs::Directory& device, const Journal& journal, ApplyContext& context) {
  fs::Directory& control = set.control();
  NB_TRY(control.rename(k_journal_name, control, k_journal_undo_name, fs::RenameMode::no_replace));
  NB_FAILPOINT("txn.undo.renamed");
  NB_TRY(control.sync());
  NB_FAILPOINT("txn.undo.decided");
  return finish_undo(set, device, journal, context);
}

// The renaming may have been cut off with both names there (fs::Directory::rename).
static Status drop_redo_name(fs::Directory& control) {
  NB_TRY_ASSIGN(const std::optional<fs::Stat> there, find_name(control, k_journal_name));
  if (!there) return {};
  NB_TRY(control.sync());
  return control.remove_file(k_journal_name);
}

Status finish_undo(FileSet& set, fs::Directory& device, const Journal& journal, ApplyContext& context) {
  NB_TRY(drop_redo_name(set.control()));
  if (journal.header().keeps_history) NB_TRY(take_history_back(set, journal, context));
  NB_TRY(undo(journal, context));
  NB_TRY(sync_applied(device, journal, context));
  NB_FAILPOINT("txn.undo.synced");
  return drop_journal(set, k_journal_undo_name);
}

}  // namespace nb::txn
