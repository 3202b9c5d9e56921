// SPDX-License-Identifier: Apache-2.0
// NameCheck: which names a destination's file system refuses, and which it holds to be the same (by case, or by how a
// letter is composed). Asks only where that can be: file systems that take every name cost nothing. Used by Sink.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fs/directory.hpp"
#include "txn/file_set.hpp"
#include "txn/transaction.hpp"

namespace nb::session {

class NameCheck {
 public:
  // Of the tree at `root`. `set` and `transaction` may be null; without a transaction check_new is not to be called. All
  // outlive this.
  NameCheck(const fs::Directory& root, txn::FileSet* set, txn::Transaction* transaction);

  // Whether two names that differ may be one in the live directory `parent`.
  [[nodiscard]] bool may_fold(const fs::Directory& parent) const;
  // The name in the live directory `parent` that is found by `name` and is not `name`. Nothing if `name` is there
  // itself, or neither is. Which one it is may not be known where both differ by more than the case of ASCII letters and
  // have several hard links: then `name` itself is returned.
  Result<std::optional<std::string>> other_name(const fs::Directory& parent, const std::string& name);
  // Whether this file system takes the name of `set_path`, which is not in its live directory, beside the other new ones
  // there. Tried in the stage, so that the commit does not meet it. Errc::exists or path if not.
  Status check_new(const RelPath& set_path);
  // Nothing more will be asked.
  Status end();

 private:
  Result<bool> lists(const fs::Directory& parent, const std::string& name);
  Result<fs::Directory*> probe(const RelPath& parent);

  txn::Transaction* m_transaction;
  // The names of the directory that was listed last, sorted: one that was there is itself.
  struct Listed {
    std::pair<std::uint64_t, std::uint64_t> directory{};  // device and inode
    std::vector<std::string> names;
  };
  Listed m_listed;
  enum class Names : std::uint8_t { all_taken, some_refused };
  Names m_names = Names::some_refused;
  // Directories in the stage, with the new names of one live directory each; and the one that was used last.
  std::map<RelPath, std::string> m_probes;
  std::unique_ptr<fs::Directory> m_probe;
  RelPath m_probed;
};

}  // namespace nb::session
