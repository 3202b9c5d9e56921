// SPDX-License-Identifier: Apache-2.0
// ListMerger: the change lists of neighbouring generations taken together, so that one list leads from the newest of
// them straight to what the oldest led to. Fed the lists newest first, the surviving generation's own first; read by
// thin_plan.cpp. Pure, one pass over all of them, however many: memory is one entry a path.
//
// What is left: of each path the last change that said where it is, what was said of its metadata after that, and what
// was said of inodes whose path has become another's since: these may have other names, which the change goes for.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "txn/generation.hpp"

namespace nb::txn {

enum class Whereabouts : std::uint8_t { unsaid, absent, lost, kept };

// Metadata as they were, and when in the sequence of all changes that was said.
struct SaidMetadata {
  fs::Metadata metadata;
  bool shared = false;
  std::uint64_t order = 0;
};

// All that holds of one path.
struct SaidOfPath {
  Whereabouts where = Whereabouts::unsaid;
  fs::FileType type = fs::FileType::regular;  // kept
  std::uint64_t generation = 0;               // kept: whose files/ has it
  std::uint64_t order = 0;
  // Below files/ of the surviving generation is, at this path or under it, something that nothing leads to any more.
  bool is_stale = false;
  std::vector<SaidMetadata> metadata;  // one after the other
};

// Said of an inode that was at `path` in the surviving generation itself, before anything else was said of that path.
struct SaidBefore {
  RelPath path;
  SaidMetadata said;
};

// Said of an inode that is at `path` in files/ of `generation` and loses that name.
struct SaidOfAnchor {
  std::uint64_t generation = 0;
  RelPath path;
  SaidMetadata said;
};

// A path as a key: with NUL for '/', so that what is below a path follows it at once.
std::string key_of(const RelPath& path);
RelPath path_of_key(const std::string& key);

struct MergedLists {
  std::map<std::string, SaidOfPath> paths;  // by key_of
  std::vector<SaidBefore> before;
  std::vector<SaidOfAnchor> anchors;
  std::uint64_t next_order = 1;
};

// The nearest entry that says where `key` is: its own or that of a directory above. Null if none does.
const SaidOfPath* cover_of(const MergedLists& lists, const std::string& key);

class ListMerger {
 public:
  explicit ListMerger(std::uint64_t survivor) : m_survivor(survivor) {}

  // The next change of the list of `generation`.
  Status add(const Change& change, std::uint64_t generation);
  [[nodiscard]] const MergedLists& lists() const { return m_lists; }
  [[nodiscard]] MergedLists take() { return std::move(m_lists); }

 private:
  Status add_change(const Absent& change, std::uint64_t generation);
  Status add_change(const KeptEntry& change, std::uint64_t generation);
  Status add_change(const OldMetadata& change, std::uint64_t generation);
  SaidOfPath& take_place_of(const std::string& key);
  void let_go(const std::string& key, const SaidOfPath& said);

  std::uint64_t m_survivor;
  MergedLists m_lists;
};

}  // namespace nb::txn
