// SPDX-License-Identifier: Apache-2.0
#include "session/deletion.hpp"

#include <algorithm>

#include "base/rel_path.hpp"
#include "fs/metadata.hpp"
#include "txn/locate.hpp"

namespace nb::session {

static bool is_control(const fs::NamedType& item) {
  return item.name == k_control_name && item.type == fs::FileType::directory;
}

// A file that was written to since is another.
static std::uint64_t print_of(const RelPath& path, const fs::Stat& stat) {
  txn::Ident ident = txn::ident_of(stat);
  ident.inode = 0;
  Bytes bytes;
  ByteWriter out(bytes);
  out.string(path.str());
  put(out, ident);
  return hash::check_of(bytes);
}

// Moving a directory writes its '..', for which its own permissions count.
static bool is_barred(const fs::Directory& directory, const fs::Stat& stat) {
  return !fs::acts_as_owner(stat) && !directory.writable();
}

void Deletion::Judged::add_stays(Judged& below) {
  mounts.insert(mounts.end(), below.mounts.begin(), below.mounts.end());
  nested.insert(nested.end(), below.nested.begin(), below.nested.end());
  stray.insert(stray.end(), below.stray.begin(), below.stray.end());
  barred.insert(barred.end(), below.barred.begin(), below.barred.end());
  unread.insert(unread.end(), below.unread.begin(), below.unread.end());
}

static Error unread_error(Error error, const RelPath& path) {
  error.context = "delete " + path.str();
  return error;
}

bool Deletion::is_protected(const Doomed& doomed) const {
  if (is_reserved_name(doomed.path.name())) return true;
  return m_rules != nullptr && m_rules->check(doomed.path, doomed.stat.type) == filter::Verdict::exclude;
}

Result<bool> Deletion::is_mounted(const fs::Stat& stat) {
  if (stat.mount_root) return true;
  if (!m_root_stat) {
    NB_TRY_ASSIGN(m_root_stat, m_root.stat());
  }
  return !fs::same_mount(stat, *m_root_stat);
}

void Deletion::count(const Doomed& doomed, Judged& judged) const {
  ++judged.entries;
  if (m_visit != nullptr) (*m_visit)(doomed.path, doomed.stat.type);
}

// Depth first. Directories are opened by path and closed before their children are, so that depth costs no descriptors.
Result<Deletion::Judged> Deletion::judge(const Doomed& doomed) {
  Judged judged;
  NB_TRY_ASSIGN(const bool mounted, is_mounted(doomed.stat));
  if (mounted) {
    judged.whole = false;
    judged.mounts.push_back(doomed.path);
    return judged;
  }
  judged.print = print_of(doomed.path, doomed.stat);
  if (doomed.stat.type != fs::FileType::directory) {
    count(doomed, judged);
    return judged;
  }
  std::vector<Doomed> children;
  {
    NB_TRY_ASSIGN(const auto directory, m_root.open_directory_path(m_base.join(doomed.path)));
    NB_TRY_ASSIGN(const auto names, directory->list());
    if (std::any_of(names.begin(), names.end(), is_control)) {
      judged.whole = false;
      txn::is_set(*directory, RelPath()) ? judged.nested.push_back(doomed.path)
                                         : judged.stray.push_back(doomed.path.child(k_control_name));
      return judged;
    }
    for (const fs::NamedType& item : names) {
      NB_TRY_ASSIGN(const fs::Stat stat, directory->stat_at(item.name));
      children.push_back({doomed.path.child(item.name), stat});
    }
    if (is_barred(*directory, doomed.stat)) {
      judged.whole = false;
      judged.barred.push_back(doomed.path);
      return judged;
    }
  }
  std::vector<Doomed> parts;
  for (Doomed& child : children) {
    if (is_protected(child)) {
      judged.whole = false;
      if (is_reserved_name(child.path.name())) judged.stray.push_back(child.path);
      continue;
    }
    Result<Judged> below = judge(child);
    if (!below) {
      judged.whole = false;
      judged.unread.push_back(unread_error(std::move(below).error(), child.path));
      continue;
    }
    judged.entries += below->entries;
    judged.print += below->print;
    judged.add_stays(*below);
    judged.whole &= below->whole;
    if (below->whole) {
      child.print = below->print;
      parts.push_back(child);
    } else {
      parts.insert(parts.end(), below->parts.begin(), below->parts.end());
    }
  }
  if (judged.whole) {
    count(doomed, judged);
  } else {
    judged.parts = std::move(parts);
  }
  return judged;
}

void Deletion::tell(const Judged& judged) {
  for (const RelPath& path : judged.mounts) {
    m_reporter.problem({Errc::cross_device, 0, "delete " + path.str()});
  }
  for (const RelPath& path : judged.nested) {
    if (m_told.insert(path).second) m_reporter.advise(path.str() + "/ is a file set of its own and stays");
  }
  for (const Error& error : judged.unread) m_reporter.problem(error);
  for (const RelPath& path : judged.barred) {
    m_reporter.problem({Errc::not_permitted, 0, "delete " + path.str() + "/: it belongs to another user"});
  }
  for (const RelPath& path : judged.stray) {
    if (!m_told.insert(path).second) continue;
    m_reporter.problem({Errc::not_empty, 0,
                        "delete " + path.parent().str() + "/: " + std::string(path.name()) +
                            " in it has a name of nbackup's own and belongs to no file set; " +
                            "remove it there by hand if nobody needs it"});
  }
}

Result<std::vector<Deletion::Doomed>> Deletion::plan(Doomed doomed, const Visit& visit) {
  auto judged = judge(doomed);
  if (!judged) {
    m_reporter.problem(unread_error(judged.error(), doomed.path));
    return std::vector<Doomed>{};
  }
  tell(*judged);
  m_entries += judged->entries;
  if (visit) {
    m_visit = &visit;
    static_cast<void>(judge(doomed));  // what cannot be read any more is not shown
    m_visit = nullptr;
  }
  if (judged->whole) {
    doomed.print = judged->print;
    judged->parts = {std::move(doomed)};
  }
  for (const Doomed& each : judged->parts) {
    if (each.stat.type == fs::FileType::directory) m_planned.push_back(each);
  }
  return std::move(judged->parts);
}

Status Deletion::check_again() {
  for (const Doomed& each : m_planned) {
    const auto judged = judge(each);
    // Whoever took it away has done what was to be done.
    if (!judged && judged.error().code == Errc::not_found) continue;
    if (judged && judged->whole && judged->print == each.print) continue;
    return fail(Errc::changed, each.path.str() + "/ at the destination, which was to be deleted");
  }
  return {};
}

Result<bool> Deletion::can_go_whole(const Doomed& doomed) {
  NB_TRY_ASSIGN(const Judged judged, judge(doomed));
  return judged.whole;
}

}  // namespace nb::session
