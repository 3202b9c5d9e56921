// SPDX-License-Identifier: Apache-2.0
#include "txn/thin_apply.hpp"

#include <set>

#include "base/failpoint.hpp"
#include "txn/history.hpp"
#include "txn/kept_trees.hpp"
#include "txn/small_file.hpp"

namespace nb::txn {
namespace {

using fs::RenameMode;

// A directory is opened up for being moved; its list says what its mode was.
Status move(fs::Directory& from, std::string_view name, fs::Directory& to, std::string_view new_name) {
  open_up(from, name);
  return from.rename(name, to, new_name, RenameMode::no_replace);
}

// Where syncfs does not tell of errors, each directory that an operation changes is synced by itself.
class SyncMoved {
 public:
  explicit SyncMoved(fs::Directory& history) : m_history(history) {}

  Status sync(const ThinOp& op) {
    if (const auto* merge = std::get_if<Merge>(&op)) m_survivor = merge->survivor;
    if (const auto* clear = std::get_if<ClearKept>(&op)) return up_from(m_survivor, clear->path);
    if (const auto* make = std::get_if<MakeParent>(&op)) return up_from(m_survivor, make->path);
    if (const auto* take = std::get_if<TakeKept>(&op)) {
      NB_TRY(up_from(m_survivor, take->path));
      return up_from(take->generation, take->path);
    }
    return {};
  }

 private:
  Status up_from(std::uint64_t generation, const RelPath& path) {
    for (RelPath each = kept_files(generation).join(path).parent(); !each.is_root(); each = each.parent()) {
      if (!m_synced.insert(each.str()).second) return {};
      const auto directory = m_history.open_directory_path(each);
      const bool is_gone = !directory && is_not_there(directory.error().code);
      if (is_gone) continue;
      NB_TRY(directory);
      NB_TRY((*directory)->sync());
    }
    return {};
  }

  fs::Directory& m_history;
  std::uint64_t m_survivor = 0;
  std::set<std::string> m_synced;
};

class Mover {
 public:
  Mover(fs::Directory& history, fs::Directory& device, fs::Directory& trash, const ThinRecord& record)
      : m_history(history), m_device(device), m_trash(trash), m_record(record), m_trees(history) {}

  Status apply(const ThinOp& op) {
    NB_FAILPOINT("txn.thin.op");
    return std::visit([this](const auto& one) { return apply_op(one); }, op);
  }

 private:
  Status apply_op(const Merge& op) {
    m_survivor = op.survivor;
    return {};
  }
  Status apply_op(const Dropped&) { return {}; }
  Status apply_op(const MakeParent& op) {
    NB_TRY(m_trees.make_parent_of(m_survivor, op.path));
    return {};
  }
  Status apply_op(const ThinBarrier&) { return sync_moved(m_history, m_trash, m_device, m_record); }

  Status apply_op(const ClearKept& op) {
    const std::string slot = std::to_string(op.slot);
    NB_TRY_ASSIGN(const std::optional<fs::Stat> done, find_name(m_trash, slot));
    if (done) return {};
    NB_TRY_ASSIGN(LiveTree* const tree, m_trees.of(m_survivor));
    if (tree == nullptr) return {};
    NB_TRY_ASSIGN(fs::Directory* const parent, tree->parent_of(op.path));
    if (parent == nullptr) return {};
    NB_TRY(open_for_edit(*parent, op.path));
    return put_away(*parent, op.path, slot);
  }

  Status apply_op(const TakeKept& op) {
    NB_TRY_ASSIGN(const std::optional<fs::Stat> source, m_trees.find(op.generation, op.path));
    if (!source) return {};
    NB_TRY_ASSIGN(LiveTree* const tree, m_trees.of(op.generation));
    NB_TRY_ASSIGN(fs::Directory* const found, tree->parent_of(op.path));
    NB_TRY_ASSIGN(const std::unique_ptr<fs::Directory> from, found->reopen());
    NB_TRY_ASSIGN(fs::Directory* const to, m_trees.make_parent_of(m_survivor, op.path));
    NB_TRY(open_for_edit(*to, op.path));
    NB_TRY(put_away(*to, op.path, std::to_string(op.slot)));
    NB_FAILPOINT("txn.thin.put_away");
    NB_TRY(move(*from, op.path.name(), *to, op.path.name()));
    m_trees.forget(op.generation, op.path);
    return {};
  }

