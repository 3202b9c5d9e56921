// SPDX-License-Identifier: Apache-2.0
#include "txn/file_history.hpp"

#include <unordered_set>

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
  return put_new_file(directory, k_generation_name, encode(generation));
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
    NB_TRY_ASSIGN(const auto files, open_or_create_directory(m_entry, k_files_name));
    NB_TRY_ASSIGN(m_parent, open_or_create_path(*files, parent));
    m_path = parent;
    return m_parent.get();
  }

 private:
  fs::Directory& m_entry;
  RelPath m_path;
  std::unique_ptr<fs::Directory> m_parent;
};

// What an operation takes away.
struct Going {
  const RelPath& path;
  std::uint64_t slot;  // of old/
};

Status for_each_going(const Journal& journal, const std::function<Status(const Going&)>& visit) {
  const auto step = [&visit](const JournalOp& op) -> Result<Walk> {
    const auto* place = std::get_if<Place>(&op);
    const auto* remove = std::get_if<Remove>(&op);
    if (place != nullptr && place->replaced) NB_TRY(visit({place->path, place->slot}));
    if (remove != nullptr) NB_TRY(visit({remove->path, remove->slot}));
    // Nothing moves after the first of these.
    return std::holds_alternative<SetMetadata>(op) ? Walk::stop : Walk::go_on;
  };
  return journal.for_each(step);
}

Status make_parents(fs::Directory& entry, const Journal& journal) {
  KeptFiles files(entry);
  return for_each_going(journal, [&files](const Going& going) -> Status {
    NB_TRY(files.parent_of(going.path));
    return {};
  });
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
    if (old->type == fs::FileType::directory) m_kept_directories.insert(hash_of(path));
    return m_changes.append(KeptEntry{path, old->type});
  }

  Status file_op(const SetMetadata& op) {
    NB_TRY_ASSIGN(const std::optional<fs::Stat> live, m_context.live.find(op.path));
    // Somebody else's file was left as it is.
    if (!live || !is_target(*live, op)) return {};
    const bool shared = live->type != fs::FileType::directory && live->links > 1;
    return m_changes.append(OldMetadata{op.path, op.before, shared});
  }

  // A directory that was opened up to be moved away has stayed so. One of its name in files/ may also be there to hold
  // what was taken out of it.
  Status file_op(const OpenUp& op) {
    if (!opens(op) || !is_kept(op.path)) return {};
    LiveTree entry(m_entry);
    const RelPath path = RelPath().child(k_files_name).join(op.path);
    NB_TRY_ASSIGN(const std::optional<fs::Stat> kept, entry.find(path));
    if (!kept || !matches(*kept, op.directory)) return {};
    NB_TRY_ASSIGN(const std::unique_ptr<fs::Node> node, entry.open_node(path));
    NB_TRY_ASSIGN(const fs::Xattrs xattrs, node->xattrs());
    return m_changes.append(OldMetadata{op.path, {op.old_mode, kept->owner, kept->mtime, xattrs}, false});
  }

  [[nodiscard]] bool is_kept(const RelPath& directory) const {
    for (RelPath each = directory; !each.is_root(); each = each.parent()) {
      if (m_kept_directories.contains(hash_of(each))) return true;
    }
    return false;
  }

  ChangeListWriter& m_changes;
  fs::Directory& m_entry;
  KeptFiles m_files;
  ApplyContext& m_context;
  std::unordered_set<std::uint64_t> m_kept_directories;  // hashes of paths
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

Status take_back(LiveTree& files, const Going& going, ApplyContext& context) {
  NB_FAILPOINT("txn.history.back");
  NB_TRY_ASSIGN(fs::Directory* const parent, files.parent_of(going.path));
  if (parent == nullptr) return {};
  const std::string_view name = going.path.name();
  NB_TRY_ASSIGN(const std::optional<fs::Stat> kept, find_name(*parent, name));
  if (!kept) return {};
  return move_back(*parent, name, *kept, context.old, std::to_string(going.slot), fs::RenameMode::no_replace);
}

Status empty_entry(fs::Directory& entry, const Journal& journal, ApplyContext& context) {
  NB_TRY_ASSIGN(const std::unique_ptr<fs::Directory> opened, open_if_there(entry, k_files_name));
  if (!opened) return {};
  LiveTree files(*opened);
  return for_each_going(journal, [&](const Going& going) { return take_back(files, going, context); });
}

}  // namespace

std::array<std::string, 2> entry_names(std::uint64_t generation) {
  return {final_name(generation), new_name(generation)};
}

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
  NB_TRY_ASSIGN(const std::unique_ptr<fs::Directory> history, open_if_there(set.control(), k_history_name));
  if (!history) return {};
  for (const std::string& name : entry_names(number)) {
    NB_TRY_ASSIGN(const std::unique_ptr<fs::Directory> entry, open_if_there(*history, name));
    if (!entry) continue;
    NB_TRY(empty_entry(*entry, journal, context));
    NB_TRY(fs::remove_tree(*history, name));
  }
  context.filed.reset();  // nothing of it is to be synced any more
  return {};
}

}  // namespace nb::txn
