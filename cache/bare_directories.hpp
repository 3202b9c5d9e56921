// SPDX-License-Identifier: Apache-2.0
// BareDirectories: which directories were found bare (no file in them has extended attributes), one row each: file
// system and inode of the directory, and a fingerprint over its files. A row says something about that one state and so
// is never wrong later, only of no use. The table lies in the client's store and in the manifest; its loss costs time
// only, and nothing here fails.
//
// Reading is made for a walk: the rows of directories that were made one after the other are fetched together. Writing
// is done in batches, the first of which also takes away what was not met for long. One thread at a time.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "cache/store.hpp"
#include "hash/digest.hpp"

namespace nb::cache {

// For the schemas of both files.
inline constexpr const char* k_make_bare_directories = R"sql(
CREATE TABLE bare_directories(
  space INTEGER NOT NULL, inode INTEGER NOT NULL, files BLOB NOT NULL,
  seen_day INTEGER NOT NULL, sum INTEGER NOT NULL,
  PRIMARY KEY(space, inode)) WITHOUT ROWID;
)sql";
inline constexpr const char* k_probe_bare_directories =
    "SELECT space, inode, files, seen_day, sum FROM bare_directories LIMIT 1";

struct BareKey {
  std::string file_system;  // fs::Directory::attribute_identity()
  std::uint64_t inode = 0;
};

struct BareLimits {
  std::int64_t unseen_days = 90;
  std::uint64_t rows = 2'000'000;  // about 100 MB
};

class BareDirectories {
 public:
  // `clock` outlives this.
  BareDirectories(std::shared_ptr<Store> store, Clock& clock, const BareLimits& limits = {});
  // Writes what is left.
  ~BareDirectories();
  BareDirectories(const BareDirectories&) = delete;
  BareDirectories& operator=(const BareDirectories&) = delete;

  // Whether the directory was recorded with exactly this fingerprint.
  bool find(const BareKey& key, const hash::Digest& files);
  // Takes the place of what was recorded of the directory.
  void record(const BareKey& key, const hash::Digest& files);
  // Writes what was recorded so far; inside a transaction that somebody left open in this store, as a part of it.
  void flush();

 private:
  // Inodes as SQLite orders them.
  struct Row {
    std::int64_t inode = 0;
    hash::Digest files;
    std::int64_t seen_day = 0;
  };
  // All stored rows with inodes from first to last; none at all at the beginning. The next one is of another size: larger
  // if this one has answered more than one question, else smaller, so that scattered directories cost one row each.
  struct Window {
    std::int64_t first = std::numeric_limits<std::int64_t>::max();
    std::int64_t last = std::numeric_limits<std::int64_t>::min();
    std::vector<Row> rows;
    std::size_t most_rows = 16;
    std::size_t questions = 0;
  };
  // What is known of one file system.
  struct Space {
    Window window;
    std::map<std::int64_t, Row> pending;
  };
  static std::int64_t sum_of(const std::string& file_system, const Row& row);
  const Row* stored(const std::string& file_system, Window& window, std::int64_t inode);
  Window load(const std::string& file_system, std::int64_t from, std::size_t most_rows);
  void add(Space& space, const Row& row);
  void write(Connection& connection);

  std::shared_ptr<Store> m_store;
  BareLimits m_limits;
  std::int64_t m_today;  // days since 1970
  std::map<std::string, Space> m_spaces;
  std::size_t m_pending = 0;
  bool m_pruned = false;
};

// Rows not met since `oldest_day`, and beyond `rows` those met longest ago; how many went. SQLite's exceptions pass
// through.
std::uint64_t drop_bare_directories(Connection& connection, std::int64_t oldest_day, std::uint64_t rows);

}  // namespace nb::cache
