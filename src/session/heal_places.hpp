// SPDX-License-Identifier: Apache-2.0
// HealPlaces: where the content of a damaged file may be found sound. Only names: whoever uses one reads it first.
// Internal to heal.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "session/heal.hpp"
#include "session/known_contents.hpp"
#include "txn/history.hpp"

namespace nb::session {

struct HealPlace {
  std::unique_ptr<fs::File> file;
  std::string shown;  // "live dir/x", "dir/x in generation 5", "/mnt/copy/dir/x"
};

class HealPlaces {
 public:
  static Result<HealPlaces> open(txn::FileSet& set, KnownContents& contents, const HealOptions& options);

  // What has the same path elsewhere: versions of it, of any size.
  Result<std::vector<HealPlace>> of_path(const txn::Damaged& file);
  // Live files that the manifest says to have the same content.
  std::vector<HealPlace> of_content(const txn::Damaged& file);
  // What else in the set is remembered to have it. `all` are the files for which that is looked for, which takes a walk
  // through the whole set, once.
  Result<std::vector<HealPlace>> anywhere(const txn::Damaged& file, const std::vector<txn::Damaged>& all);

 private:
  HealPlaces(txn::FileSet& set, KnownContents& contents) : m_set(set), m_contents(contents) {}
  void add(std::vector<HealPlace>& places, const FilePlace& place, const txn::Damaged& file);
  Status search(const std::vector<txn::Damaged>& all);

  txn::FileSet& m_set;
  KnownContents& m_contents;
  std::vector<std::uint64_t> m_numbers;  // of history, newest first
  std::unique_ptr<fs::Directory> m_from;
  std::string m_from_name;
  bool m_searched = false;
  std::map<std::uint64_t, hash::Digest> m_inodes;       // that have a wanted content
  std::multimap<hash::Digest, FilePlace> m_by_content;  // where these are
};

}  // namespace nb::session
