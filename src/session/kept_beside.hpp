// SPDX-License-Identifier: Apache-2.0
// KeptBeside: what a file set keeps beside its tree for one transfer, whose root lies somewhere in the set. Opens the
// set's store (cache/kept_store.hpp) where there is one, and makes it for the first file that needs it; on file systems
// with attributes that never happens. Used by Sink and Stager to write, by both sides to read.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/result.hpp"
#include "cache/kept_store.hpp"
#include "fs/kept_metadata.hpp"
#include "scan/kept_aside.hpp"
#include "txn/file_set.hpp"

namespace nb::session {

class KeptBeside final : public scan::KeptAside {
 public:
  enum class Use : std::uint8_t { read, write };
  // Where the transfer's root is: at `base` in the set; or above the set's root, which the transfer has at `above`.
  struct Place {
    RelPath base;
    RelPath above;
  };
  // `trouble` hears of what cannot be read any more, as when the store of a set that had one is gone. `set` outlives
  // this; its head has been read under a lock. For writing: after recovery.
  KeptBeside(txn::FileSet& set, Place place, Use use, std::function<void(Error)> trouble);
  ~KeptBeside() override;
  // Whether the set keeps anything beside its tree.
  [[nodiscard]] static bool is_used_by(txn::FileSet& set);

  fs::Xattrs find(const RelPath& path, fs::FileType type) override;

  // --- Writing, of the next generation. Paths are below the transfer's root.
  // False if it cannot be kept here either.
  bool put(const RelPath& path, fs::FileType type, const fs::Xattrs& attributes);
  // A hard link to `from`.
  void copy(const RelPath& from, const RelPath& to);
  void remove(const RelPath& path);
  void remove_below(const RelPath& path);
  // Before the commit point, and after the commit.
  Status flush();
  void confirm();

 private:
  bool open(cache::KeptStore::Use use);
  void tell_missing() const;
  [[nodiscard]] RelPath in_set(const RelPath& path) const;

  txn::FileSet& m_set;
  const Place m_place;
  std::function<void(Error)> m_trouble;
  bool m_marked = false;                      // the set says that it has a store
  std::unique_ptr<cache::KeptStore> m_store;  // none: nothing is kept
};

}  // namespace nb::session
