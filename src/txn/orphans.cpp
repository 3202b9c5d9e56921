// SPDX-License-Identifier: Apache-2.0
#include "txn/orphans.hpp"

#include "base/text.hpp"
#include "txn/history.hpp"
#include "txn/journal.hpp"
#include "txn/small_file.hpp"
#include "txn/stage.hpp"

namespace nb::txn {
namespace {

constexpr std::string_view k_unfinished = ".new";

Result<bool> has_content(const fs::Directory& parent, const std::string& name, std::string_view content) {
  NB_TRY_ASSIGN(const auto directory, parent.open_directory(name));
  NB_TRY_ASSIGN(const auto within, open_if_there(*directory, content));
  if (!within) return false;
  NB_TRY_ASSIGN(const std::vector<fs::NamedType> entries, within->list());
  return !entries.empty();
}

bool is_uncommitted_stage(const Head& head, const std::string& name) {
  return is_stage_name(name) && !is_committed(head, name);
}

// "7" or "7.new", where head is at 6.
bool is_unfinished_generation(const Head& head, const std::string& name) {
  std::string_view number = name;
  if (number.ends_with(k_unfinished)) number.remove_suffix(k_unfinished.size());
  return parse_u64(number).value_or(0) > head.generation;
}

Status find_below(FileSet& set, std::string_view parent, bool (*is_wanted)(const Head&, const std::string&),
                  std::string_view content, std::vector<Orphan>& orphans) {
  NB_TRY_ASSIGN(const auto directory, open_if_there(set.control(), parent));
  if (!directory) return {};
  NB_TRY_ASSIGN(const std::vector<fs::NamedType> entries, directory->list());
  for (const fs::NamedType& entry : entries) {
    if (entry.type != fs::FileType::directory || !is_wanted(set.head(), entry.name)) continue;
    NB_TRY_ASSIGN(const bool has_some, has_content(*directory, entry.name, content));
    if (has_some) orphans.push_back({RelPath().child(parent).child(entry.name), std::string(content)});
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
  NB_TRY(find_below(set, k_stages_name, is_uncommitted_stage, k_old_name, orphans));
  NB_TRY(find_below(set, k_history_name, is_unfinished_generation, k_files_name, orphans));
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
