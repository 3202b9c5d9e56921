// SPDX-License-Identifier: Apache-2.0
#include "session/name_check.hpp"

#include <algorithm>
#include <cerrno>

#include "base/text.hpp"
#include "fs/metadata.hpp"

namespace nb::session {
namespace {

// Whether nothing but the case of its letters can make another name the same: not how letters are composed, nor what
// FAT and its kin do with '~', and with dots and blanks at the end.
bool is_plain(std::string_view name) {
  const auto is_plain_byte = [](char c) { return c >= ' ' && c < 0x7F && c != '~'; };
  return !name.ends_with('.') && !name.ends_with(' ') && std::all_of(name.begin(), name.end(), is_plain_byte);
}

std::string with_other_case(std::string name) {
  for (char& c : name) {
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) c = static_cast<char>(c ^ 0x20);
  }
  return name;
}

// Saves listing a large directory for each of its names.
bool is_alone(const fs::Directory& parent, const std::string& name) {
  if (!is_plain(name)) return false;
  const std::string folded = with_other_case(name);
  if (folded == name) return true;
  const auto found = parent.stat_at(folded);
  return !found && found.error().code == Errc::not_found;
}

}  // namespace

NameCheck::NameCheck(const fs::Directory& root, txn::FileSet* set, txn::Transaction* transaction)
    : m_transaction(transaction) {
  // Some of those that have an identity can be made to ignore case (ZFS, ext4): then this file has another name too.
  const bool folds = set != nullptr && set->control().stat_at("FORMAT");
  if (root.file_system_identity() && !folds) m_names = Names::all_taken;
}

bool NameCheck::may_fold(const fs::Directory& parent) const {
  return m_names == Names::some_refused || parent.folds_case();
}

Result<std::optional<std::string>> NameCheck::other_name(const fs::Directory& parent, const std::string& name) {
  if (!may_fold(parent)) return std::nullopt;
  const auto stat = parent.stat_at(name);
  if (!stat || is_alone(parent, name)) return std::nullopt;
  NB_TRY_ASSIGN(const bool is_itself, lists(parent, name));
  if (is_itself) return std::nullopt;
  std::optional<std::string> other;
  for (const std::string& each : m_listed.names) {
    if (equals_ignoring_case(each, name)) other = each;
  }
  if (other) return other;
  for (const std::string& each : m_listed.names) {
    const auto its = parent.stat_at(each);
    if (!its || its->inode != stat->inode) continue;
    if (other) return name;
    other = each;
  }
  return other ? other : name;
}

// Whether `parent` has this very name. If not, what m_listed has is what there is now.
Result<bool> NameCheck::lists(const fs::Directory& parent, const std::string& name) {
  NB_TRY_ASSIGN(const fs::Stat stat, parent.stat());
  const std::pair directory(stat.device, stat.inode);
  const auto has = [this, &name] { return std::binary_search(m_listed.names.begin(), m_listed.names.end(), name); };
  if (m_listed.directory == directory && has()) return true;
  NB_TRY_ASSIGN(const auto names, parent.list());
  m_listed = {directory, {}};
  for (const fs::NamedType& each : names) m_listed.names.push_back(each.name);
  std::sort(m_listed.names.begin(), m_listed.names.end());
  return has();
}

Result<fs::Directory*> NameCheck::probe(const RelPath& parent) {
  if (m_probe && m_probed == parent) return m_probe.get();
  fs::Directory& slots = m_transaction->slots();
  if (const auto known = m_probes.find(parent); known != m_probes.end()) {
    NB_TRY_ASSIGN(m_probe, slots.open_directory(known->second));
  } else {
    std::string slot = txn::Transaction::slot_name(m_transaction->next_slot());
    NB_TRY_ASSIGN(m_probe, slots.create_directory(slot));
    m_probes.emplace(parent, std::move(slot));
  }
  m_probed = parent;
  return m_probe.get();
}

Status NameCheck::end() {
  m_probe.reset();
  for (const auto& [parent, slot] : m_probes) NB_TRY(fs::remove_tree(m_transaction->slots(), slot));
  m_probes.clear();
  return {};
}

Status NameCheck::check_new(const RelPath& set_path) {
  if (m_names == Names::all_taken) return {};
  NB_TRY_ASSIGN(fs::Directory * directory, probe(set_path.parent()));
  const auto made = directory->create_file(set_path.name());
  if (made) return {};
  const Error& error = made.error();
  const bool is_name = error.code == Errc::not_found || error.code == Errc::path || error.code == Errc::not_permitted ||
                       error.code == Errc::unsupported || error.sys_errno == EINVAL || error.sys_errno == EILSEQ;
  return is_name ? fail(Errc::path, "name", error.sys_errno) : tl::make_unexpected(error);
}

}  // namespace nb::session
