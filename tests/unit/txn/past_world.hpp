// SPDX-License-Identifier: Apache-2.0
// A file set with a history that tests write by hand, and trees read back as values that know which names are one
// inode. None of it uses code of src/txn beyond the formats and FileSet.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tree.hpp"
#include "txn/past_tree.hpp"
#include "unit/fs/world.hpp"

namespace nb::txn::test {

using fs::test::code;
using fs::test::good;
using fs::test::rel;

// Whatever a restore must give back of one name.
struct Description {
  fs::FileType type = fs::FileType::regular;
  fs::Metadata meta;
  std::string content;     // of a file; the target of a symlink
  std::string first_name;  // of a file with several: the first of them in the walk
  friend bool operator==(const Description&, const Description&) = default;
};
using Descriptions = std::map<std::string, Description>;  // by path; "" is the root

// The whole tree without the control directory, asked in every way that the interface has; the answers must agree.
Descriptions describe(const fs::Directory& root);
std::string show(const Descriptions& tree);

Absent absent(std::string_view path);
Absent lost(std::string_view path);
KeptEntry kept(std::string_view path, fs::FileType type = fs::FileType::regular);
OldMetadata old_metadata(std::string_view path, std::uint32_t mode, std::int64_t mtime = 1000);
OldMetadata old_of_all_names(std::string_view path, std::uint32_t mode, std::int64_t mtime = 1000);

// Where `path` is or is to be, in a tree below `base`; parents are made.
std::unique_ptr<fs::Directory> parent_in(const fs::Directory& base, const RelPath& path);
fs::Metadata metadata_at(const fs::Directory& base, const RelPath& path);
void set_metadata(const fs::Directory& base, const RelPath& path, const fs::Metadata& metadata);

class PastSet {
 public:
  explicit PastSet(const fs::Directory& root);

  [[nodiscard]] FileSet& set() { return *m_set; }
  [[nodiscard]] fs::Directory& live() { return m_set->root(); }
  // history/<number>/files.
  [[nodiscard]] std::unique_ptr<fs::Directory> files(std::uint64_t number);
  [[nodiscard]] std::unique_ptr<fs::Directory> directory_of(std::uint64_t number);
  // The root of a generation; must be good.
  [[nodiscard]] std::unique_ptr<fs::Directory> past(std::uint64_t number);

  // A live file, symlink or directory of mode 0644, 0777 or 0755 and mtime 1000.
  void file(std::string_view path, std::string_view content);
  void symlink(std::string_view path, const std::string& target);
  void directory(std::string_view path);
  void hard_link(std::string_view path, std::string_view new_path);
  void chmod(std::string_view path, std::uint32_t mode);
  // Moves a live name to the files of `number`.
  void keep(std::uint64_t number, std::string_view path);
  void remove(std::string_view path);

  // Ends generation `number` with what leads back to the one before; `base` has nothing before it. Head names it.
  void commit(std::uint64_t number, const std::vector<Change>& changes, std::uint64_t previous);
  void commit(std::uint64_t number, const std::vector<Change>& changes) { commit(number, changes, number - 1); }
  void base(std::uint64_t number);

 private:
  void write_account(const Generation& generation);
  void set_head(std::uint64_t number);
  std::unique_ptr<FileSet> m_set;
};

// A set in one of the worlds, and short questions to its generations.
template <class World>
struct PastFixture {
  World world;
  PastSet set{world.root()};

  std::string text(std::uint64_t number, std::string_view path) {
    return fs::test::read(*parent_at(number, path), rel(path).name());
  }
  std::uint32_t mode(std::uint64_t number, std::string_view path) {
    return good(parent_at(number, path)->stat_at(rel(path).name())).mode;
  }
  fs::test::Names names_in(std::uint64_t number, std::string_view path) {
    return fs::test::names(*good(set.past(number)->open_directory_path(rel(path))));
  }
  std::unique_ptr<fs::Directory> parent_at(std::uint64_t number, std::string_view path) {
    return good(set.past(number)->open_directory_path(rel(path).parent()));
  }
};

}  // namespace nb::txn::test
