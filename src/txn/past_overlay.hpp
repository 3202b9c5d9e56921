// SPDX-License-Identifier: Apache-2.0
// PastOverlay: what the change lists between the live tree and an earlier generation say together, as a trie of names
// and a table of inodes. Filled by past_tree.cpp with the changes newest first; read by PastDirectory. Pure.
//
// A file that is kept lies in files/ of its generation under its own path, as the live ones lie under theirs. So where
// something is follows from one number: the generation of the innermost name on its path that is kept, or none: live.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "txn/generation.hpp"

namespace nb::txn {

class PastOverlay {
 public:
  struct OldState {
    fs::Metadata metadata;
    std::uint64_t order = 0;  // which of the changes said it, counted over all lists; two views of one tree agree in it
  };
  enum class State : std::uint8_t {
    inherited,  // where its parent is, under its name
    absent,
    lost,  // something was there, and nothing of it is left
    kept,  // files/<path> of `generation`
  };
  struct Node {
    State state = State::inherited;
    fs::FileType type = fs::FileType::regular;  // kept
    std::uint64_t generation = 0;               // kept
    std::unique_ptr<OldState> old;              // null: no change says anything of this path's metadata
    std::map<std::string, std::unique_ptr<Node>, std::less<>> children;
  };
  // Where a path leads.
  struct Found {
    const Node* node = nullptr;         // null: nothing is said of the path or of what is below it
    std::optional<std::uint64_t> kept;  // the innermost generation that keeps it; nothing: none on the way
    bool is_absent = false;             // it, or a parent of it, is absent or lost
  };

  // Each takes the place of what was said before. Paths of `set_absent` and `set_kept` are not the root.
  void set_absent(const Absent& change);
  void set_kept(const KeptEntry& change, std::uint64_t generation);
  void set_metadata(const RelPath& path, const fs::Metadata& metadata);
  void set_metadata(const InodeId& inode, const fs::Metadata& metadata);

  [[nodiscard]] const Node& root() const { return m_root; }
  // `from` may be null: nothing is said there.
  static const Node* child(const Node* from, std::string_view name);
  static Found find(const Node* from, const RelPath& path);
  // What an inode's metadata were, for a name whose node is `node` (or null): what was said last, of the path or of the
  // inode. Null: what they are.
  [[nodiscard]] const fs::Metadata* old_metadata(const Node* node, const InodeId& inode) const;
  [[nodiscard]] bool has_inodes() const { return !m_inodes.empty(); }
  // The last change that went for all names of an inode; 0: none.
  [[nodiscard]] std::uint64_t last_inode_order() const { return m_last_inode_order; }

  // Whether two overlays of one live tree say the same of the metadata of a directory and of everything below it, what
  // is said of inodes aside. Either may be null.
  static bool say_the_same(const Node* a, const Node* b);

 private:
  Node& at(const RelPath& path);
  // Forgets what was said of the path and of everything below it.
  Node& replace(const RelPath& path);

  Node m_root;
  std::map<InodeId, OldState> m_inodes;
  std::uint64_t m_order = 0;
  std::uint64_t m_last_inode_order = 0;
};

}  // namespace nb::txn
