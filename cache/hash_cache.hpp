// SPDX-License-Identifier: Apache-2.0
// HashCache: digests of the client's files, so that a content is read once. A row holds for exactly one state of one
// inode: file system, inode, size, mtime and ctime to the nanosecond, under one secret. Lives in the client's store;
// its loss costs time only, and nothing here fails.
//
// Reading is made for a walk: rows of neighbouring inodes are fetched together and kept for a while. Writing is done in
// batches, each one transaction, so that other processes are not held up. Any thread may call; calls take turns.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "cache/client_store.hpp"
#include "fs/stat.hpp"
#include "hash/digest.hpp"

namespace nb::cache {

struct DigestKey {
  std::string file_system;   // fs::Node::file_system_identity()
  std::uint64_t secret = 0;  // hash::Secret::id()
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  fs::Timestamp mtime;
  fs::Timestamp ctime;
};

// Whether a file with these times, found unchanged after it was read, may be taken for unchanged as long as it has
// them. Another change right after the reading could leave the same times, because file systems count time in ticks. So
// both must be older than `began`, the moment before the first byte was read: by 100 ms where ctime shows that the file
// system keeps fine times (a tick is 10 ms at most), by 2 s elsewhere. A ctime of whole seconds is not believed at all:
// a program that makes images of file systems has put it there, in each of them the same, or there are no finer ones.
bool is_settled(fs::Timestamp mtime, fs::Timestamp ctime, WallTime began);

class HashCache {
 public:
  // `clock` outlives the cache.
  HashCache(std::shared_ptr<Store> store, Clock& clock);
  // Writes what is left.
  ~HashCache();
  HashCache(const HashCache&) = delete;
  HashCache& operator=(const HashCache&) = delete;

  std::optional<hash::Digest> find(const DigestKey& key);
  // The file had `key` before and after it was read, beginning at `began`; dropped unless is_settled().
  void record(const DigestKey& key, const hash::Digest& digest, WallTime began);
  // Writes what was recorded so far.
  void flush();

 private:
  struct Row {
    std::uint64_t inode = 0;
    std::uint64_t size = 0;
    std::int64_t mtime_ns = 0;
    std::int64_t ctime_ns = 0;
    hash::Digest digest;
    std::int64_t seen_day = 0;
  };
  // Stored rows whose inodes are in [number, number + 1) * k_block_inodes: one of them after the first question in that
  // range, all after the second. So scattered inodes cost one row each, and neighbours are read together.
  struct Block {
    std::uint64_t number = ~std::uint64_t{0};
    bool whole = false;
    std::vector<Row> rows;
  };
  // What is known of one file system under one secret.
  struct Space {
    std::map<std::uint64_t, Row> pending;  // by inode, so that they are written in the order of the table
    std::vector<Block> blocks;             // block N is at N modulo the size
  };
  using SpaceKey = std::pair<std::string, std::uint64_t>;

  static std::optional<Row> row_of(const DigestKey& key);
  static std::int64_t sum_of(const SpaceKey& space, const Row& row);
  const Row* stored(const SpaceKey& key, Space& space, std::uint64_t inode);
  struct Range {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
  };
  std::vector<Row> load(const SpaceKey& key, Range inodes);
  void add(Space& space, const Row& row);
  void write_pending();
  static void write(Connection& connection, const SpaceKey& key, const Space& space);

  std::shared_ptr<Store> m_store;
  Clock& m_clock;
  std::int64_t m_today;  // days since 1970
  std::mutex m_mutex;    // guards what follows
  std::map<SpaceKey, Space> m_spaces;
  std::size_t m_pending = 0;
  SteadyTime m_pending_since{};
};

}  // namespace nb::cache
