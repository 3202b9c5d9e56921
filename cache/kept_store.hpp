// SPDX-License-Identifier: Apache-2.0
// KeptStore: kept metadata of a file set for which its file system has no attributes (docs/formats.md, "Kept beside
// the tree"). Lies in `.nbackup/kept.db`, which is made when the first file needs it. What it holds for a path are the
// attributes that would have been set on the file (fs/kept_metadata.hpp).
//
// It is no cache: it belongs to the generation. Each row says from which generation on it holds, and until which; a run
// writes rows of the generation that it is to make, durably and before its commit point, and `head` alone decides
// whether they hold. A run that does not commit leaves rows that nobody sees and the next begin_run() takes back.
//
// Used by one thread; one process writes at a time (the writer's lock of the set), others may read.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/rel_path.hpp"
#include "cache/batch.hpp"
#include "fs/stat.hpp"

namespace nb::cache {

inline constexpr int k_kept_schema_version = 1;
inline constexpr const char* k_kept_name = "kept.db";
// What one path may keep here; beyond it put() keeps nothing.
inline constexpr std::size_t k_max_kept_bytes = std::size_t{2} << 20;

class KeptStore {
 public:
  enum class Use : std::uint8_t {
    read,   // the file is there
    write,  // it may have to be made
  };
  // `control_directory` as for Manifest::open. `generation` is the set's present one. `warn` is told if what is
  // kept cannot be read or written, and of rows that are damaged, which a writer removes. Never null.
  static std::unique_ptr<KeptStore> open(const std::string& control_directory, std::uint64_t generation, Use use,
                                         Warn warn);
  ~KeptStore();  // what was not flushed is taken back
  KeptStore(const KeptStore&) = delete;
  KeptStore& operator=(const KeptStore&) = delete;

  // What is kept for `path`, an inode of that type, in the present generation.
  fs::Xattrs find(const RelPath& path, fs::FileType type);

  // --- Writing: begin_run first; the rest speaks of the next generation.
  // After recovery and with the writer's lock: settles what an interrupted run left.
  void begin_run();
  // From the next generation on, this and nothing else is kept for `path` (nothing at all: `attributes` is empty).
  // False if it cannot be kept; then nothing is, where the file can be written at all.
  bool put(const RelPath& path, fs::FileType type, const fs::Xattrs& attributes);
  // A second name of one inode gets what the first one has.
  void copy(const RelPath& from, const RelPath& to);
  // `path` is gone from the next generation on, with everything below it.
  void remove(const RelPath& path);
  // The same of what is below it: something that is no directory takes its place.
  void remove_below(const RelPath& path);
  // Durable; to be called before the commit point. An error if that, or any change before it, did not work: then the
  // next generation must not come to be.
  Status flush();
  // The next generation has come to be: forgets what no generation needs any more.
  void confirm();

 private:
  KeptStore(std::unique_ptr<Store> store, std::uint64_t generation, Warn warn);
  void check_rows(Use use);
  template <class Work>
  void write(const Work& work);
  void tell_writing(Connection& connection) const;
  [[nodiscard]] std::int64_t next() const { return m_present + 1; }

  std::unique_ptr<Store> m_store;
  Batch m_batch;
  std::int64_t m_present;  // generation
  Warn m_warn;
  bool m_wrote = false;
  unsigned m_false_alarms = 0;  // when the run began
};

}  // namespace nb::cache
