// SPDX-License-Identifier: Apache-2.0
// TreeRemover: the work behind remove_tree. Internal to src/fs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fs/directory.hpp"

namespace nb::fs {

class TreeRemover {
 public:
  // `parent` outlives the remover; nothing that another mount than its own shows is entered.
  TreeRemover(Directory& parent, const Stat& parent_stat) : m_parent(parent), m_parent_stat(parent_stat) {}
  Status run(std::string name);

 private:
  // A directory being emptied.
  struct Frame {
    std::string name;
    std::unique_ptr<Directory> directory;
    std::vector<NamedType> entries;
    std::size_t next = 0;
  };
  Status step();
  Status enter(const std::string& name);
  Status leave();
  Result<std::unique_ptr<Directory>> open(Directory& in, const std::string& name);
  Status move_to_top(const std::string& name);
  Directory& current() { return m_frames.empty() ? m_parent : *m_frames.back().directory; }

  Directory& m_parent;
  Stat m_parent_stat;
  std::vector<Frame> m_frames;
  std::uint64_t m_moved = 0;
};

}  // namespace nb::fs
