// SPDX-License-Identifier: Apache-2.0
// The one seam to the file system: Node, File and Directory are capabilities on an open inode. A Directory cannot reach
// its parent, never follows a symbolic link, and takes single names (is_safe_name, asserted) or checked RelPaths. Two
// implementations pass one contract suite: the real one (posix_directory.hpp) and a simulated one that can lose or
// reorder whatever was not synced (sim_directory.hpp).
//
// Errors are coded by errc_from_errno; contexts name the operation and the name ("rename: a -> b").
// Objects are not thread-safe; several objects on one inode may be used from several threads. A Directory of the real
// file system (it has a kernel_path()) holds nothing but a descriptor and may be used by several threads at once, list()
// excepted, which moves the descriptor's position.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/bytes.hpp"
#include "base/rel_path.hpp"
#include "base/result.hpp"
#include "fs/stat.hpp"

namespace nb::fs {

enum class OpenMode : std::uint8_t { read, read_write };
enum class RenameMode : std::uint8_t {
  replace,     // as rename(2): a file takes the place of another in one step
  no_replace,  // Errc::exists if the new name is taken
};
enum class LockKind : std::uint8_t { shared, exclusive };

// An inode of any type, opened without regard to its permissions where that is possible (O_PATH).
class Node {
 public:
  virtual ~Node() = default;
  [[nodiscard]] virtual Result<Stat> stat() const = 0;
  // All extended attributes this process can list, POSIX ACLs included; empty where the file system has none.
  [[nodiscard]] virtual Result<Xattrs> xattrs() const = 0;
  // Names the file system (of btrfs: the subvolume) in which this inode's number is unique, the same after boots and
  // mounts. Nothing where there is no such name, or where equal size, mtime, ctime and inode do not promise an equal
  // content (network file systems, FUSE, FAT, tmpfs), and for a Node that is neither File nor Directory.
  [[nodiscard]] virtual std::optional<std::string> file_system_identity() const = 0;
  // Whether somebody may have the file open for writing, or mapped so: a store into mapped memory need not move ctime.
  // True where that cannot be told (other users' files without CAP_LEASE), and for what is no File open to be read.
  [[nodiscard]] virtual bool may_have_writer() const { return true; }
  virtual Status set_owner(Owner owner) = 0;        // clears set-id bits, as chown(2): set the mode after it
  virtual Status set_mode(std::uint32_t mode) = 0;  // 07777 bits; Errc::unsupported on a symlink
  virtual Status set_mtime(Timestamp mtime) = 0;    // atime: now; the file system may round (compare stat())
  virtual Status set_xattr(const std::string& name, std::string_view value) = 0;
  virtual Status remove_xattr(const std::string& name) = 0;
};

// An open regular file.
class File : public Node {
 public:
  // What stat() said when create_file made this file, which saves asking again; nothing for one that was opened.
  [[nodiscard]] virtual std::optional<Stat> made_as() const { return std::nullopt; }
  // Up to out.size() bytes from `offset`; 0 at the end. EINTR is retried, short reads are possible.
  virtual Result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> out) = 0;
  // All of `data`.
  virtual Status write_at(std::uint64_t offset, ByteView data) = 0;
  virtual Status set_size(std::uint64_t size) = 0;  // growing makes a hole
  virtual Status sync() = 0;                        // content and inode durable (fsync)
  // Asks the kernel to begin writing this range; a hint, never an error.
  virtual void start_writeback(Extent range) = 0;
  // Tells the kernel that the file will be read once, from front to back; a hint. What was not in the page cache before
  // does not stay in it, where the kernel can do that (Linux 6.14).
  virtual void expect_sequential_read() = 0;
  // What the page cache has of it goes, so that the next reading is of the disk; a hint. What is not written yet stays.
  virtual void forget_cached() = 0;
  // The next stretch of data at or after `offset`; nothing if only a hole is left before the end.
  virtual Result<std::optional<Extent>> next_data(std::uint64_t offset) = 0;
  // Shares blocks instead of copying (reflink). False where the file system cannot, not between these two files, or not
  // now: then the caller copies, and meets what is wrong itself. A part of the range may be shared all the same: who leaves
  // holes in it cuts that off before. Neither file needs to be synced before. `from` may change afterwards.
  // clone_from: all of `from` at the same offsets; what this file has beyond its end stays.
  virtual Result<bool> clone_from(const File& from) = 0;
  // `range` of `from`, not empty and inside it, to `offset` on; both offsets multiples of the file system's block, and
  // the length too unless the range ends with `from` and what is written ends with or beyond this file.
  virtual Result<bool> clone_range(const File& from, Extent range, std::uint64_t offset) = 0;
  // Makes the range read as zeros and frees its whole blocks; the size stays. False where the file system cannot.
  virtual Result<bool> punch_hole(Extent range) = 0;
  // Takes an open-file-description lock on byte `at` (fcntl F_OFD_SETLK); false if someone else holds it.
  // It ends with the File, and so with the process. Shared locks need a readable file, exclusive ones a writable one.
  virtual Result<bool> try_lock(LockKind kind, std::uint64_t at) = 0;
};

