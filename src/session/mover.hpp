// SPDX-License-Identifier: Apache-2.0
// Mover: makes new files out of contents that the set has already under other names: moved, renamed and copied files,
// rotated logs, renamed directories. Every content is checked before it is used, against its digest in the manifest if
// the file is exactly as that knows it, else by reading.
//
// Nothing is done to the live tree, and nothing is made, before the plan has ended: only then is it known which names
// go. A file whose name goes, which is alike in everything else, and which has no other name but those that history keeps
// of it, is hard-linked into the stage; everything else is cloned or copied, so that two names that stay never share an
// inode. Used by Sink from its one thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "scan/lister.hpp"
#include "session/departures.hpp"
#include "session/taken_file.hpp"
#include "txn/kept_names.hpp"

namespace nb::session {

class Mover {
 public:
  // `root` is that of the set. All outlive it.
  Mover(fs::Directory& root, txn::Transaction& transaction, Stager& stager, BasisStore& bases,
        const hash::Secret& secret);

  // A live directory that was committed with this listing; nothing if none is known. A hint.
  std::optional<RelPath> find_directory(const hash::Digest& listing);
  // Whether the digest of a file is worth knowing: some other file may have its content. `set_path` is its path below
  // the set's root, `present` what is there now, or null.
  bool may_have(const RelPath& set_path, const wire::Entry& entry, const fs::Stat* present);

  // Takes the content `digest` for `file`, whose path below the set's root is `set_path`, if any live file has it.
  // False if not. Errors end the run.
  Result<bool> take(const ExpectedFile& file, const RelPath& set_path, const hash::Digest& digest);
  // The same from one file, if it also has the mtime that is wanted.
  Result<bool> take_from(const RelPath& from, const ExpectedFile& file, const RelPath& set_path,
                         const hash::Digest& digest);

  // At the end of the plan: brings all that was taken into the stage. `staged` is told of each file and adds its
  // operation, `lost` of each that could not be made, which is then left out. Errc::io where a content is not there any
  // more. `base` is that of the run, below the set's root.
  using Staged = std::function<Status(const TakenFile& taken, const StagedNode& node)>;
  using Lost = std::function<Status(Error error, ExpectedFile& file)>;
  Status settle(const RelPath& base, const Staged& staged, const Lost& lost);
  // After the commit: a large file that moved gives up its old name in the trash. Emptying that later would change its
  // ctime, and whatever is remembered of it would not be believed any more.
  void drop_second_names(const RelPath& base);

  [[nodiscard]] std::uint64_t files() const { return m_files; }
  [[nodiscard]] std::uint64_t bytes() const { return m_bytes; }

 private:
  struct Candidate {
    wire::Entry entry;
    fs::Stat stat;
  };
  std::optional<Candidate> look_at(const RelPath& from, std::uint64_t size);
  void drop_leftover(const RelPath& set_path, const fs::Stat& candidate);
  bool reads_as(const hash::Digest& digest, const RelPath& from, const fs::Stat& stat);
  Result<bool> take_candidate(const RelPath& from, const ExpectedFile& file, const RelPath& set_path,
                              const hash::Digest& digest);
  Status settle_one(ByteView record, const RelPath& base, const Staged& staged, const Lost& lost);
  Status distrust(const TakenFile& taken);
  Status find_kept_names(const RelPath& base);
  [[nodiscard]] bool is_last_live_name(const fs::Stat& stat) const;
  Result<StagedNode> bring_in(const TakenFile& taken);
  Result<StagedNode> copy(const TakenFile& taken, const fs::Directory& parent);
  Status fill(const TakenFile& taken, fs::File& from, fs::File& to);
  Result<hash::Digest> copy_content(fs::File& from, fs::File& to, std::uint64_t size);
  Status copy_piece(fs::File& to, std::uint64_t offset, ByteView bytes);
  void drop_second_name(const TakenFile& taken, const RelPath& set_path);
  Result<fs::Directory*> live(const RelPath& path);

  fs::Directory& m_root;
  txn::Transaction& m_transaction;
  Stager& m_stager;
  BasisStore& m_bases;
  const hash::Secret& m_secret;
  scan::Lister m_lister;  // its own: what it meets is out of order, and must not name groups of hard links
  std::uint64_t m_taken = 0;
  std::uint64_t m_with_several_names = 0;  // of these
  std::uint64_t m_files = 0;
  std::uint64_t m_bytes = 0;
  std::uint64_t m_copied_since_check = 0;
  std::optional<Departures> m_departures;
  txn::NameCounts m_missing_names;        // of large files with several: those that history does not have
  std::unique_ptr<fs::Directory> m_live;  // the live directory used last
  RelPath m_live_path;
  Bytes m_buffer;
};

}  // namespace nb::session
