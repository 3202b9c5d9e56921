// SPDX-License-Identifier: Apache-2.0
#include "session/name_check.hpp"

#include <algorithm>
#include <cerrno>

#include "fs/metadata.hpp"
#include "txn/listed_name.hpp"

namespace nb::session {

NameCheck::NameCheck(const fs::Directory& root, txn::FileSet* set, txn::Transaction* transaction)
    : m_transaction(transaction) {
  if (!txn::may_fold_names(root, set != nullptr ? &set->control() : nullptr)) m_names = Names::all_taken;
}

bool NameCheck::may_fold(const fs::Directory& parent) const {
  return m_names == Names::some_refused || parent.folds_case();
}

Result<std::optional<std::string>> NameCheck::other_name(const fs::Directory& parent, const std::string& name) {
  if (!may_fold(parent)) return std::nullopt;
  if (!parent.stat_at(name) || txn::is_only_name(parent, name)) return std::nullopt;
  NB_TRY_ASSIGN(const bool is_itself, lists(parent, name));
  if (is_itself) return std::nullopt;
  return txn::listed_for(parent, m_listed.names, name).value_or(name);
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
