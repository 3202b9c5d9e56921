// SPDX-License-Identifier: Apache-2.0
#include "session/deletion.hpp"

#include "txn/file_set.hpp"

namespace nb::session {

bool Deletion::is_protected(const Doomed& doomed, std::uint64_t device) const {
  if (doomed.path.name() == txn::k_control_name || doomed.stat.device != device || doomed.stat.mount_root) return true;
  return m_rules != nullptr && m_rules->check(doomed.path, doomed.stat.type) == filter::Verdict::exclude;
}

// Depth first. Directories are opened by path and closed before their children are, so that depth costs no descriptors.
Result<Deletion::Judged> Deletion::judge(const Doomed& doomed) {
  Judged judged;
  if (doomed.stat.type != fs::FileType::directory) {
    judged.visited.push_back(doomed.path);
    return judged;
  }
  std::vector<Doomed> children;
  {
    NB_TRY_ASSIGN(const auto directory, m_root.open_directory_path(m_base.join(doomed.path)));
    NB_TRY_ASSIGN(const auto names, directory->list());
    for (const fs::NamedType& item : names) {
      NB_TRY_ASSIGN(const fs::Stat stat, directory->stat_at(item.name));
      children.push_back({doomed.path.child(item.name), stat});
    }
  }
  std::vector<Doomed> parts;
  for (const Doomed& child : children) {
    if (is_protected(child, doomed.stat.device)) {
      judged.whole = false;
      continue;
    }
    NB_TRY_ASSIGN(Judged below, judge(child));
    judged.visited.insert(judged.visited.end(), below.visited.begin(), below.visited.end());
    judged.whole &= below.whole;
    if (below.whole) {
      parts.push_back(child);
    } else {
      parts.insert(parts.end(), below.parts.begin(), below.parts.end());
    }
  }
  if (judged.whole) {
    judged.visited.push_back(doomed.path);
  } else {
    judged.parts = std::move(parts);
  }
  return judged;
}

Result<std::vector<Deletion::Doomed>> Deletion::plan(Doomed doomed, const std::function<void(const RelPath&)>& visit) {
  auto judged = judge(doomed);
  if (!judged) {
    // What cannot be looked into stays, and is named.
    Error error = judged.error();
    error.context = "delete " + doomed.path.str();
    m_reporter.problem(error);
    return std::vector<Doomed>{};
  }
  m_entries += judged->visited.size();
  for (const RelPath& path : judged->visited) visit(path);
  if (judged->whole) return std::vector<Doomed>{std::move(doomed)};
  return std::move(judged->parts);
}

Result<bool> Deletion::can_go_whole(const Doomed& doomed) {
  NB_TRY_ASSIGN(const Judged judged, judge(doomed));
  return judged.whole;
}

}  // namespace nb::session
