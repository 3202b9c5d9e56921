// SPDX-License-Identifier: Apache-2.0
#include "txn/stage.hpp"

#include <algorithm>
#include <array>

#include "base/failpoint.hpp"
#include "base/text.hpp"
#include "txn/live_tree.hpp"
#include "txn/small_file.hpp"

namespace nb::txn {
namespace {

constexpr std::string_view k_new_name = "new";
constexpr std::string_view k_openers_name = "openers";
constexpr std::string_view k_moves_name = "moves";
constexpr std::string_view k_metadata_name = "metadata";
constexpr std::string_view k_ends_name = "ends";
constexpr std::string_view k_closing_name = "closing";
constexpr std::string_view k_taken_name = "taken";

// A stage that may be adopted: of a run that did not commit, not poisoned, with nothing in old/.
Result<bool> is_usable(const Head& head, const fs::Directory& stages, const std::string& name) {
  if (!is_stage_name(name) || is_committed(head, name)) return false;
  NB_TRY_ASSIGN(const std::unique_ptr<fs::Directory> stage, stages.open_directory(name));
  NB_TRY_ASSIGN(const std::optional<fs::Stat> poisoned, find_name(*stage, k_poisoned_name));
  if (poisoned) return false;
  const Result<std::unique_ptr<fs::Directory>> old = stage->open_directory(k_old_name);
  if (!old) return old.error().code == Errc::not_found;
  NB_TRY_ASSIGN(const std::vector<fs::NamedType> trash, (*old)->list());
  return trash.empty();
}

Result<std::string> find_adoptable(const Head& head, const fs::Directory& stages) {
  NB_TRY_ASSIGN(const std::vector<fs::NamedType> entries, stages.list());
  std::string newest;
  fs::Timestamp newest_time;
  for (const fs::NamedType& entry : entries) {
    if (entry.type != fs::FileType::directory) continue;
    NB_TRY_ASSIGN(const bool usable, is_usable(head, stages, entry.name));
    if (!usable) continue;
    NB_TRY_ASSIGN(const fs::Stat stat, stages.stat_at(entry.name));
    if (!newest.empty() && stat.mtime < newest_time) continue;
    newest = entry.name;
    newest_time = stat.mtime;
  }
  return newest;
}

// Prepare may have given directories of staged trees their final modes; they are worked on again now.
Status reopen_directories(fs::Directory& stage) {
  NB_TRY_ASSIGN(const std::optional<fs::Stat> there, find_name(stage, k_closing_name));
  if (!there) return {};
  NB_TRY_ASSIGN(const std::unique_ptr<fs::Directory> fresh, stage.open_directory(k_new_name));
  NB_TRY_ASSIGN(const std::unique_ptr<fs::File> file, stage.open_file(k_closing_name, fs::OpenMode::read));
  RecordCursor cursor(*file, 0, there->size);
  while (true) {
    const Result<std::optional<ByteView>> record = cursor.next();
    // Torn by a crash: then prepare had not begun.
    if (!record || !*record) return {};
    const Result<StagedDirectory> closed = decode_staged_directory(**record);
    if (!closed) return {};
    LiveTree tree(*fresh);
    const Result<RelPath> top = RelPath::parse(std::to_string(closed->slot), Errc::bad_set);
    if (!top) return {};
    const RelPath path = top->join(closed->below_slot);
    NB_TRY_ASSIGN(const std::optional<fs::Stat> found, tree.find(path));
    if (!found || found->type != fs::FileType::directory || (found->mode & 0700U) == 0700U) continue;
    NB_TRY_ASSIGN(const std::unique_ptr<fs::Node> node, tree.open_node(path));
    NB_TRY(node->set_mode(found->mode | 0700U));
  }
}

Status adopt(fs::Directory& stages, const std::string& from, const std::string& to) {
  NB_TRY_ASSIGN(const std::unique_ptr<fs::Directory> stage, stages.open_directory(from));
  const Status reopened = reopen_directories(*stage);
  // What cannot be opened cannot be used, but it can be left: the caller finds out file by file.
  if (!reopened && reopened.error().code != Errc::not_permitted && reopened.error().code != Errc::not_found) {
    return reopened;
  }
  for (const std::string_view spool :
       {k_openers_name, k_moves_name, k_metadata_name, k_ends_name, k_closing_name, k_taken_name}) {
    NB_TRY(remove_if_there(*stage, spool));
  }
  NB_TRY(remove_if_there(*stage, k_reserve_name));
  if (from == to) return {};
  NB_TRY(stages.rename(from, stages, to, fs::RenameMode::no_replace));
  return failpoint("txn.begin.adopted");
}

// The stage of this very run whose sync failed, where the connection broke with it and was made again. Under a name that
// is no id it is swept up with the others.
Status give_name_up(fs::Directory& stages, const std::string& name) {
  NB_TRY_ASSIGN(const std::optional<fs::Stat> there, find_name(stages, name));
  if (!there) return {};
  const std::string aside = name + ".poisoned";
  NB_TRY_ASSIGN(const std::optional<fs::Stat> earlier, find_name(stages, aside));
  if (earlier) NB_TRY(remove_stage(stages, aside));
  return stages.rename(name, stages, aside, fs::RenameMode::no_replace);
}

Result<std::uint64_t> highest_slot(const fs::Directory& fresh) {
  std::uint64_t highest = 0;
  NB_TRY_ASSIGN(const std::vector<fs::NamedType> entries, fresh.list());
  for (const fs::NamedType& entry : entries) highest = std::max(highest, parse_u64(entry.name).value_or(0));
  return highest;
}

Status open_spools(Stage& stage) {
  fs::Directory& top = *stage.directories.top;
  NB_TRY_ASSIGN(stage.openers, Spool::create(top, k_openers_name));
  NB_TRY_ASSIGN(stage.moves, Spool::create(top, k_moves_name));
  NB_TRY_ASSIGN(stage.metadata, Spool::create(top, k_metadata_name));
  NB_TRY_ASSIGN(stage.ends, Spool::create(top, k_ends_name));
  NB_TRY_ASSIGN(stage.closing, Spool::create(top, k_closing_name));
  NB_TRY_ASSIGN(stage.taken, Spool::create(top, k_taken_name));
  return {};
}

}  // namespace

bool is_committed(const Head& head, std::string_view name) {
  return std::any_of(head.recent.begin(), head.recent.end(), [&](const TxId& id) { return id_text(id) == name; });
}

bool is_stage_name(std::string_view name) {
  return name.size() == 2 * sizeof(TxId) && name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Bytes encode(const StagedDirectory& record) {
  Bytes bytes;
  ByteWriter out(bytes);
  out.varint(record.slot);
  out.string(record.below_slot.str());
  out.varint(record.mode);
  out.svarint(record.mtime.sec);
  out.varint(record.mtime.nsec);
  return bytes;
}

Result<StagedDirectory> decode_staged_directory(ByteView data) {
  ByteReader in(data, Errc::bad_set, "staged directory");
  StagedDirectory record;
  NB_TRY_ASSIGN(record.slot, in.varint());
  NB_TRY_ASSIGN(const std::string path, in.string(k_max_path_bytes));
  NB_TRY_ASSIGN(record.below_slot, RelPath::parse(path, Errc::bad_set));
  NB_TRY_ASSIGN(const std::uint64_t mode, in.varint(07777));
  record.mode = static_cast<std::uint32_t>(mode);
  NB_TRY_ASSIGN(record.mtime.sec, in.svarint());
  NB_TRY_ASSIGN(const std::uint64_t nsec, in.varint(999'999'999));
  record.mtime.nsec = static_cast<std::uint32_t>(nsec);
  return record;
}

Result<StageDirectories> StageDirectories::open(fs::Directory& control, const TxId& id) {
  StageDirectories all;
  NB_TRY_ASSIGN(const std::unique_ptr<fs::Directory> stages, control.open_directory(k_stages_name));
  NB_TRY_ASSIGN(all.top, stages->open_directory(id_text(id)));
  NB_TRY_ASSIGN(all.fresh, open_or_create_directory(*all.top, k_new_name));
  NB_TRY_ASSIGN(all.old, open_or_create_directory(*all.top, k_old_name));
  return all;
}

Result<Spool> Spool::create(fs::Directory& stage, std::string_view name) {
  NB_TRY_ASSIGN(std::unique_ptr<fs::File> file, stage.create_file(name));
  Spool spool;
  spool.writer = std::make_unique<RecordWriter>(std::move(file), 0);
  return spool;
}

Status Spool::append(ByteView record) {
  NB_TRY(writer->append(record));
  ++count;
  return {};
}

Result<RecordCursor> Spool::read() {
  NB_TRY(writer->flush());
  return RecordCursor(writer->file(), 0, writer->written());
}

Result<Stage> Stage::open(FileSet& set, const TxId& id) {
  const std::string name = id_text(id);
  if (is_committed(set.head(), name)) return fail(Errc::exists, "transaction " + name + " is committed");
  NB_TRY_ASSIGN(const std::unique_ptr<fs::Directory> stages, open_or_create_directory(set.control(), k_stages_name));
  NB_TRY_ASSIGN(const std::string found, find_adoptable(set.head(), *stages));
  if (found != name) NB_TRY(give_name_up(*stages, name));
  if (!found.empty()) NB_TRY(adopt(*stages, found, name));
  if (found.empty()) {
    NB_TRY(stages->create_directory(name));
    NB_FAILPOINT("txn.begin.created");
  }
  Stage stage;
  NB_TRY_ASSIGN(stage.directories, StageDirectories::open(set.control(), id));
  NB_TRY_ASSIGN(StageLog log, StageLog::open(*stage.directories.top));
  stage.log = std::make_unique<StageLog>(std::move(log));
  stage.adopted = !found.empty();
  NB_TRY_ASSIGN(const std::uint64_t highest, highest_slot(*stage.directories.fresh));
  stage.next_slot = std::max(highest, stage.log->highest_slot()) + 1;
  NB_TRY(open_spools(stage));
  NB_FAILPOINT("txn.begin.opened");
  return stage;
}

Status poison(FileSet& set, const TxId& id, fs::Directory& stage) {
  // The disk that failed the sync may well be full or failing, so a file that is there already becomes the mark.
  Status marked = stage.rename(k_reserve_name, stage, k_poisoned_name, fs::RenameMode::replace);
  if (!marked) {
    const auto made = stage.create_file(k_poisoned_name);
    marked = made || made.error().code == Errc::exists ? Status() : tl::make_unexpected(made.error());
  }
  if (marked) return stage.sync();
  // Without its log a stage is empty for whoever adopts it; under another name nobody does.
  const Status forgotten = stage.remove_file(k_log_name);
  NB_TRY_ASSIGN(const std::unique_ptr<fs::Directory> stages, set.control().open_directory(k_stages_name));
  const std::string name = id_text(id);
  const Status renamed = stages->rename(name, *stages, name + ".poisoned", fs::RenameMode::no_replace);
  return forgotten || renamed ? Status() : marked;
}

}  // namespace nb::txn
