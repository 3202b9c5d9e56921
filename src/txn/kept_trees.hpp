// SPDX-License-Identifier: Apache-2.0
// KeptTrees: files/ of the generations of a history, reached into by path. For the work of dropping generations.
#pragma once

#include <map>
#include <memory>

#include "txn/live_tree.hpp"

namespace nb::txn {

class KeptTrees {
 public:
  explicit KeptTrees(fs::Directory& history) : m_history(history) {}

  // Null if the generation has no files/. Valid until the next call for another generation.
  Result<LiveTree*> of(std::uint64_t generation);
  // What is at `path` of it, if anything.
  Result<std::optional<fs::Stat>> find(std::uint64_t generation, const RelPath& path);
  // Literal values. Errc::not_found if there is nothing.
  Result<fs::Metadata> metadata(std::uint64_t generation, const RelPath& path);
  // The directory for `path`, made with those above it where they are missing. Valid as of().
  Result<fs::Directory*> make_parent_of(std::uint64_t generation, const RelPath& path);
  // Whether this process may move what is there, of which `stat` is known, or (`edits`) change what is in it; no change
  // yet. An error says why not.
  enum class Use : std::uint8_t { moves, edits };
  Status check(std::uint64_t generation, const RelPath& path, const fs::Stat& stat, Use use);
  void forget(std::uint64_t generation, const RelPath& path);

 private:
  struct Tree {
    explicit Tree(std::unique_ptr<fs::Directory> directory) : files(std::move(directory)), tree(*files) {}
    std::unique_ptr<fs::Directory> files;
    LiveTree tree;
  };
  fs::Directory& m_history;
  std::map<std::uint64_t, std::unique_ptr<Tree>> m_open;
};

// Gives a directory u+rwx, where that is possible.
void open_up(const fs::Directory& parent, std::string_view name);

}  // namespace nb::txn
