// SPDX-License-Identifier: Apache-2.0
#include "txn/transaction.hpp"

#include "base/assert.hpp"
#include "base/failpoint.hpp"
#include "txn/arrivals.hpp"
#include "txn/commit.hpp"
#include "txn/damage.hpp"
#include "txn/history_check.hpp"
#include "txn/small_file.hpp"
#include "txn/space.hpp"

namespace nb::txn {

struct Transaction::State : TransactionState {
  std::vector<RelPath> recovered_conflicts;
};

Transaction::Transaction(std::unique_ptr<State> state) : m_state(std::move(state)) {}

Transaction::~Transaction() {
  // An orderly end loses nothing of the resume data; if this fails it is as after a crash.
  if (m_state->progress == TransactionState::Progress::staging) static_cast<void>(m_state->stage.log->flush());
}

namespace {

// What interrupted runs have staged may be just what fills the disk: it goes, or no later run would ever succeed.
Result<Stage> open_stage(FileSet& set, const TxId& id) {
  NB_TRY_ASSIGN(const fs::Space space, set.control().space());
  if (!has_room(space)) NB_TRY(remove_stages(set.control(), set.head()));
  return Stage::open(set, id);
}

}  // namespace

Result<std::unique_ptr<Transaction>> Transaction::begin(FileSet& set, const WriterLock& lock, const TxId& id,
                                                        Clock& clock, const GoOn& go_on) {
  NB_TRY_ASSIGN(RecoveryReport recovered, recover(set, lock, clock, go_on));
  NB_TRY(check_live_account(set));
  note_past(set);
  NB_TRY_ASSIGN(std::unique_ptr<fs::Directory> device, set.control().reopen());
  NB_TRY_ASSIGN(Stage stage, open_stage(set, id));
  const bool numbers_last = knows_inodes(set.control());
  std::unique_ptr<State> state(
      new State{{set, clock, id, std::move(device), std::move(stage)}, std::move(recovered.conflicts)});
  state->numbers_last = numbers_last;
  return std::unique_ptr<Transaction>(new Transaction(std::move(state)));
}

const TxId& Transaction::id() const { return m_state->id; }
const std::vector<RelPath>& Transaction::recovered_conflicts() const { return m_state->recovered_conflicts; }
fs::Directory& Transaction::slots() { return *m_state->stage.directories.fresh; }
std::uint64_t Transaction::next_slot() { return m_state->stage.next_slot++; }
std::string Transaction::slot_name(std::uint64_t slot) { return std::to_string(slot); }

Result<std::optional<StagedRecord>> Transaction::find_staged(const RelPath& path) {
  NB_TRY_ASSIGN(std::vector<StagedRecord> newest, m_state->stage.log->find(path, 1));
  return newest.empty() ? std::optional<StagedRecord>() : std::optional(std::move(newest.front()));
}

Result<std::vector<StagedRecord>> Transaction::find_all_staged(const RelPath& path) {
  return m_state->stage.log->find(path, SIZE_MAX);
}

bool Transaction::has_resume_data() const { return !m_state->stage.log->empty(); }

Status Transaction::log_staged(const StagedRecord& record) {
  NB_TRY(m_state->stage.log->append(record));
  return failpoint("txn.stage.logged");
}

Status Transaction::flush_log() { return m_state->stage.log->flush(); }

Status Transaction::finish_staged_directory(std::uint64_t slot, const RelPath& below_slot, std::uint32_t mode,
                                            fs::Timestamp mtime) {
  return m_state->stage.closing.append(encode(StagedDirectory{slot, below_slot, mode & 07777U, mtime}));
}

namespace {

void forget_number(OpenUp& op) { op.directory.inode = 0; }
void forget_number(Remove& op) { op.removed.inode = 0; }
void forget_number(SetMetadata& op) { op.target.inode = 0; }
void forget_number(Place& op) {
  op.staged.inode = 0;
  if (op.replaced) op.replaced->inode = 0;
}

}  // namespace

Status Transaction::add(const JournalOp& op) {
  Stage& stage = m_state->stage;
  if (const auto* metadata = std::get_if<SetMetadata>(&op)) {
    // A directory's metadata may bar the way to what is below it, and change with it: always last.
    if (metadata->target.type == fs::FileType::directory) return add_end(*metadata);
  }
  JournalOp adjusted = op;
  if (!m_state->numbers_last) std::visit([](auto& each) { forget_number(each); }, adjusted);
  if (auto* opener = std::get_if<OpenUp>(&adjusted)) {
    if ((opener->old_mode & 0700U) == 0700U) return {};
    opener->new_mode |= 0700U;
  }
  const Bytes encoded = encode(adjusted);
  // What cannot be read back must be found here, not after the commit point.
  NB_TRY(decode_journal_op(encoded));
  if (std::holds_alternative<OpenUp>(adjusted)) return stage.openers.append(encoded);
  if (std::holds_alternative<SetMetadata>(adjusted)) return stage.metadata.append(encoded);
  return stage.moves.append(encoded);
}

Status Transaction::add_end(const SetMetadata& op, bool has_news) {
  SetMetadata adjusted = op;
  if (!m_state->numbers_last) forget_number(adjusted);
  const Bytes encoded = encode(JournalOp(adjusted));
  NB_TRY(decode_journal_op(encoded));
  if (op.before == op.after && !has_news) ++m_state->stage.idle_ends;
  return m_state->stage.ends.append(encoded);
}

namespace {

Status for_each(Spool& spool, const std::function<Status(ByteView)>& visit) {
  NB_TRY_ASSIGN(RecordCursor cursor, spool.read());
  while (true) {
    NB_TRY_ASSIGN(const std::optional<ByteView> record, cursor.next());
    if (!record) return {};
    NB_TRY(visit(*record));
  }
}

}  // namespace

Status Transaction::for_each_move(const std::function<Status(const JournalOp&)>& visit) {
  return for_each(m_state->stage.moves, [&visit](ByteView record) -> Status {
    NB_TRY_ASSIGN(const JournalOp op, decode_journal_op(record));
    return visit(op);
  });
}

fs::Directory& Transaction::trash() { return *m_state->stage.directories.old; }

Status Transaction::add_taken(ByteView record) { return m_state->stage.taken.append(record); }

Status Transaction::for_each_taken(const std::function<Status(ByteView)>& visit) {
  return for_each(m_state->stage.taken, visit);
}

Result<CommitOutcome> Transaction::commit(const CommitOptions& options) { return txn::commit(*m_state, options); }

Status Transaction::clean_up() {
  FileSet& set = m_state->set;
  NB_TRY_ASSIGN(const bool interrupted, set.needs_recovery());
  // The journal still needs what is in the stage.
  if (interrupted) return fail(Errc::recovery_failed, "a commit is not finished");
  m_state->progress = TransactionState::Progress::ended;
  // A hint for scrubs; without it they read and believe.
  if (m_state->made && set.format().lifetime == Lifetime::permanent) {
    static_cast<void>(keep_arrivals(set.control(), *m_state->stage.directories.top, *m_state->made));
  }
  // FUSE and NFS keep the name of a file that is open, and its directory with it.
  m_state->stage = Stage{};
  NB_TRY(remove_stages(set.control(), set.head()));
  if (set.format().lifetime == Lifetime::permanent) return {};
  const Status removed = set.remove_control();
  // What somebody else put in the way is kept for them.
  return !removed && removed.error().code == Errc::foreign_edit ? Status() : removed;
}

}  // namespace nb::txn
