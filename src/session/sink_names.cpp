// SPDX-License-Identifier: Apache-2.0
// Sink, part nine: new names that are, to this file system, the same as one that is here: as when only the case of a
// name was changed at the source. Such a name can enter after the other one has gone, so its operations wait for the end
// of the plan. Where the other one does not go, it is refused.
#include <algorithm>

#include "session/sink.hpp"

namespace nb::session {

// Whether the new `path`, of a directory that was announced, or else of the entry at hand, may wait for `other` in the
// same directory to go.
bool Sink::waits_for(const RelPath& path, const std::string& other, Announced announced) {
  if (!has(wire::k_flag_delete) || is_reserved_name(other)) return false;
  bool may = m_removed.contains(path.parent().child(other));
  if (!may && announced == Announced::entry) {
    const auto is_other = [&other](const wire::Entry& each) { return each.name == other; };
    may = other > path.name() && std::none_of(m_following.begin(), m_following.end(), is_other);
  }
  // Its parent's listing may not have come yet. That the other name was an extra last time is a hint; without it a whole
  // tree would be staged for nothing where the source has both names.
  if (!may && announced == Announced::directory && !m_ancestors.back().directories) {
    const auto extras = m_bases->extras(set_path(path.parent()));
    may = std::binary_search(extras.begin(), extras.end(), other);
  }
  may = may && goes_whole(path.parent().child(other));
  if (may) m_waiting[path].other = other;
  return may;
}

// What the rules protect keeps its directory, and then its name.
bool Sink::goes_whole(const RelPath& path) {
  if (m_removed.contains(path)) return true;
  const auto parent = live(path.parent());
  if (!parent) return false;
  const auto stat = (*parent)->stat_at(path.name());
  if (!stat) return false;
  const auto whole = m_deletion->can_go_whole({path, *stat});
  return whole && *whole;
}

void Sink::refuse_name(const RelPath& path, const std::string& other) {
  m_reporter.problem({Errc::exists, 0, path.str() + " at the destination, where " + other + " is the same name"});
}

// Whether an entry that is not here under its name can be made; if not, that has been told.
Result<bool> Sink::takes_name(const RelPath& path) {
  NB_TRY_ASSIGN(fs::Directory * parent, live(path.parent()));
  NB_TRY_ASSIGN(const auto other, m_names->other_name(*parent, std::string(path.name())));
  if (other && !waits_for(path, *other, Announced::entry)) {
    refuse_name(path, *other);
    return false;
  }
  const Status taken = m_names->check_new(set_path(path));
  NB_TRY(per_file(taken, path));
  return taken.has_value();
}

// A directory that is not here, but for `other`. Where it cannot wait, the other one stays, so that nothing is lost
// until a later run knows better.
Status Sink::locate_beside(SinkDirectory& directory, const std::string& other) {
  const RelPath& path = directory.path;
  if (!commits() || waits_for(path, other, Announced::directory)) return locate_new(directory, std::nullopt);
  refuse_name(path, other);
  m_kept_names.insert(path.parent().child(other));
  skip(directory);
  return {};
}

// What is staged takes its name: now, or when the other one has gone.
Status Sink::enter(const RelPath& path, const txn::Place& op) {
  const auto waiting = m_waiting.find(path);
  if (waiting == m_waiting.end()) return place(path, op);
  waiting->second.place = op;
  return {};
}

Status Sink::place(const RelPath& path, const txn::Place& op) {
  if (has(wire::k_flag_implied_root) && path.depth() == 1) m_bystanders.insert(m_target.base);
  return m_target.transaction->add(op);
}

Status Sink::enter_end(const RelPath& path, const txn::SetMetadata& op) {
  const auto waiting = m_waiting.find(path);
  if (waiting == m_waiting.end()) return m_target.transaction->add_end(op);
  waiting->second.end = op;
  return {};
}

// Names that went, where another may wait for one of them.
Status Sink::note_removed(const SinkDirectory& directory, const RelPath& path) {
  NB_TRY_ASSIGN(const fs::Directory* parent, live(directory.path));
  if (m_names->may_fold(*parent)) m_removed.insert(path);
  return {};
}

// All that goes is planned.
Status Sink::settle_waiting() {
  for (const auto& [path, waiting] : m_waiting) {
    if (!m_removed.contains(path.parent().child(waiting.other))) {
      refuse_name(path, waiting.other);
      m_beside->remove(path);
      continue;
    }
    if (waiting.place) NB_TRY(place(path, *waiting.place));
    if (waiting.end) NB_TRY(m_target.transaction->add_end(*waiting.end));
  }
  return {};
}

}  // namespace nb::session
