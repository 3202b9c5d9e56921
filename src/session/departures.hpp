// SPDX-License-Identifier: Apache-2.0
// Departures: which live files lose their name in a transaction, by its Place and Remove operations. Sixteen bytes and a
// slot for each of these, however long their paths are. Used by Mover at the end of the plan.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "hash/digest.hpp"
#include "txn/transaction.hpp"

namespace nb::session {

class Departures {
 public:
  // `secret` keys the digests that stand for paths, and outlives the object.
  static Result<Departures> of(txn::Transaction& transaction, const hash::Secret& secret);

  // What else is replaced, by an operation that was added since.
  void add(const RelPath& path);
  // Whether the file at `path`, below the set's root, goes.
  [[nodiscard]] bool has(const RelPath& path) const;

  // Where a name will be in the trash, once it has gone: below old/<slot>, or that itself.
  struct Trash {
    std::uint64_t slot = 0;
    RelPath below;
  };
  // Nothing if `path` stays, or was added.
  [[nodiscard]] std::optional<Trash> find(const RelPath& path) const;

 private:
  explicit Departures(const hash::Secret& secret) : m_secret(&secret) {}
  [[nodiscard]] hash::Digest key_of(const RelPath& path) const;
  [[nodiscard]] std::optional<std::uint64_t> slot_of(const RelPath& path) const;

  const hash::Secret* m_secret;
  std::vector<std::pair<hash::Digest, std::uint64_t>> m_gone;  // sorted
  std::set<hash::Digest> m_added;
};

}  // namespace nb::session
