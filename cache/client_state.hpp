// SPDX-License-Identifier: Apache-2.0
// ClientState: what this client remembers between runs, in one SQLite file: which file sets it has pushed to, and which
// directories were mount points then. The guards and `nbackup status` live on it. Nothing here decides what a commit is:
// losing the file costs the guards of one run. So no function fails: trouble is told once, through `warn`, and from then
// on there is no memory.
//
// A destination is a text that names one place in one way (cli/endpoints.hpp makes it); a source key likewise stands for
// the sources of a push. Both are raw bytes. Any thread may call.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache/client_store.hpp"

namespace nb::cache {

using SetId = std::array<std::byte, 16>;

struct KnownSet {
  std::string destination;
  std::string source;
  std::optional<SetId> set;
  std::uint64_t generation = 0;
  std::int64_t last_push_ns = 0;  // since 1970, of the last push that was committed or had nothing to do
  int last_exit = 0;              // of the last attempt
  std::uint64_t bytes = 0;        // of all regular files in the source, last time
  std::uint64_t files = 0;        // entries of any type
};

class ClientState {
 public:
  // `store` is the client's (open_client_store), or one that holds nothing.
  explicit ClientState(std::shared_ptr<Store> store) : m_store(std::move(store)) {}

  // The set that was last pushed to at this destination, from whatever source.
  std::optional<KnownSet> find_set(const std::string& destination);
  // Absolute paths, sorted: the mount points of this source when it was last pushed to this destination, as recorded.
  std::vector<std::string> find_mounts(const std::string& destination, const std::string& source);
  // A push that reached its end: replaces the row of this destination and source, and its mount points.
  void record_push(const KnownSet& set, const std::vector<std::string>& mounts);
  // A push that did not: the exit code of its row changes. Where no push has succeeded there is no row, and none is made:
  // a mistyped command must not be watched for ever.
  void record_failure(const std::string& destination, const std::string& source, int exit_code);
  // All rows, ordered by destination and source.
  std::vector<KnownSet> list_sets();
  // Removes everything about a destination; whether there was anything.
  bool forget(const std::string& destination);
  // The row of this destination and source, with its mount points.
  void forget_source(const std::string& destination, const std::string& source);

 private:
  std::shared_ptr<Store> m_store;
};

}  // namespace nb::cache
