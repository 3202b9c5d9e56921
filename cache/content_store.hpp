// SPDX-License-Identifier: Apache-2.0
// ContentStore: the digests of everything that a file set holds, in the live tree and in history, small files and large
// ones. Lies in `.nbackup/contents.db`; scrubs write it, under the scrub lock, and no push does. An inode is the same
// wherever it goes (a new name, history, a newer generation's files), and so is its row: nothing has to follow it. The
// time when it was made tells it from a later one of its number.
//
// A store as the others (store.hpp): its loss costs what it knows. What is not known is read by the next scrub and
// believed from then on.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/rel_path.hpp"
#include "cache/batch.hpp"
#include "fs/stat.hpp"
#include "hash/digest.hpp"

namespace nb::cache {

inline constexpr int k_content_schema_version = 2;
inline constexpr const char* k_contents_name = "contents.db";

// Stands for a path below the set's root, or below files/ of a generation, in rows and in the choice of parts.
std::uint64_t path_number(const RelPath& path);
// Which of `parts` parts it belongs to, from 0.
std::uint64_t part_of(std::uint64_t path_number, std::uint64_t parts);

struct Content {
  std::uint64_t path = 0;  // path_number of where it was seen last
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;
  std::int64_t ctime_ns = 0;
  std::int64_t born_ns = 0;  // 0 where it is not known
  hash::Digest digest;
  std::int64_t seen_ns = 0;  // when a scrub that had begun then has looked at it
};

class ContentStore {
 public:
  // `control_directory` as for Manifest::open. Never null.
  static std::unique_ptr<ContentStore> open(const std::string& control_directory, Warn warn,
                                            FileAccess access = FileAccess::write);
  // One that holds nothing.
  static std::unique_ptr<ContentStore> none();
  ~ContentStore();  // flushes
  ContentStore(const ContentStore&) = delete;
  ContentStore& operator=(const ContentStore&) = delete;

  // Whether it keeps what it is given: false where there is none, or it had to be given up.
  [[nodiscard]] bool usable() const { return m_store->usable(); }
  std::optional<Content> find(std::uint64_t inode);
  void put(std::uint64_t inode, const Content& content);
  // Every inode that has this content, in no order, as far as rows say.
  void for_each_of(const std::function<bool(const Content&)>& is_wanted,
                   const std::function<void(std::uint64_t inode, const Content&)>& visit);
  // Forgets what was last seen before `seen_ns` at paths of part `part` (from 0) of `parts`: it is gone.
  void forget_unseen(std::int64_t seen_ns, std::uint64_t part, std::uint64_t parts);
  // Makes everything so far visible to other processes (and, a little later, durable).
  void flush();

 private:
  explicit ContentStore(std::unique_ptr<Store> store);

  std::unique_ptr<Store> m_store;
  Batch m_batch;
};

}  // namespace nb::cache
