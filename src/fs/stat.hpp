// SPDX-License-Identifier: Apache-2.0
// What a file system says about one name: Stat, Metadata and their parts. Plain values, used on the wire, in records
// and in the Directory interface.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace nb::fs {

// On the wire and on disk: never renumber.
enum class FileType : std::uint8_t {
  regular = 1,
  directory = 2,
  symlink = 3,
  fifo = 4,
  socket = 5,
  char_device = 6,
  block_device = 7,
};

// Seconds and nanoseconds since 1970, before it and after 2106 too; nsec is always 0..999,999,999.
struct Timestamp {
  std::int64_t sec = 0;
  std::uint32_t nsec = 0;
  friend auto operator<=>(const Timestamp&, const Timestamp&) = default;
};

struct Owner {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  friend auto operator<=>(const Owner&, const Owner&) = default;
};

struct DeviceNumber {
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
  friend auto operator<=>(const DeviceNumber&, const DeviceNumber&) = default;
};

struct Stat {
  FileType type = FileType::regular;
  std::uint32_t mode = 0;  // the 07777 bits only
  Owner owner;
  std::uint64_t size = 0;             // of a regular file, in bytes; 0 for every other type
  std::uint64_t allocated_bytes = 0;  // on disk: less than the size where there are holes
  Timestamp mtime;
  Timestamp ctime;
  std::uint64_t device = 0;  // the file system (btrfs: the subvolume)
  std::uint64_t mount = 0;   // which mount of it shows the file here; 0 where the kernel (before 5.8) does not tell
  std::uint64_t inode = 0;
  Timestamp born;  // when the inode was made; zero where the file system does not tell
  std::uint64_t links = 1;
  DeviceNumber node;        // of a device file
  bool immutable = false;   // chattr +i or +a
  bool mount_root = false;  // something is mounted here
};

// The same inode of a file system, without a change between: any change of content or metadata moves ctime.
inline bool is_same_state(const Stat& a, const Stat& b) {
  return a.inode == b.inode && a.size == b.size && a.mtime == b.mtime && a.ctime == b.ctime;
}

// Whether it is told when the inode was made. A number alone may have been given out anew, or be another file's in a
// copy of the tree; the two together are one file as long as it lives.
[[nodiscard]] inline bool is_known_birth(const Timestamp& born) { return born != Timestamp{}; }

// Whether rename and link work between the two: not between file systems, and not between two mounts of one either.
[[nodiscard]] inline bool same_mount(const Stat& a, const Stat& b) {
  return a.device == b.device && a.mount == b.mount;
}

struct Xattr {
  std::string name;   // with its namespace: "user.x", "system.posix_acl_access"
  std::string value;  // raw bytes
  friend auto operator<=>(const Xattr&, const Xattr&) = default;
};
using Xattrs = std::vector<Xattr>;  // sorted by name, names unique

// What nbackup carries beside type and content. POSIX ACLs and file capabilities are the extended attributes that the
// kernel shows them as.
struct Metadata {
  std::uint32_t mode = 0;  // the 07777 bits
  Owner owner;
  Timestamp mtime;
  Xattrs xattrs;
  friend bool operator==(const Metadata&, const Metadata&) = default;
};

struct NamedType {
  std::string name;
  FileType type = FileType::regular;
};

struct Extent {
  std::uint64_t offset = 0;  // bytes
  std::uint64_t length = 0;  // bytes
};

struct Space {
  std::uint64_t free_bytes = 0;   // what this process may use; all-ones where the file system does not say
  std::uint64_t total_bytes = 0;  // 0 there
  std::uint64_t free_inodes = 0;  // all-ones where the file system does not count them
};

}  // namespace nb::fs
