// SPDX-License-Identifier: Apache-2.0
#include "session/stager.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/failpoint.hpp"
#include "fs/metadata.hpp"
#include "fs/path_root.hpp"
#include "txn/space.hpp"

namespace nb::session {
namespace {

constexpr std::string_view k_default_acl = "system.posix_acl_default";
constexpr std::string_view k_access_acl = "system.posix_acl_access";
constexpr std::uint32_t k_staging_mode = 0700;
constexpr std::uint32_t k_owner_may = 0600;
constexpr std::uint32_t k_set_group_id = 02000;

// What a file may have from the start: nobody else gets into the stage. Its owner must be able to work on it, and set-id
// bits come after the owner.
std::uint32_t creation_mode(const fs::Metadata& meta) {
  const bool is_final = meta.xattrs.empty() && meta.mode <= 0777 && (meta.mode & k_owner_may) == k_owner_may;
  return is_final ? meta.mode : k_owner_may;
}

// The directory at `spot`, below its slot.
RelPath below_of(const Spot& spot) { return spot.in_tree ? spot.below.child(spot.name) : RelPath(); }

fs::Meant meant_of_entry(const wire::Entry& entry) { return {entry.type, entry.meta, entry.node}; }

// The file system does not have such a thing: no symlinks on FAT, no devices for an ordinary user. EIO is what FUSE says
// where a regular file was made instead; if the disk fails, so will the placeholder.
bool is_refusal(const Error& error) {
  return error.code == Errc::not_permitted || error.code == Errc::unsupported || error.sys_errno == EINVAL ||
         error.sys_errno == EIO;
}

// The groups this process may give to its files.
std::vector<gid_t> own_groups() {
  std::vector<gid_t> groups(static_cast<std::size_t>(std::max(0, ::getgroups(0, nullptr))));
  groups.resize(static_cast<std::size_t>(std::max(0, ::getgroups(static_cast<int>(groups.size()), groups.data()))));
  groups.push_back(::getegid());
  return groups;
}

}  // namespace

fs::ReservedNames reserved_names_in(const txn::FileSet& set) {
  const bool is_permanent = set.format().lifetime == txn::Lifetime::permanent;
  return is_permanent ? fs::ReservedNames::escaped : fs::ReservedNames::as_they_are;
}

Stager::Stager(txn::FileSet& set, txn::Transaction& transaction, Reporter& reporter, KeptBeside* beside)
    : m_set(set),
      m_transaction(transaction),
      m_reporter(reporter),
      m_beside(beside),
      m_reserved(reserved_names_in(set)),
      m_groups(own_groups()) {
  // The destination may have given one to all that is made below it. It is not there, or cannot be: neither matters.
  static_cast<void>(m_transaction.slots().remove_xattr(std::string(k_default_acl)));
}

Spot Stager::new_spot() {
  Spot spot;
  spot.slot = m_transaction.next_slot();
  return spot;
}

std::string Stager::name_of(const Spot& spot) {
  return spot.in_tree ? spot.name : txn::Transaction::slot_name(spot.slot);
}

Result<fs::Directory*> Stager::directory(const Spot& spot) {
  if (!spot.in_tree) return &m_transaction.slots();
  if (m_cached && m_cached_slot == spot.slot && m_cached_below == spot.below) return m_cached.get();
  NB_TRY_ASSIGN(const RelPath slot, RelPath::parse(txn::Transaction::slot_name(spot.slot)));
  NB_TRY_ASSIGN(auto opened, m_transaction.slots().open_directory_path(slot.join(spot.below)));
  NB_TRY_ASSIGN(const fs::Xattrs xattrs, opened->xattrs());
  m_cached = std::move(opened);
  m_cached_inherits = std::any_of(xattrs.begin(), xattrs.end(), [](const auto& a) { return a.name == k_default_acl; });
  m_cached_slot = spot.slot;
  m_cached_below = spot.below;
  return m_cached.get();
}

Inherits Stager::inherits(const Spot& spot) const {
  return spot.in_tree && m_cached_inherits ? Inherits::acls : Inherits::nothing;
}

void Stager::note(const fs::Kept& kept, fs::FileType actual, const std::string& path) {
  const auto at = RelPath::parse(path);
  const bool beside = m_beside != nullptr && at && m_beside->put(*at, actual, kept.beside);
  if (kept.aside || (beside && !kept.beside.empty())) ++m_kept_aside;
  if (beside && kept.beside.size() == kept.lost.size()) return;
  for (const std::string& kind : kept.lost) {
    if (!m_lost_kinds.insert(kind).second) continue;
    m_reporter.problem({Errc::metadata_lost, 0, path + ": " + kind});
  }
}

// It may not be there, and some cannot be taken away: neither is an error.
static Status strip(fs::Node& node, const std::string& name) {
  Status removed = node.remove_xattr(name);
  return !removed && removed.error().sys_errno == EIO ? removed : Status{};
}

// A directory's default ACL is given to whatever is made in it; here only what the source has may stay.
static Status strip_inherited_acls(fs::Node& node) {
  for (const std::string_view name : {k_access_acl, k_default_acl}) NB_TRY(strip(node, std::string(name)));
  return {};
}

Result<StagedNode> Stager::settle(fs::Node& node, const fs::Meant& meant, const std::string& path, Inherits inherits) {
  if (inherits == Inherits::acls) NB_TRY(strip_inherited_acls(node));
  NB_TRY_ASSIGN(const fs::Stat now, node.stat());
  NB_TRY_ASSIGN(fs::Kept kept, fs::keep_metadata(node, now, meant, m_reserved));
  note(kept, now.type, path);
  // Only size and times can have changed since, and the literal metadata tells the time.
  txn::Ident ident = txn::ident_of(now);
  if (ident.type == fs::FileType::regular) ident.mtime = kept.literal.mtime;
  return StagedNode{ident, std::move(kept.literal), now.born};
}

// Symlinks, FIFOs and sockets take no attributes: whoever may not give them their owner could not keep it either.
bool Stager::needs_placeholder(const wire::Entry& entry) const {
  if (::geteuid() == 0) return false;
  const fs::Owner& owner = entry.meta.owner;
  return owner.uid != ::geteuid() || !is_own_group(owner.gid);
}

Result<StagedNode> Stager::make_placeholder(const Spot& spot, const wire::Entry& entry, const std::string& path) {
  NB_TRY_ASSIGN(fs::Directory * dir, directory(spot));
  NB_TRY_ASSIGN(const auto file, dir->create_file(name_of(spot)));
  NB_TRY(file->write_at(0, as_bytes(entry.target)));
  return settle(*file, meant_of_entry(entry), path, inherits(spot));
}

Result<StagedNode> Stager::make_special(const Spot& spot, const wire::Entry& entry, const std::string& path) {
  if (needs_placeholder(entry)) return make_placeholder(spot, entry, path);
  NB_TRY_ASSIGN(fs::Directory * dir, directory(spot));
  const std::string name = name_of(spot);
  const bool is_symlink = entry.type == fs::FileType::symlink;
  const Status made =
      is_symlink ? dir->create_symlink(name, entry.target) : dir->create_node(name, entry.type, entry.node);
  // A device that may not be made, or whose number this file system cannot hold, is kept as a file that says what it
  // is.
  if (!made && is_refusal(made.error())) {
    // FUSE may have made something else before it says so.
    const Status removed = dir->remove_file(name);
    if (!removed && removed.error().code != Errc::not_found) return tl::make_unexpected(removed.error());
    return make_placeholder(spot, entry, path);
  }
  NB_TRY(made);
  NB_TRY_ASSIGN(const auto node, dir->open_node(name));
  return settle(*node, meant_of_entry(entry), path, is_symlink ? Inherits::nothing : inherits(spot));
}

Result<fs::Metadata> Stager::default_metadata(const fs::Directory& parent) {
  NB_TRY_ASSIGN(const fs::Stat above, parent.stat());
  NB_TRY_ASSIGN(const fs::Xattrs theirs, parent.xattrs());
  fs::Directory& slots = m_transaction.slots();
  const std::string name = txn::Transaction::slot_name(m_transaction.next_slot());
  NB_TRY_ASSIGN(const auto probe, fs::PathRoot::make_directory(slots, name));
  fs::Xattrs xattrs;
  for (const fs::Xattr& each : theirs) {
    if (each.name != k_default_acl) continue;
    xattrs = {{std::string(k_access_acl), each.value}, each};
    // The kernel derives the mode.
    NB_TRY(probe->set_xattr(std::string(k_access_acl), each.value));
  }
  NB_TRY_ASSIGN(const fs::Stat made, probe->stat());
  NB_TRY(slots.remove_directory(name));
  fs::Metadata out{made.mode, made.owner, made.mtime, std::move(xattrs)};
  if ((above.mode & k_set_group_id) != 0) {
    out.mode |= k_set_group_id;
    out.owner.gid = above.owner.gid;
  }
  return out;
}

Status Stager::make_directory(const Spot& spot) {
  NB_FAILPOINT("session.stage.directory");
  NB_TRY_ASSIGN(fs::Directory * dir, directory(spot));
  NB_TRY_ASSIGN(const auto made, dir->create_directory(name_of(spot)));
  // At once: directories may be made in it before it gets its own metadata.
  return inherits(spot) == Inherits::acls ? strip_inherited_acls(*made) : Status{};
}

Status Stager::strip_adopted(fs::Node& node) {
  NB_TRY_ASSIGN(const fs::Xattrs xattrs, node.xattrs());
  if (xattrs.empty()) return {};
  NB_TRY_ASSIGN(const fs::Stat stat, node.stat());
  // An ordinary user needs write permission for this; the mode is given anew in any case.
  if (stat.type != fs::FileType::symlink) NB_TRY(node.set_mode(stat.mode | 0200));
  for (const fs::Xattr& each : xattrs) NB_TRY(strip(node, each.name));
  return {};
}

Result<std::unique_ptr<fs::File>> Stager::create_file(const Spot& spot, const fs::Metadata& meta) {
  NB_TRY_ASSIGN(fs::Directory * dir, directory(spot));
  return create_in(*dir, name_of(spot), meta);
}

Result<std::unique_ptr<fs::File>> Stager::create_in(fs::Directory& directory, const std::string& name,
                                                    const fs::Metadata& meta) {
  NB_FAILPOINT("session.stage.file");
  return directory.create_file(name, creation_mode(meta));
}

Result<Placement> Stager::place(const Spot& spot) {
  NB_TRY_ASSIGN(fs::Directory * dir, directory(spot));
  const std::shared_ptr<fs::Directory> held = spot.in_tree ? m_cached : nullptr;
  return Placement{std::shared_ptr<fs::Directory>(held, dir), name_of(spot), inherits(spot)};
}

Result<std::optional<StagedNode>> Stager::finish_plain(fs::File& file, const fs::Metadata& meta, Inherits inherits,
                                                       PlainMetadata& plain) {
  NB_FAILPOINT("session.stage.file_written");
  const std::optional<fs::Stat> made = file.made_as();
  if (!made || inherits == Inherits::acls || !plain.give(file, *made, meta)) return std::nullopt;
  txn::Ident ident = txn::ident_of(*made);
  ident.mtime = meta.mtime;
  return StagedNode{ident, meta, made->born};
}

Result<StagedNode> Stager::finish_file(const Spot& spot, fs::File& file, const fs::Metadata& meta,
                                       const std::string& path) {
  NB_TRY_ASSIGN(auto plain, finish_plain(file, meta, inherits(spot), m_plain));
  if (plain) {
    if (const auto at = RelPath::parse(path)) keep_nothing_beside(*at);
    return *std::move(plain);
  }
  return settle(file, {fs::FileType::regular, meta, {}}, path, inherits(spot));
}

void Stager::keep_nothing_beside(const RelPath& path) {
  if (m_beside != nullptr) static_cast<void>(m_beside->put(path, fs::FileType::regular, {}));
}

Result<StagedNode> Stager::settle_file(const Spot& spot, fs::File& file, const fs::Metadata& meta,
                                       const std::string& path) {
  NB_TRY(directory(spot));
  return settle(file, {fs::FileType::regular, meta, {}}, path, inherits(spot));
}

Result<StagedNode> Stager::settle_directory(const Spot& spot, const fs::Metadata& meta, const std::string& path) {
  NB_TRY_ASSIGN(fs::Directory * dir, directory(spot));
  NB_TRY_ASSIGN(const auto node, dir->open_directory(name_of(spot)));
  NB_TRY_ASSIGN(StagedNode staged, settle(*node, {fs::FileType::directory, meta, {}}, path, inherits(spot)));
  // Whatever the final mode is, staging goes on in it.
  NB_TRY(node->set_mode(staged.literal.mode | k_staging_mode));
  // A directory in it may have been made already; only now is it known what its files inherit.
  if (m_cached && m_cached_slot == spot.slot && m_cached_below == below_of(spot)) m_cached.reset();
  return staged;
}

Status Stager::finish_tree_directory(const Spot& spot, const fs::Metadata& literal) {
  return m_transaction.finish_staged_directory(spot.slot, below_of(spot), literal.mode, literal.mtime);
}

Result<StagedNode> Stager::linked(const Spot& spot) {
  NB_TRY_ASSIGN(fs::Directory * dir, directory(spot));
  NB_TRY_ASSIGN(const fs::Stat stat, dir->stat_at(name_of(spot)));
  return StagedNode{txn::ident_of(stat), {}, stat.born};
}

Result<StagedNode> Stager::link_staged(const Spot& from, const Spot& to) {
  NB_TRY_ASSIGN(fs::Directory * source, directory(from));
  NB_TRY_ASSIGN(const auto held, source->reopen());  // directory() may drop it for `to`
  NB_TRY_ASSIGN(fs::Directory * target, directory(to));
  NB_TRY(held->link(name_of(from), *target, name_of(to)));
  return linked(to);
}

Result<StagedNode> Stager::link_live(const RelPath& set_path, const Spot& to) {
  NB_TRY_ASSIGN(const auto parent, m_set.root().open_directory_path(set_path.parent()));
  NB_TRY_ASSIGN(fs::Directory * target, directory(to));
  NB_TRY(parent->link(set_path.name(), *target, name_of(to)));
  return linked(to);
}

Result<fs::Metadata> Stager::literal_for(fs::FileType type, const fs::Metadata& meta, const std::string& path) {
  fs::Directory& slots = m_transaction.slots();
  const std::string name = txn::Transaction::slot_name(m_transaction.next_slot());
  std::unique_ptr<fs::Node> probe;
  if (type == fs::FileType::directory) {
    NB_TRY_ASSIGN(probe, slots.create_directory(name));
  } else {
    NB_TRY_ASSIGN(probe, slots.create_file(name));
  }
  auto staged = settle(*probe, {type, meta, {}}, path, Inherits::nothing);
  NB_TRY(type == fs::FileType::directory ? slots.remove_directory(name) : slots.remove_file(name));
  if (!staged) return tl::make_unexpected(staged.error());
  return std::move(staged->literal);
}

bool Stager::may_open_up(const fs::Stat& stat) const {
  const bool keeps_bit = ::geteuid() == 0 || (stat.mode & k_set_group_id) == 0 || is_own_group(stat.owner.gid);
  return fs::acts_as_owner(stat) && keeps_bit;
}

bool Stager::is_own_group(std::uint32_t gid) const {
  return std::find(m_groups.begin(), m_groups.end(), gid) != m_groups.end();
}

Status Stager::check_space() {
  NB_TRY_ASSIGN(const fs::Space space, m_set.control().space());
  m_check_bytes = txn::space_reserve(space) / 2;
  if (txn::has_room(space)) return {};
  return fail(Errc::no_space, "file set: only " + std::to_string(space.free_bytes >> 20) + " MiB are left");
}

}  // namespace nb::session
