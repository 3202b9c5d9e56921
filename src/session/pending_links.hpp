// SPDX-License-Identifier: Apache-2.0
// PendingLinks: names that become hard links once everything is staged, and LeaderSpots: what they become links to. A
// tree may have millions of them, so links are kept as bytes, each name as what it has not in common with the one before:
// some 40 bytes a link in place of 450.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "session/stager.hpp"

namespace nb::session {

struct PendingLink {
  RelPath path;
  RelPath leader;
  Spot spot;  // in a tree under the name that `path` ends with
  bool in_live = false;
  std::optional<txn::Ident> replaced;
  // As the source has it.
  fs::FileType type = fs::FileType::regular;
  std::uint64_t size = 0;
  fs::Timestamp mtime;
  std::optional<hash::Digest> content;
};

class PendingLinks {
 public:
  void add(const PendingLink& link);
  // In the order in which they were added; ends with the first error of `visit`.
  Status for_each(const std::function<Status(const PendingLink&)>& visit) const;

 private:
  // What the names of the link before were.
  struct Before {
    std::string path;
    std::string leader;
    std::string below;
  };
  static Result<PendingLink> read(ByteReader& in, Before& before);

  std::vector<Bytes> m_pieces;
  Before m_before;
};

// Where the first members of groups of hard links are staged. Of a place in a tree the names are the end of the path, so
// that they take no memory of their own.
class LeaderSpots {
 public:
  // No spot: it is not complete (yet).
  void put(const RelPath& path, const std::optional<Spot>& spot);
  [[nodiscard]] bool contains(const RelPath& path) const { return m_at.contains(path); }
  // Nothing where it is not complete, or was not put in.
  [[nodiscard]] std::optional<Spot> find(const RelPath& path) const;

 private:
  struct At {
    std::uint64_t slot = 0;
    std::uint16_t in_tree_from = 0;  // in the path: where what lies in the tree begins
    bool is_complete = false;
    bool in_tree = false;
  };
  std::map<RelPath, At> m_at;
};

}  // namespace nb::session
