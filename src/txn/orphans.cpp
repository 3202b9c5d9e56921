// SPDX-License-Identifier: Apache-2.0
#include "txn/orphans.hpp"

#include "txn/file_history.hpp"
#include "txn/history.hpp"
#include "txn/journal.hpp"
#include "txn/small_file.hpp"
#include "txn/stage.hpp"

namespace nb::txn {
namespace {

Status add_if_any(FileSet& set, const RelPath& place, std::string_view content, std::vector<Orphan>& orphans) {
  const auto directory = set.control().open_directory_path(place);
  const bool is_none = !directory && is_not_there(directory.error().code);
  if (is_none) return {};
  NB_TRY(directory);
  NB_TRY_ASSIGN(const auto within, open_if_there(**directory, content));
  if (!within) return {};
  NB_TRY_ASSIGN(const std::vector<fs::NamedType> entries, within->list());
  if (!entries.empty()) orphans.push_back({place, std::string(content)});
  return {};
}

Status add_stages(FileSet& set, std::vector<Orphan>& orphans) {
  NB_TRY_ASSIGN(const auto stages, open_if_there(set.control(), k_stages_name));
  if (!stages) return {};
  NB_TRY_ASSIGN(const std::vector<fs::NamedType> entries, stages->list());
  for (const fs::NamedType& entry : entries) {
    if (entry.type != fs::FileType::directory || !is_stage_name(entry.name)) continue;
    if (is_committed(set.head(), entry.name)) continue;
    NB_TRY(add_if_any(set, RelPath().child(k_stages_name).child(entry.name), k_old_name, orphans));
  }
  return {};
}

// The name of a stage is nobody else's; that of a generation may have been there before.
Result<std::string> free_name(const fs::Directory& aside, const Orphan& orphan) {
  const std::string name(orphan.place.name());
  std::string found = orphan.content == k_old_name ? name : "generation-" + name;
  for (int number = 2;; ++number) {
    NB_TRY_ASSIGN(const std::optional<fs::Stat> standing, find_name(aside, found));
    if (!standing) return found;
    found = "generation-" + name + "-" + std::to_string(number);
  }
}

}  // namespace

Result<std::vector<Orphan>> find_orphans(FileSet& set) {
  std::vector<Orphan> orphans;
  for (const std::string_view name : {k_journal_undo_name, k_journal_name}) {
    NB_TRY_ASSIGN(const std::optional<fs::Stat> standing, find_name(set.control(), name));
    if (standing) return orphans;
  }
  NB_TRY(add_stages(set, orphans));
  for (const std::string& name : entry_names(set.head().generation + 1)) {
    NB_TRY(add_if_any(set, RelPath().child(k_history_name).child(name), k_files_name, orphans));
  }
  return orphans;
}

Result<std::vector<Orphan>> set_aside_orphans(FileSet& set, const WriterLock&) {
  NB_TRY_ASSIGN(std::vector<Orphan> orphans, find_orphans(set));
  if (orphans.empty()) return orphans;
  NB_TRY_ASSIGN(const auto aside, open_or_create_directory(set.control(), k_orphans_name));
  for (Orphan& each : orphans) {
    NB_TRY_ASSIGN(const auto parent, set.control().open_directory_path(each.place.parent()));
    NB_TRY_ASSIGN(const std::string name, free_name(*aside, each));
    NB_TRY(parent->rename(each.place.name(), *aside, name, fs::RenameMode::no_replace));
    NB_TRY(parent->sync());
    each.place = RelPath().child(k_orphans_name).child(name);
  }
  NB_TRY(aside->sync());
  NB_TRY(set.control().sync());
  return orphans;
}

}  // namespace nb::txn
