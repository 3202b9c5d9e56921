// SPDX-License-Identifier: Apache-2.0
#include "txn/orphans.hpp"

#include "txn/journal.hpp"
#include "txn/small_file.hpp"
#include "txn/stage.hpp"

namespace nb::txn {
namespace {

Result<bool> has_trash(const fs::Directory& stages, const std::string& name) {
  NB_TRY_ASSIGN(const auto stage, stages.open_directory(name));
  NB_TRY_ASSIGN(const auto old, open_if_there(*stage, k_old_name));
  if (!old) return false;
  NB_TRY_ASSIGN(const std::vector<fs::NamedType> entries, old->list());
  return !entries.empty();
}

}  // namespace

Result<std::vector<std::string>> find_orphans(FileSet& set) {
  std::vector<std::string> orphans;
  for (const std::string_view name : {k_journal_undo_name, k_journal_name}) {
    NB_TRY_ASSIGN(const std::optional<fs::Stat> standing, find_name(set.control(), name));
    if (standing) return orphans;
  }
  NB_TRY_ASSIGN(const auto stages, open_if_there(set.control(), k_stages_name));
  if (!stages) return orphans;
  NB_TRY_ASSIGN(const std::vector<fs::NamedType> entries, stages->list());
  for (const fs::NamedType& entry : entries) {
    if (entry.type != fs::FileType::directory || !is_stage_name(entry.name)) continue;
    if (is_committed(set.head(), entry.name)) continue;
    NB_TRY_ASSIGN(const bool replaced, has_trash(*stages, entry.name));
    if (replaced) orphans.push_back(entry.name);
  }
  return orphans;
}

Result<std::vector<std::string>> set_aside_orphans(FileSet& set, const WriterLock&) {
  NB_TRY_ASSIGN(const std::vector<std::string> orphans, find_orphans(set));
  if (orphans.empty()) return orphans;
  NB_TRY_ASSIGN(const auto stages, set.control().open_directory(k_stages_name));
  NB_TRY_ASSIGN(const auto aside, open_or_create_directory(set.control(), k_orphans_name));
  for (const std::string& name : orphans) {
    NB_TRY(stages->rename(name, *aside, name, fs::RenameMode::no_replace));
  }
  NB_TRY(aside->sync());
  NB_TRY(stages->sync());
  NB_TRY(set.control().sync());
  return orphans;
}

}  // namespace nb::txn
