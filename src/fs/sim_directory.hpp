// SPDX-License-Identifier: Apache-2.0
// SimFileSystem: a file system in memory that knows what a disk would hold after a power cut. Crash tests run real
// code on it, stop it at any operation, and go on from what after_crash says is left. It passes the same contract
// suite as the real one.
//
// What is durable: a file's content and inode after File::sync; a directory's inode and the names created, linked,
// renamed and removed in it after Directory::sync (for a rename: of either directory, and whatever that change rests
// on with it); everything on the device after sync_file_system. A name that is kept is kept whole: a rename never
// shows half. Syncing a new file does not make its name durable.
//
// Time is a counter, so that a run is the same every time. All objects may be used from several threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "fs/directory.hpp"

namespace nb::fs {

namespace sim {
class State;
}

struct SimOptions {
  std::uint64_t total_bytes = std::uint64_t{1} << 40;  // counted in blocks of 4 KiB of file content
  std::size_t most_read_bytes = ~std::size_t{0};       // what one read_at gives at most
  bool xattrs = true;                                  // if not, setting one is Errc::unsupported and there are none
  bool hard_links = true;                              // if not, link is Errc::not_permitted (EPERM, as FAT answers)
  bool reflink = true;                                 // if not, clones answer false, as on ext4
  bool enforce_modes = false;       // the owner's rwx bits bind, as for an ordinary user who owns everything
  bool reports_sync_errors = true;  // what sync_file_system_reports answers
  bool moves_at_once = true;        // if not, a file gets a free name by a link and a removal, two operations
  bool numbers_last = true;  // if not, inodes have other numbers after a crash, and nothing identifies the device
};

enum class SimOperation : std::uint8_t {
  create_file,
  create_directory,
  create_symlink,
  create_node,
  write,
  set_size,
  set_owner,
  set_mode,
  set_mtime,
  set_xattr,
  remove_xattr,
  link,
  rename,
  remove_file,
  remove_directory,
  sync_file,
  sync_directory,
  sync_file_system,
};
std::string_view to_string(SimOperation kind);

// One operation that is about to happen. Paths are from the root; an inode with several names has its latest one.
struct SimEvent {
  std::uint64_t number = 0;
  SimOperation kind = SimOperation::write;
  std::string path;      // for set_xattr and remove_xattr, of the inode
  std::string new_path;  // of link and rename
};

// What becomes of everything that was not synced.
class CrashChoice {
 public:
  static CrashChoice lose_all() { return CrashChoice(Kind::lose_all, 0); }
  static CrashChoice keep_all() { return CrashChoice(Kind::keep_all, 0); }
  // Each operation kept or lost by itself, a later one perhaps without an earlier one; the content of each file kept,
  // old, zeros or torn at some length. The same seed chooses the same.
  static CrashChoice random(std::uint64_t seed) { return CrashChoice(Kind::random, seed); }

  enum class Kind : std::uint8_t { lose_all, keep_all, random };
  [[nodiscard]] Kind kind() const { return m_kind; }
  [[nodiscard]] std::uint64_t seed() const { return m_seed; }

 private:
  CrashChoice(Kind kind, std::uint64_t seed) : m_kind(kind), m_seed(seed) {}
  Kind m_kind;
  std::uint64_t m_seed;
};

// A handle: copies are the same file system. Directories obtained from it keep it alive.
class SimFileSystem {
 public:
  explicit SimFileSystem(SimOptions options = {});

  // A new handle on the root; counts as no operation.
  [[nodiscard]] std::unique_ptr<Directory> root() const;

  // Every changing or syncing call is an operation, numbered from 1, also one that then fails by itself.
  // This many there were.
  [[nodiscard]] std::uint64_t operations() const;
  // The operation with this number and all later ones fail with EIO and change nothing, and so does every reading call
  // after it: the machine is dead.
  void die_at(std::uint64_t operation);
  // This operation alone fails with `sys_errno` and changes nothing. A failed sync loses the unsynced content for good
  // (a later sync succeeds without it, as on Linux); unsynced names may or may not reach the disk, and no later sync
  // makes them sure.
  void fail_at(std::uint64_t operation, int sys_errno);
  // Called before each operation; it may choose the fault (die_at and fail_at with this number) or change the file
  // system as somebody else would: what it does itself is not numbered, not reported to it and never fails by choice.
  void on_operation(std::function<void(const SimEvent&)> hook);
  // Operations of this kind do nothing and report success (not for create_file and create_directory).
  void ignore(SimOperation kind);

  // What a disk may hold after a power cut at this moment: a new, independent file system without faults, hook,
  // ignored kinds or locks. Inode numbers, mounts and immutable flags stay.
  [[nodiscard]] SimFileSystem after_crash(CrashChoice choice) const;

  // A process was killed at die_at, not the machine: all goes on from what every process sees.
  void go_on();

  // For tests, at once and durably; `path` exists (asserted). An empty path is the root.
  void set_immutable(std::string_view path);
  void clear_immutable(std::string_view path);
  // Makes this directory, with all in it, another file system.
  void mount(std::string_view path);
  // Makes it another mount of the same file system, as mount --bind does.
  void bind(std::string_view path);

 private:
  explicit SimFileSystem(std::shared_ptr<sim::State> state);
  std::shared_ptr<sim::State> m_state;
};

}  // namespace nb::fs