class Directory : public Node {
 public:
  // Names the file system as file_system_identity() does, and beside it what this process can see of extended
  // attributes there: an inode under an equal name and with an equal ctime has equal attributes in the eyes of an equal
  // process. Nothing where that is not known to hold: where a change of an attribute may leave ctime alone, and on a
  // mount that hides some of them.
  [[nodiscard]] virtual std::optional<std::string> attribute_identity() const { return std::nullopt; }

  // Two names that differ in case may be one in it (the directory's casefold flag). File systems that ignore case as a
  // whole need not say so here.
  [[nodiscard]] virtual bool folds_case() const { return false; }

  // Another handle on the same directory.
  [[nodiscard]] virtual Result<std::unique_ptr<Directory>> reopen() const = 0;

  // Every name except '.' and '..', sorted by memcmp on raw bytes. Errc::io where one is longer than k_max_name_bytes.
  [[nodiscard]] virtual Result<std::vector<NamedType>> list() const = 0;
  // The same, with such names apart: vfat, exfat, ntfs3 and cifs have names of up to 765 bytes.
  struct Names {
    std::vector<NamedType> usable;
    std::vector<std::string> too_long;
  };
  [[nodiscard]] virtual Result<Names> list_all() const {
    NB_TRY_ASSIGN(std::vector<NamedType> names, list());
    return Names{std::move(names), {}};
  }

  // About one name; a symlink itself, never what it points to.
  [[nodiscard]] virtual Result<Stat> stat_at(std::string_view name) const = 0;
  [[nodiscard]] virtual Result<Xattrs> xattrs_at(std::string_view name) const = 0;
  [[nodiscard]] virtual Result<std::string> read_link(std::string_view name) const = 0;

  // Opening. A symlink is Errc::path, another wrong type Errc::path too.
  [[nodiscard]] virtual Result<std::unique_ptr<Node>> open_node(std::string_view name) const = 0;
  [[nodiscard]] virtual Result<std::unique_ptr<File>> open_file(std::string_view name, OpenMode mode) const = 0;
  [[nodiscard]] virtual Result<std::unique_ptr<Directory>> open_directory(std::string_view name) const = 0;
  // Several components at once, beneath this directory, no symlink anywhere in it (openat2, or a walk without it).
  [[nodiscard]] virtual Result<std::unique_ptr<Directory>> open_directory_path(const RelPath& path) const = 0;

  // Creating; the name must be free (Errc::exists). Mode 0600 for nodes, 0700 for directories; a file gets `mode`, of
  // permission bits alone, which costs no further call if the umask does not take any of it.
  virtual Result<std::unique_ptr<File>> create_file(std::string_view name, std::uint32_t mode = 0600) = 0;
  virtual Result<std::unique_ptr<Directory>> create_directory(std::string_view name) = 0;
  virtual Status create_symlink(std::string_view name, const std::string& target) = 0;
  // `type` is fifo, socket, char_device or block_device.
  virtual Status create_node(std::string_view name, FileType type, DeviceNumber number) = 0;

  // `to` may be this directory. Errc::cross_device between file systems or subvolumes.
  virtual Status link(std::string_view name, Directory& to, std::string_view new_name) = 0;
  virtual Status rename(std::string_view name, Directory& to, std::string_view new_name, RenameMode mode) = 0;
  virtual Status remove_file(std::string_view name) = 0;       // any type but a directory
  virtual Status remove_directory(std::string_view name) = 0;  // empty ones only

  // Names created, renamed and removed here are durable (fsync on the directory).
  virtual Status sync() = 0;
  // Everything written to this file system since this handle was opened is durable (syncfs). An error that the kernel
  // saw since then is reported once; after one the data is lost and must be written anew.
  virtual Status sync_file_system() = 0;
  // Whether sync_file_system reports write errors (kernel 5.8 and a local file system); if not, sync each file.
  [[nodiscard]] virtual bool sync_file_system_reports() const = 0;

  [[nodiscard]] virtual Result<Space> space() const = 0;
  // A path by which the kernel finds this very directory while this handle lives, whatever it is called meanwhile
  // ("/proc/self/fd/N"). For libraries that open files by themselves. Nothing if it is not the kernel's.
  [[nodiscard]] virtual std::optional<std::string> kernel_path() const = 0;
  // This process may create and remove names here (effective ids, access(2) semantics).
  [[nodiscard]] virtual bool writable() const = 0;
};

}  // namespace nb::fs
