// SPDX-License-Identifier: Apache-2.0
#include "txn/file_history.hpp"

#include "base/failpoint.hpp"
#include "fs/metadata.hpp"
#include "txn/change_list.hpp"
#include "txn/history.hpp"
#include "txn/small_file.hpp"

namespace nb::txn {
namespace {

using Walk = Journal::Walk;

std::string final_name(std::uint64_t generation) { return std::to_string(generation); }
std::string new_name(std::uint64_t generation) { return std::to_string(generation) + ".new"; }

// Not durable by itself: sync_applied follows.
Status write_account(fs::Directory& directory, const Generation& generation) {
  NB_TRY_ASSIGN(const auto file, directory.create_file(k_generation_name));
  return file->write_at(0, encode(generation));
}

Result<std::unique_ptr<fs::Directory>> begin_entry(fs::Directory& history, std::uint64_t number) {
  const Status removed = fs::remove_tree(history, new_name(number));
  if (!removed && removed.error().code != Errc::not_found) return tl::make_unexpected(removed.error());
  return history.create_directory(new_name(number));
}

Status name_entry(fs::Directory& history, std::uint64_t number) {
  return history.rename(new_name(number), history, final_name(number), fs::RenameMode::no_replace);
}

// The generation that the live tree was, where it has no account: from before there was a history.
Status account_for_base(const FileSet& set, fs::Directory& history, std::uint64_t number) {
  NB_TRY_ASSIGN(const std::optional<fs::Stat> there, find_name(history, final_name(number)));
  if (there) return {};
  Generation base;
  base.number = number;
  if (set.head().generation == number) {
    base.transaction = set.head().transaction;
    base.time_ns = set.head().time_ns;
  }
  NB_TRY_ASSIGN(const auto entry, begin_entry(history, number));
  NB_TRY(write_account(*entry, base));
  return name_entry(history, number);
}

// One path of files/ after the other, each parent opened or made once.
class KeptFiles {
 public:
  explicit KeptFiles(fs::Directory& entry) : m_entry(entry) {}

  Result<fs::Directory*> parent_of(const RelPath& path) {
    const RelPath parent = path.parent();
    if (m_parent && m_path == parent) return m_parent.get();
    m_parent.reset();
    NB_TRY_ASSIGN(std::unique_ptr<fs::Directory> at, open_or_create_directory(m_entry, k_files_name));
    NB_TRY(descend(parent, at));
    m_path = parent;
    m_parent = std::move(at);
    return m_parent.get();
  }

 private:
  static Status descend(const RelPath& path, std::unique_ptr<fs::Directory>& at) {
    if (path.is_root()) return {};
    auto whole = at->open_directory_path(path);
    if (whole) {
      at = std::move(*whole);
      return {};
    }
    if (whole.error().code != Errc::not_found) return tl::make_unexpected(std::move(whole).error());
    NB_TRY(descend(path.parent(), at));
    NB_TRY_ASSIGN(at, open_or_create_directory(*at, path.name()));
    return {};
  }

  fs::Directory& m_entry;
  RelPath m_path;
  std::unique_ptr<fs::Directory> m_parent;
};

Status make_parents(fs::Directory& entry, const Journal& journal) {
  KeptFiles files(entry);
  const auto step = [&files](const JournalOp& op) -> Result<Walk> {
    const auto* place = std::get_if<Place>(&op);
    const auto* remove = std::get_if<Remove>(&op);
    if (place != nullptr && place->replaced) NB_TRY(files.parent_of(place->path));
    if (remove != nullptr) NB_TRY(files.parent_of(remove->path));
    return std::holds_alternative<SetMetadata>(op) ? Walk::stop : Walk::go_on;
  };
  return journal.for_each(step);
}

// The journal backward: metadata, then moves, then what opened directories up, so that what is said of a path by its
// move takes the place of what is said of the file that came.
class Filing {
 public:
  Filing(ChangeListWriter& changes, fs::Directory& entry, ApplyContext& context)
      : m_changes(changes), m_entry(entry), m_files(entry), m_context(context) {}

  Status file(const JournalOp& op) {
    return std::visit([this](const auto& one) { return file_op(one); }, op);
  }

 private:
  Status file_op(const Place& op) {
    if (!op.replaced) return m_changes.append(Absent{op.path});
    return keep(op.path, op.slot);
  }

  Status file_op(const Remove& op) { return keep(op.path, op.slot); }

  Status keep(const RelPath& path, std::uint64_t slot) {
    NB_FAILPOINT("txn.history.entry");
    const std::string name = std::to_string(slot);
    NB_TRY_ASSIGN(const std::optional<fs::Stat> old, find_name(m_context.old, name));
    if (!old) return m_changes.append(Absent{path, true});
    NB_TRY_ASSIGN(fs::Directory* const parent, m_files.parent_of(path));
    NB_TRY(m_context.old.rename(name, *parent, path.name(), fs::RenameMode::no_replace));
    return m_changes.append(KeptEntry{path, old->type});
  }

  Status file_op(const SetMetadata& op) {
    NB_TRY_ASSIGN(const std::optional<fs::Stat> live, m_context.live.find(op.path));
    // Somebody else's file was left as it is.
    if (!live || !is_target(*live, op)) return {};
    const bool shared = live->type != fs::FileType::directory && live->links > 1;
    return m_changes.append(OldMetadata{op.path, op.before, shared});
  }