  // A directory of a tree that is changed where it lies may lack the mode for it.
  static Status open_for_edit(fs::Directory& parent, const RelPath& path) {
    if (path.parent().is_root()) return {};
    NB_TRY_ASSIGN(const fs::Stat stat, parent.stat());
    if (is_closed(stat)) static_cast<void>(parent.set_mode(stat.mode | 0700U));
    return {};
  }

  Status put_away(fs::Directory& parent, const RelPath& path, const std::string& slot) {
    NB_TRY_ASSIGN(const std::optional<fs::Stat> there, find_name(parent, path.name()));
    if (!there) return {};
    NB_TRY(move(parent, path.name(), m_trash, slot));
    m_trees.forget(m_survivor, path);
    return {};
  }

  fs::Directory& m_history;
  fs::Directory& m_device;
  fs::Directory& m_trash;
  const ThinRecord& m_record;
  KeptTrees m_trees;
  std::uint64_t m_survivor = 0;
};

// The last steps: names at the top of history alone.
class Finisher {
 public:
  Finisher(fs::Directory& history, fs::Directory& trash) : m_history(history), m_trash(trash) {}

  Status finish(const ThinOp& op) {
    if (const auto* merge = std::get_if<Merge>(&op)) return renew(*merge);
    if (const auto* dropped = std::get_if<Dropped>(&op)) return drop(std::to_string(dropped->number));
    return {};
  }

  Status sync() {
    for (const std::uint64_t survivor : m_survivors) {
      NB_TRY_ASSIGN(const auto directory, m_history.open_directory(std::to_string(survivor)));
      NB_TRY(directory->sync());
    }
    NB_TRY(m_trash.sync());
    return m_history.sync();
  }

 private:
  Status renew(const Merge& op) {
    const std::string name = std::to_string(op.survivor);
    NB_TRY_ASSIGN(const auto directory, m_history.open_directory(name));
    m_survivors.push_back(op.survivor);
    NB_FAILPOINT("txn.thin.renew");
    if (op.becomes_base) {
      NB_TRY(put_away(*directory, k_changes_name, name));
      NB_TRY(put_away(*directory, k_files_name, name));
    } else {
      NB_TRY(rename_over(*directory, k_changes_new_name, k_changes_name));
    }
    return rename_over(*directory, k_generation_new_name, k_generation_name);
  }

  Status put_away(fs::Directory& directory, std::string_view name, const std::string& survivor) {
    NB_TRY_ASSIGN(const std::optional<fs::Stat> there, find_name(directory, name));
    if (!there) return {};
    return directory.rename(name, m_trash, survivor + "." + std::string(name), RenameMode::no_replace);
  }

  static Status rename_over(fs::Directory& directory, std::string_view name, std::string_view final_name) {
    NB_TRY_ASSIGN(const std::optional<fs::Stat> there, find_name(directory, name));
    return there ? directory.rename(name, directory, final_name, RenameMode::replace) : Status();
  }

  Status drop(const std::string& name) {
    NB_FAILPOINT("txn.thin.drop");
    NB_TRY_ASSIGN(const std::optional<fs::Stat> there, find_name(m_history, name));
    return there ? m_history.rename(name, m_trash, "generation-" + name, RenameMode::no_replace) : Status();
  }

  fs::Directory& m_history;
  fs::Directory& m_trash;
  std::vector<std::uint64_t> m_survivors;
};

}  // namespace

Status sync_moved(fs::Directory& history, fs::Directory& trash, fs::Directory& device, const ThinRecord& record) {
  NB_TRY(device.sync_file_system());
  if (device.sync_file_system_reports()) return {};
  SyncMoved each(history);
  NB_TRY(record.for_each([&each](const ThinOp& op) { return each.sync(op); }));
  return trash.sync();
}

Status apply_thinning(fs::Directory& history, fs::Directory& trash, fs::Directory& device, const ThinRecord& record) {
  Mover mover(history, device, trash, record);
  NB_TRY(record.for_each([&mover](const ThinOp& op) { return mover.apply(op); }));
  NB_FAILPOINT("txn.thin.moved");
  NB_TRY(sync_moved(history, trash, device, record));
  NB_FAILPOINT("txn.thin.synced");
  Finisher finisher(history, trash);
  NB_TRY(record.for_each([&finisher](const ThinOp& op) { return finisher.finish(op); }));
  NB_TRY(finisher.sync());
  NB_FAILPOINT("txn.thin.finished");
  NB_TRY(remove_if_there(history, k_merge_name));
  NB_FAILPOINT("txn.thin.removed");
  return history.sync();
}

}  // namespace nb::txn
