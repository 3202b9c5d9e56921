// SPDX-License-Identifier: Apache-2.0
// Sink, part ten: a root that lies inside of the set, or enters it with this run; and bystanders.
#include <chrono>

#include "session/sink.hpp"

namespace nb::session {

// Under the lock, whatever was seen before it.
Status Sink::locate_root(SinkDirectory& directory) {
  if (m_target.root == nullptr) return {};
  const RelPath& base = m_target.base;
  directory.location.where = Where::live;
  if (base.is_root()) return {};
  NB_TRY_ASSIGN(const fs::Directory* const parent, live_in_set(base.parent()));
  // A set may have been made there since the destination was looked at.
  if (commits()) {
    for (RelPath each = base; !each.is_root(); each = each.parent()) NB_TRY(guard_nested(each));
  }
  const auto stat = parent->stat_at(base.name());
  if (stat && stat->type == fs::FileType::directory) return {};
  if (stat) return fail(Errc::path, base.str() + " in the file set is no directory any more");
  if (stat.error().code != Errc::not_found) return tl::make_unexpected(stat.error());
  if (m_options.mode == SinkMode::verify) {
    return fail(Errc::path, base.str() + " in the file set is not there, so there is nothing to compare with");
  }
  directory.location.where = Where::absent;
  return commits() ? stage_root(directory, *parent) : Status();
}

// The root enters the set with this run, by a name in a bystander.
Status Sink::stage_root(SinkDirectory& directory, const fs::Directory& parent) {
  const RelPath& base = m_target.base;
  const Status name = m_names->check_new(base);
  if (!name) return wrap(name.error(), base.str() + " in the file set");
  NB_TRY_ASSIGN(const bool may, open_up_in_set(base.parent()));
  if (!may) {
    return fail(Errc::not_permitted, base.str() + " in the file set: what would hold it is of another owner or group");
  }
  if ((directory.flags & wire::k_directory_implied) != 0) {
    NB_TRY_ASSIGN(m_root_metadata, m_stager->default_metadata(parent));
  }
  m_bystanders.insert(base.parent());
  return locate_new(directory, std::nullopt);
}

// Bystanders keep what they are. History has to tell what their time was.
Status Sink::end_bystanders() {
  if (!lasts()) return {};
  const WallTime now = m_clock.wall();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(now);
  const fs::Timestamp time{seconds.time_since_epoch().count(), static_cast<std::uint32_t>((now - seconds).count())};
  for (const RelPath& each : m_bystanders) NB_TRY(end_bystander(each, time));
  return {};
}

// Where this process may not set the time nobody can promise it back.
Status Sink::end_bystander(const RelPath& in_set, fs::Timestamp now) {
  NB_TRY_ASSIGN(fs::Directory* const dir, live_in_set(in_set));
  NB_TRY_ASSIGN(const fs::Stat stat, dir->stat());
  if (!dir->set_mtime(stat.mtime)) return {};
  NB_TRY_ASSIGN(fs::Xattrs xattrs, dir->xattrs());
  const fs::Metadata before{stat.mode, stat.owner, stat.mtime, std::move(xattrs)};
  fs::Metadata after = before;
  after.mtime = now;
  return m_target.transaction->add_end(txn::SetMetadata{in_set, txn::ident_of(stat), before, after});
}

}  // namespace nb::session
