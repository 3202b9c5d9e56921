// SPDX-License-Identifier: Apache-2.0
// Stager: makes everything new in the stage of a transaction, complete with metadata, and writes the journal operations
// that bring it in. What the sink cannot represent is kept aside with the file (fs/kept_metadata.hpp) and counted; what
// cannot even be kept is reported once per kind. Used by Sink from its one thread.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fs/kept_metadata.hpp"
#include "session/kept_beside.hpp"
#include "session/plain_metadata.hpp"
#include "session/reporter.hpp"
#include "txn/transaction.hpp"

namespace nb::session {

// A place in the stage: new/<slot> itself, or `name` in the directory `below` of the tree new/<slot>.
struct Spot {
  std::uint64_t slot = 0;
  bool in_tree = false;
  RelPath below;     // in_tree only
  std::string name;  // in_tree only
};

struct StagedNode {
  txn::Ident ident;
  fs::Metadata literal;  // what the inode has now; empty for a second name of one that has it already
  fs::Timestamp born;
};

enum class Inherits : std::uint8_t { nothing, acls };

// Where a file is made, for another thread; keeps the directory open. Of the slots' directory the transaction does.
struct Placement {
  std::shared_ptr<fs::Directory> directory;
  std::string name;
  Inherits inherits = Inherits::nothing;
};

// How this set holds a source's attributes that have names of nbackup's own.
fs::ReservedNames reserved_names_in(const txn::FileSet& set);

class Stager {
 public:
  // `beside` takes what cannot be kept with a file; may be null, outlives the stager.
  Stager(txn::FileSet& set, txn::Transaction& transaction, Reporter& reporter, KeptBeside* beside);

  [[nodiscard]] Spot new_spot();
  // The directory that holds `spot`, and its name there.
  Result<fs::Directory*> directory(const Spot& spot);
  [[nodiscard]] static std::string name_of(const Spot& spot);

  // Symlink, FIFO, socket or device, as meant by `entry`; `path` is for messages.
  Result<StagedNode> make_special(const Spot& spot, const wire::Entry& entry, const std::string& path);
  // What a directory has that is made in `parent` by nobody in particular: as the umask and the parent's set-group-id bit
  // and default ACL say.
  Result<fs::Metadata> default_metadata(const fs::Directory& parent);
  // A directory with u+rwx; owner and attributes as meant, mode and mtime later (finish_tree_directory, or the
  // journal).
  Status make_directory(const Spot& spot);
  // Of what an interrupted run has staged no attribute stays: the source may have lost it since.
  static Status strip_adopted(fs::Node& node);
  // `meta` is what the file will have in the end; more than a hint only to finish_file and finish_plain.
  Result<std::unique_ptr<fs::File>> create_file(const Spot& spot, const fs::Metadata& meta);
  // The same in steps that any thread may do: make the file, write it, and give it its metadata where that is plain
  // (nothing otherwise: then settle_file, by the stager's thread). `plain` is the thread's own.
  Result<Placement> place(const Spot& spot);
  static Result<std::unique_ptr<fs::File>> create_in(fs::Directory& directory, const std::string& name,
                                                     const fs::Metadata& meta);
  static Result<std::optional<StagedNode>> finish_plain(fs::File& file, const fs::Metadata& meta, Inherits inherits,
                                                        PlainMetadata& plain);
  Result<StagedNode> settle_file(const Spot& spot, fs::File& file, const fs::Metadata& meta, const std::string& path);
  // Of a file whose inode holds all its metadata: what was kept beside an earlier one at `path`, which is below the
  // transfer's root, goes. finish_file does so itself.
  void keep_nothing_beside(const RelPath& path);
  // A file whose content is complete gets its metadata.
  Result<StagedNode> finish_file(const Spot& spot, fs::File& file, const fs::Metadata& meta, const std::string& path);
  // Gives a staged directory everything, then takes mode and mtime back to what staging needs; returns what the inode
  // is to have in the end.
  Result<StagedNode> settle_directory(const Spot& spot, const fs::Metadata& meta, const std::string& path);
  Status finish_tree_directory(const Spot& spot, const fs::Metadata& literal);
  // A second name for `from`, a staged file or one of the live tree.
  Result<StagedNode> link_staged(const Spot& from, const Spot& to);
  Result<StagedNode> link_live(const RelPath& set_path, const Spot& to);
  // What a live file or directory would literally get if it were given `meta` (tried on a probe in the stage).
  Result<fs::Metadata> literal_for(fs::FileType type, const fs::Metadata& meta, const std::string& path);

  // This process may make such a live directory writable for a while. A group that this process is not in would lose its
  // set-group-id bit with the first change of mode.
  [[nodiscard]] bool may_open_up(const fs::Stat& stat) const;

  // Watches the free space; Errc::no_space while there is still a reserve.
  Status check_space();
  // How much may be written between two of these: half of what must stay free.
  [[nodiscard]] std::uint64_t check_bytes() const { return m_check_bytes; }
  [[nodiscard]] std::uint64_t kept_aside() const { return m_kept_aside; }

 private:
  // Of what was just made at `spot`, whose directory() was the last one asked for.
  [[nodiscard]] Inherits inherits(const Spot& spot) const;
  Result<StagedNode> settle(fs::Node& node, const fs::Meant& meant, const std::string& path, Inherits inherits);
  [[nodiscard]] bool needs_placeholder(const wire::Entry& entry) const;
  [[nodiscard]] bool is_own_group(std::uint32_t gid) const;
  Result<StagedNode> make_placeholder(const Spot& spot, const wire::Entry& entry, const std::string& path);
  void note(const fs::Kept& kept, fs::FileType actual, const std::string& path);
  Result<StagedNode> linked(const Spot& spot);

  txn::FileSet& m_set;
  txn::Transaction& m_transaction;
  Reporter& m_reporter;
  KeptBeside* m_beside;
  const fs::ReservedNames m_reserved;
  std::shared_ptr<fs::Directory> m_cached;  // of the tree directory used last
  std::uint64_t m_cached_slot = 0;
  RelPath m_cached_below;
  bool m_cached_inherits = false;
  PlainMetadata m_plain;
  const std::vector<gid_t> m_groups;  // that this process may give to its files
  std::uint64_t m_check_bytes = 0;
  std::uint64_t m_kept_aside = 0;
  std::set<std::string> m_lost_kinds;
};

}  // namespace nb::session
