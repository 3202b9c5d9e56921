// SPDX-License-Identifier: Apache-2.0
// State: the inodes, names, locks and faults of one simulated file system, and what of it is durable. Every handle
// locks its mutex for the whole of each call. Internal to src/fs.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "fs/sim_content.hpp"
#include "fs/sim_directory.hpp"
#include "fs/sim_names.hpp"
#include "fs/stat.hpp"

namespace nb::fs::sim {

inline constexpr InodeNumber k_root = 1;

struct Attributes {
  std::uint32_t mode = 0;
  Owner owner;
  Timestamp mtime;
  Timestamp ctime;
  std::map<std::string, std::string> xattrs;
};

// One change to Attributes, kept until a sync so that it can be lost by itself.
struct AttributeChange {
  enum class Kind : std::uint8_t { touch, touch_ctime, set_owner, set_mode, set_mtime, set_xattr, remove_xattr };
  Kind kind = Kind::touch;  // touch: content or names changed; touch_ctime: links did
  Timestamp ctime;
  Timestamp mtime;
  Owner owner;
  std::uint32_t mode = 0;
  std::string name;
  std::string value;
};

struct Inode {
  FileType type = FileType::regular;
  Timestamp born;
  std::string target;  // of a symlink
  DeviceNumber node;
  std::uint64_t device = 0;
  std::uint64_t mount = 0;
  bool immutable = false;
  bool mount_root = false;

  Attributes attributes;
  Attributes durable_attributes;
  std::vector<AttributeChange> pending;

  Content content;
  Content durable_content;
  bool content_unsynced = false;
  Content::BlockSet dirty;  // changed since the last sync
  Content::BlockSet lost;   // a sync of them failed and they were not written again

  std::uint64_t links = 0;
  std::uint64_t handles = 0;
  // Where it was last put: of a directory its one place.
  InodeNumber parent = k_no_inode;
  std::string name;
};

// What a gate says: go on, or report success without doing anything.
enum class Gate : std::uint8_t { proceed, pretend };

class State {
 public:
  explicit State(const SimOptions& options);

  // --- faults (sim_state.cpp)
  // Every changing call passes here first: counts, calls the hook, applies the chosen faults.
  Result<Gate> enter(SimOperation kind, InodeNumber at, std::string_view name = {}, InodeNumber to = k_no_inode,
                     std::string_view new_name = {});
  void go_on();
  // Every reading call: an error once the machine is dead.
  Status check_alive() const;

  // --- inodes (sim_state.cpp)
  Inode& inode(InodeNumber number);
  Result<Stat> stat(InodeNumber number);
  InodeNumber find_path(std::string_view path) const;
  // A new inode with durable attributes as at its creation; it has no name yet.
  InodeNumber make_inode(FileType type, InodeNumber parent);
  void change(InodeNumber number, AttributeChange change);
  void touch(InodeNumber number);
  void change_ctime(InodeNumber number);
  // Everything below `top`, itself included, is seen through another mount: of `device`.
  void set_mount(InodeNumber top, std::uint64_t device, std::uint64_t mount);
  void hold(InodeNumber number) { ++inode(number).handles; }
  void release(InodeNumber number);
  void release_if_dead(const Inode& inode);
  std::uint64_t free_bytes() const;
  // The change to the live names, with link counts, times and what is to be made durable.
  void commit(NameChange change);

  // --- durability (sim_durable.cpp)
  enum class SyncResult : std::uint8_t { done, failed };
  void sync_file(InodeNumber number, SyncResult result);
  void sync_directory(InodeNumber number, SyncResult result);
  void sync_device(std::uint64_t device, SyncResult result);
  std::shared_ptr<State> after_crash(CrashChoice choice) const;

  // Plain data: this is the inside of one module.
  mutable std::recursive_mutex mutex;  // recursive because the hook may use the file system
  SimOptions options;
  NameTable names;
  std::map<std::pair<InodeNumber, std::uint64_t>, std::map<std::uint64_t, LockKind>> locks;  // (inode, byte) -> holders
  std::uint64_t next_lock_owner = 1;
  std::uint64_t used_blocks = 0;

  std::uint64_t operations = 0;
  std::uint64_t die_at = std::numeric_limits<std::uint64_t>::max();
  std::map<std::uint64_t, int> fail_at;
  std::set<SimOperation> ignored;
  std::function<void(const SimEvent&)> hook;
  std::uint64_t next_device = 1;
  std::uint64_t next_mount = 1;

 private:
  using Participates = std::function<bool(const NameChange&)>;
  std::string path_of(InodeNumber number, std::string_view name) const;
  Timestamp tick();
  void lose_unsynced(SimOperation kind, InodeNumber at);
  void adjust_links(const NameChange& change);
  void sync_attributes(Inode& inode);
  void promote(const Participates& participates, SyncResult result);
  void spread_doubt();
  void settle();
  void adopt(InodeNumber directory, NameTable& reachable);

  std::map<InodeNumber, Inode> m_inodes;
  InodeNumber m_next_inode = k_root;
  std::uint64_t m_shown_numbers_from = 0;  // what stat adds
  std::uint64_t m_ticks = 0;
  bool m_dead = false;
  bool m_in_hook = false;
  NameTable m_durable_names;
  std::vector<NameChange> m_pending_names;
};

void apply(Attributes& attributes, const AttributeChange& change, FileType type);

}  // namespace nb::fs::sim
