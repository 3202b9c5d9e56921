// SPDX-License-Identifier: Apache-2.0
// What the sink remembers while a run goes on: directories announced and not finished, files expected, links to make.
#pragma once

#include <memory>
#include <optional>

#include "delta/signature_builder.hpp"
#include "hash/file_hasher.hpp"
#include "scan/lister.hpp"
#include "session/basis_store.hpp"
#include "session/itemize.hpp"
#include "session/stager.hpp"
#include "txn/file_set.hpp"

namespace nb::session {

enum class SinkMode : std::uint8_t { commit, dry_run, verify };

// Where a directory of the transfer is at the sink.
enum class Where : std::uint8_t {
  live,     // in the tree of the present generation
  staged,   // new, being built in the stage
  absent,   // new, in a dry run
  skipped,  // cannot be read or made here: what is there stays as it is, with everything below it
};

struct Location {
  Where where = Where::absent;
  std::uint64_t slot = 0;  // staged: below new/<slot>
  RelPath below;           // staged: the directory's own path there; the root for the tree's top
  bool adopted = false;    // staged by an interrupted run
  bool dropped = false;    // skipped, but the source sends everything below: it is received and thrown away

  [[nodiscard]] Location child(std::string_view name) const {
    return {where, slot, below.child(name), adopted, dropped};
  }
  // Of what lies here and could not be made. A source that was told to send all below does so.
  [[nodiscard]] Location given_up() const {
    return {Where::skipped, 0, {}, false, dropped || (where == Where::staged && !adopted)};
  }
  // The directory itself as a spot.
  [[nodiscard]] Spot spot() const {
    if (below.is_root()) return {slot, false, {}, {}};
    return {slot, true, below.parent(), std::string(below.name())};
  }
  // An entry of it.
  [[nodiscard]] Spot entry(const std::string& name) const { return {slot, true, below, name}; }
};

// What the file system refuses for one name or one content is that path's problem, not the run's.
bool concerns_one_path(const Error& error);
// The context of such an error: the path, and what was wrong with it where no system call tells.
std::string at_destination(const std::string& path, const Error& error);

// A directory whose listing is awaited or being worked on.
struct SinkDirectory {
  std::uint64_t id = 0;
  RelPath path;  // below the transfer's root
  std::uint64_t flags = 0;
  Location location;
  wire::ReplyKind reply = wire::ReplyKind::same;
  std::uint64_t announced_entries = 0;
  std::optional<scan::Listed> present;  // what is here: live, or adopted
  std::size_t next_present = 0;         // how far the comparison has come in it
  std::uint64_t next_index = 0;
  std::string last_name;
  std::vector<std::string> directories;         // of the listing, rising
  std::vector<std::string> announced_children;  // rising
  bool began = false;                           // the first part of the listing has come
  bool touched = false;                         // operations are planned in it: its time must be set again
  std::optional<bool> may_change;               // names can be made and removed in it, once somebody has asked
  std::unique_ptr<hash::FileHasher> listing;    // of what has come of its listing
  hash::Digest announced;                       // what the listing's digest must be
  std::optional<StagedNode> staged;             // itself, once it has its metadata
  std::optional<fs::Metadata> own;              // as wanted
  std::optional<RelPath> moved_from;            // below the set's root: a directory here that has looked like this one
  std::vector<std::string> extras;              // names here, rising, that the listing does not have and that stay
  std::vector<std::size_t> extra_indices;       // of `present`, where these were known without a listing
};

struct PresentEntry {
  wire::Entry entry;
  fs::Stat stat;
};

// A file whose content is on its way.
struct ExpectedFile {
  RelPath path;
  Spot spot;
  bool in_live = false;  // enters by a journal operation of its own
  std::optional<txn::Ident> replaced;
  bool shared = false;  // others will be linked to it
  fs::Metadata meta;
  std::uint64_t size = 0;
  bool dropped = false;            // it comes without having been wanted, and there is no place for it
  std::optional<BasisFile> basis;  // a delta against it may come
  bool owes_basis_done = false;    // the source waits for our word on that delta, or on its digest
  bool digest_asked = false;       // its digest alone may come
  bool counted = true;             // as new, or as changed; not any more once it has failed
  bool rides = false;              // it comes with its listing
};

// A new name that may enter when another one, the same to this file system, has gone.
struct WaitingName {
  std::string other;
  std::optional<txn::Place> place;      // once it is staged
  std::optional<txn::SetMetadata> end;  // of a directory
};

// The file that content messages are about.
struct Incoming {
  wire::FileKey key;
  std::uint64_t size = 0;
  fs::Metadata meta;
  wire::ContentKind kind = wire::ContentKind::whole;
  std::unique_ptr<fs::File> file;  // none: its content is dropped (it could not be made)
  std::unique_ptr<delta::SignatureBuilder> builder;
  std::unique_ptr<fs::File> basis;
  std::unique_ptr<delta::Applier> applier;  // none although it is a delta: the basis has changed, it is void
  std::uint64_t at = 0;                     // whole contents
  std::uint64_t since_writeback = 0;
};

}  // namespace nb::session
