// SPDX-License-Identifier: Apache-2.0
#include "base/errc.hpp"

#include <array>
#include <cerrno>

#include "base/assert.hpp"

namespace nb {
namespace {

using enum ErrorClass;

constexpr std::array k_table{
    ErrcInfo{Errc::usage, "usage", permanent, 1, "wrong use of the command line"},
    ErrcInfo{Errc::protocol_version, "protocol-version", permanent, 2, "no protocol version in common"},
    ErrcInfo{Errc::path, "path", permanent, 3, "path not usable"},
    ErrcInfo{Errc::unsupported, "unsupported", permanent, 4, "not supported by the other side"},
    ErrcInfo{Errc::remote_missing, "remote-missing", permanent, 5, "nbackup does not run on the remote host"},
    ErrcInfo{Errc::connect, "connect", transient, 10, "cannot connect"},
    ErrcInfo{Errc::host_key, "host-key", permanent, 10, "host key not accepted"},
    ErrcInfo{Errc::auth, "auth", permanent, 10, "login refused"},
    ErrcInfo{Errc::io, "io", permanent, 11, "file system error"},
    ErrcInfo{Errc::no_space, "no-space", permanent, 11, "no space left"},
    ErrcInfo{Errc::sync_failed, "sync-failed", permanent, 11, "data could not be made durable"},
    ErrcInfo{Errc::protocol, "protocol", permanent, 12, "the other side broke the protocol"},
    ErrcInfo{Errc::connection_lost, "connection-lost", transient, 12, "connection lost"},
    ErrcInfo{Errc::interrupted, "interrupted", permanent, 20, "interrupted"},
    ErrcInfo{Errc::partial, "partial", permanent, 23, "some files could not be transferred"},
    ErrcInfo{Errc::vanished, "vanished", per_file, 24, "vanished before it could be read"},
    ErrcInfo{Errc::changed, "changed", per_file, 23, "kept changing while it was read"},
    ErrcInfo{Errc::unreadable, "unreadable", per_file, 23, "cannot be read"},
    ErrcInfo{Errc::max_delete, "max-delete", permanent, 25, "more would be deleted than --max-delete allows"},
    ErrcInfo{Errc::timeout, "timeout", transient, 30, "no data from the other side in time"},
    ErrcInfo{Errc::connect_timeout, "connect-timeout", transient, 35, "connection not made in time"},
    ErrcInfo{Errc::differs, "differs", permanent, 40, "verification found differences"},
    ErrcInfo{Errc::guard_empty_source, "empty-source", permanent, 41, "the source is empty and the set is not"},
    ErrcInfo{Errc::guard_mount_point, "mount-gone", permanent, 42, "a mount point of the last push is not mounted"},
    ErrcInfo{Errc::guard_set_missing, "set-missing", permanent, 43,
             "the file set known at the destination is not there"},
    ErrcInfo{Errc::locked, "locked", transient, 44, "another run is writing to the file set"},
    ErrcInfo{Errc::in_doubt, "in-doubt", permanent, 45, "whether the commit is durable is not known"},
    ErrcInfo{Errc::rolled_back, "rolled-back", permanent, 46, "the commit could not be completed and was undone"},
    ErrcInfo{Errc::recovery_failed, "recovery-failed", permanent, 47,
             "an interrupted commit can be neither completed nor undone"},
    ErrcInfo{Errc::cross_device, "cross-device", permanent, 48, "another file system is mounted inside the file set"},
    ErrcInfo{Errc::readers_busy, "readers-busy", transient, 49, "readers kept the file set busy"},
    ErrcInfo{Errc::stale, "stale", permanent, 50, "the last push is too old"},
    ErrcInfo{Errc::bad_set, "bad-set", permanent, 51, "the file set's records are damaged"},
    ErrcInfo{Errc::not_found, "not-found", per_file, 23, "does not exist"},
    ErrcInfo{Errc::exists, "exists", per_file, 23, "exists already"},
    ErrcInfo{Errc::not_empty, "not-empty", per_file, 23, "directory is not empty"},
    ErrcInfo{Errc::not_permitted, "not-permitted", per_file, 23, "not permitted"},
    ErrcInfo{Errc::metadata_lost, "metadata-lost", per_file, 23, "metadata could neither be set nor kept"},
    ErrcInfo{Errc::foreign_edit, "foreign-edit", per_file, 23, "changed by someone else during the commit"},
    ErrcInfo{Errc::read_only, "read-only", permanent, 11, "cannot be written to"},
    ErrcInfo{Errc::internal, "internal", permanent, 14, "internal error of nbackup"},
    ErrcInfo{Errc::nested_set, "nested-set", permanent, 52, "another file set lies inside this one"},
    ErrcInfo{Errc::insecure, "insecure", permanent, 10, "the SSH connection is less secure than allowed"},
    ErrcInfo{Errc::hook_failed, "hook-failed", permanent, 54, "a hook failed"},
    ErrcInfo{Errc::damaged, "damaged", permanent, 53, "content is damaged"},
};

}  // namespace

const ErrcInfo& info(Errc code) {
  for (const ErrcInfo& row : k_table) {
    if (row.code == code) return row;
  }
  NB_ASSERT(false);  // every Errc has a row
  return k_table.back();
}

int exit_code_of(Errc code) {
  const ErrcInfo& row = info(code);
  return row.cls == per_file ? info(Errc::io).exit_code : row.exit_code;
}

bool is_not_there(Errc code) { return code == Errc::not_found || code == Errc::path; }

std::span<const ErrcInfo> errc_table() { return k_table; }

std::optional<Errc> errc_from_number(std::uint64_t number) {
  for (const ErrcInfo& row : k_table) {
    if (static_cast<std::uint64_t>(row.code) == number) return row.code;
  }
  return std::nullopt;
}

Errc errc_from_errno(int sys_errno) {
  switch (sys_errno) {
    case ENOSPC:
    case EDQUOT: return Errc::no_space;
    case ENOENT:
    case ENOTDIR: return Errc::not_found;
    case EEXIST: return Errc::exists;
    case ENOTEMPTY: return Errc::not_empty;
    case EACCES:
    case EPERM: return Errc::not_permitted;
    case EROFS: return Errc::read_only;
    case EXDEV: return Errc::cross_device;
    case ELOOP:
    case ENAMETOOLONG: return Errc::path;
    case EOPNOTSUPP:
    case ENOSYS: return Errc::unsupported;
    default: return Errc::io;
  }
}

}  // namespace nb
