// SPDX-License-Identifier: Apache-2.0
#include "txn/conflicts.hpp"

#include <algorithm>

#include "base/failpoint.hpp"
#include "txn/small_file.hpp"

namespace nb::txn {
namespace {

constexpr std::string_view k_note_suffix = ".path";
constexpr int k_max_attempts = 1000;

// The first name for this slot that is free.
Result<std::string> free_name(const fs::Directory& directory, std::uint64_t slot) {
  std::string name = std::to_string(slot);
  for (int attempt = 1; attempt < k_max_attempts; ++attempt) {
    NB_TRY_ASSIGN(const std::optional<fs::Stat> taken, find_name(directory, name));
    if (!taken) return name;
    name = std::to_string(slot) + "." + std::to_string(attempt);
  }
  return fail(Errc::foreign_edit, "too many conflicts at one name");
}

// Where the file `name` in conflict/<id>/ was.
Result<RelPath> noted_path(const fs::Directory& from, const std::string& name) {
  NB_TRY_ASSIGN(const Bytes note, read_small_file(from, name + std::string(k_note_suffix)));
  std::string_view text = as_text(note);
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.empty()) return fail(Errc::bad_set, name + ": empty note");
  return RelPath::parse(text, Errc::bad_set);
}

}  // namespace

Result<fs::Directory*> Conflicts::directory() {
  if (m_directory) return m_directory.get();
  NB_TRY_ASSIGN(const std::optional<fs::Stat> top, find_name(m_control, k_conflict_name));
  if (!top) return nullptr;
  NB_TRY_ASSIGN(const std::unique_ptr<fs::Directory> all, m_control.open_directory(k_conflict_name));
  NB_TRY_ASSIGN(const std::optional<fs::Stat> mine, find_name(*all, id_text(m_id)));
  if (!mine) return nullptr;
  NB_TRY_ASSIGN(m_directory, all->open_directory(id_text(m_id)));
  return m_directory.get();
}

Result<fs::Directory*> Conflicts::make_directory() {
  if (m_directory) return m_directory.get();
  NB_TRY_ASSIGN(const std::unique_ptr<fs::Directory> all, open_or_create_directory(m_control, k_conflict_name));
  NB_TRY_ASSIGN(m_directory, open_or_create_directory(*all, id_text(m_id)));
  NB_TRY(all->sync());
  NB_TRY(m_control.sync());
  return m_directory.get();
}

Status Conflicts::take(fs::Directory& parent, std::string_view name, std::uint64_t slot, const RelPath& path) {
  NB_TRY_ASSIGN(fs::Directory* const to, make_directory());
  NB_TRY_ASSIGN(const std::string kept, free_name(*to, slot));
  const std::string note = kept + std::string(k_note_suffix);
  // A note without its file is from an attempt that was interrupted right here; it says the same.
  NB_TRY(remove_if_there(*to, note));
  NB_TRY(write_new_file(*to, note, as_bytes(path.str() + "\n")));
  // Without its note nobody could tell where the file belongs.
  NB_TRY(to->sync());
  NB_FAILPOINT("txn.conflict.noted");
  const Status moved = parent.rename(name, *to, kept, fs::RenameMode::no_replace);
  if (moved) return to->sync();
  if (moved.error().code != Errc::not_found) return moved;
  NB_TRY(to->remove_file(note));
  tidy();
  return {};
}

Status Conflicts::give_back(std::uint64_t slot, fs::Directory& parent, std::string_view name) {
  NB_TRY_ASSIGN(fs::Directory* const from, directory());
  if (from == nullptr) return {};
  const std::string kept = std::to_string(slot);
  NB_TRY_ASSIGN(const std::optional<fs::Stat> there, find_name(*from, kept));
  if (!there) return {};
  NB_TRY_ASSIGN(const std::optional<fs::Stat> taken, find_name(parent, name));
  if (taken) return {};
  NB_TRY(from->rename(kept, parent, name, fs::RenameMode::no_replace));
  return remove_if_there(*from, kept + std::string(k_note_suffix));
}

std::vector<RelPath> Conflicts::all() {
  std::vector<RelPath> paths = m_in_place;
  if (Status added = add_taken(paths); !added) paths.push_back(place());
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  return paths;
}

RelPath Conflicts::place() const { return RelPath().child(k_control_name).child(k_conflict_name).child(id_text(m_id)); }

Status Conflicts::add_taken(std::vector<RelPath>& paths) {
  NB_TRY_ASSIGN(fs::Directory* const from, directory());
  if (from == nullptr) return {};
  NB_TRY_ASSIGN(const std::vector<fs::NamedType> entries, from->list());
  for (const fs::NamedType& entry : entries) {
    if (entry.name.ends_with(k_note_suffix)) continue;
    Result<RelPath> path = noted_path(*from, entry.name);
    paths.push_back(path ? std::move(*path) : place().child(entry.name));
  }
  return {};
}

void Conflicts::tidy() {
  m_directory.reset();
  const auto top = m_control.open_directory(k_conflict_name);
  if (!top) return;
  // Fails where something is in them, which is what we want then.
  static_cast<void>((*top)->remove_directory(id_text(m_id)));
  static_cast<void>(m_control.remove_directory(k_conflict_name));
}

}  // namespace nb::txn