  // A directory that was opened up to be moved away has stayed so.
  Status file_op(const OpenUp& op) {
    if (!opens(op) || op.path.is_root()) return {};
    LiveTree entry(m_entry);
    const RelPath path = RelPath().child(k_files_name).join(op.path);
    NB_TRY_ASSIGN(const std::optional<fs::Stat> kept, entry.find(path));
    if (!kept || !matches(*kept, op.directory)) return {};
    NB_TRY_ASSIGN(const std::unique_ptr<fs::Node> node, entry.open_node(path));
    NB_TRY_ASSIGN(const fs::Xattrs xattrs, node->xattrs());
    return m_changes.append(OldMetadata{op.path, {op.old_mode, kept->owner, kept->mtime, xattrs}, false});
  }

  ChangeListWriter& m_changes;
  fs::Directory& m_entry;
  KeptFiles m_files;
  ApplyContext& m_context;
};

Status fill_entry(fs::Directory& entry, const Journal& journal, ApplyContext& context) {
  const JournalHeader& header = journal.header();
  NB_TRY_ASSIGN(ChangeListWriter changes,
                ChangeListWriter::create(entry, k_changes_name, {header.generation, header.generation - 1}));
  Filing filing(changes, entry, context);
  const auto step = [&filing](const JournalOp& op) -> Result<Walk> {
    NB_TRY(filing.file(op));
    return Walk::go_on;
  };
  NB_TRY(journal.for_each_backward(step));
  NB_TRY(changes.finish());
  NB_FAILPOINT("txn.history.listed");
  Generation generation;
  generation.number = header.generation;
  generation.previous = header.generation - 1;
  generation.transaction = header.transaction;
  generation.time_ns = header.time_ns;
  generation.account = header.account;
  return write_account(entry, generation);
}

// A directory may lack the mode that it was given for being moved: a power cut can keep the move and lose the mode.
Status move_back(fs::Directory& parent, const RelPath& path, const fs::Stat& kept, const std::string& slot,
                 fs::Directory& old) {
  Status moved = parent.rename(path.name(), old, slot, fs::RenameMode::no_replace);
  const bool closed = kept.type == fs::FileType::directory && (kept.mode & 0700U) != 0700U;
  if (moved || moved.error().code != Errc::not_permitted || !closed) return moved;
  NB_TRY_ASSIGN(const std::unique_ptr<fs::Node> node, parent.open_node(path.name()));
  NB_TRY(node->set_mode(kept.mode | 0700U));
  return parent.rename(path.name(), old, slot, fs::RenameMode::no_replace);
}

Status take_back(LiveTree& files, const RelPath& path, std::uint64_t slot, ApplyContext& context) {
  NB_FAILPOINT("txn.history.back");
  NB_TRY_ASSIGN(fs::Directory* const parent, files.parent_of(path));
  if (parent == nullptr) return {};
  NB_TRY_ASSIGN(const std::optional<fs::Stat> kept, find_name(*parent, path.name()));
  return kept ? move_back(*parent, path, *kept, std::to_string(slot), context.old) : Status();
}

Status empty_entry(fs::Directory& entry, const Journal& journal, ApplyContext& context) {
  const auto opened = entry.open_directory(k_files_name);
  if (!opened) return opened.error().code == Errc::not_found ? Status() : tl::make_unexpected(opened.error());
  LiveTree files(**opened);
  return journal.for_each([&](const JournalOp& op) -> Result<Walk> {
    if (const auto* place = std::get_if<Place>(&op); place != nullptr && place->replaced) {
      NB_TRY(take_back(files, place->path, place->slot, context));
    }
    if (const auto* remove = std::get_if<Remove>(&op)) NB_TRY(take_back(files, remove->path, remove->slot, context));
    return std::holds_alternative<SetMetadata>(op) ? Walk::stop : Walk::go_on;
  });
}

}  // namespace

Status make_history_places(FileSet& set, const Journal& journal, ApplyContext& context) {
  const std::uint64_t number = journal.header().generation;
  NB_TRY_ASSIGN(const auto history, open_or_create_directory(set.control(), k_history_name));
  NB_TRY(account_for_base(set, *history, number - 1));
  NB_TRY_ASSIGN(context.filed, begin_entry(*history, number));
  NB_TRY(make_parents(*context.filed, journal));
  return failpoint("txn.history.begun");
}

Status file_history(FileSet& set, const Journal& journal, ApplyContext& context) {
  const std::uint64_t number = journal.header().generation;
  NB_TRY(fill_entry(*context.filed, journal, context));
  NB_FAILPOINT("txn.history.filed");
  NB_TRY_ASSIGN(const auto history, set.control().open_directory(k_history_name));
  NB_TRY(name_entry(*history, number));
  return failpoint("txn.history.named");
}

// Both may be there after a power cut that kept a later name and lost that an earlier one had gone.
Status take_history_back(FileSet& set, const Journal& journal, ApplyContext& context) {
  const std::uint64_t number = journal.header().generation;
  const auto history = set.control().open_directory(k_history_name);
  if (!history) return history.error().code == Errc::not_found ? Status() : tl::make_unexpected(history.error());
  for (const std::string& name : {final_name(number), new_name(number)}) {
    const auto entry = (*history)->open_directory(name);
    if (!entry && entry.error().code == Errc::not_found) continue;
    NB_TRY(entry);
    NB_TRY(empty_entry(**entry, journal, context));
    NB_TRY(fs::remove_tree(**history, name));
  }
  return {};
}

}  // namespace nb::txn
