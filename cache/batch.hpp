// SPDX-License-Identifier: Apache-2.0
// Batch: many changes of a store in one SQLite transaction, which the first of them begins. For the stores of a file
// set, which are told of each file by itself. Nothing fails, as in Store::with: damage empties the store, and a change
// may then be run a second time. What is not flushed is taken back when the store is closed.
//
// Used by one thread.
#pragma once

#include <functional>
#include <utility>

#include "cache/store.hpp"

namespace nb::cache {

class Batch {
 public:
  // `store` outlives the batch. `at_begin` is done first in every transaction.
  explicit Batch(Store& store, std::function<void(Connection&)> at_begin = {})
      : m_store(store), m_at_begin(std::move(at_begin)) {}

  // Makes `change`, which writes about `bytes` beyond a row, part of the transaction, and ends that once it is large.
  template <class Change>
  void add(const Change& change, std::size_t bytes = 0) {
    m_store.with([&](Connection& connection) {
      begin(connection);
      change(connection);
      ++m_changes;
      m_bytes += bytes;
      if (m_changes >= k_most_changes || m_bytes >= k_most_bytes) end(connection);
    });
  }
  // Ends what is open.
  void flush();
  // The same inside Store::with, also of a transaction that the caller has begun.
  void end(Connection& connection);

 private:
  static constexpr std::size_t k_most_changes = 4096;
  static constexpr std::size_t k_most_bytes = std::size_t{16} << 20;
  void begin(Connection& connection);

  Store& m_store;
  std::function<void(Connection&)> m_at_begin;
  std::size_t m_changes = 0;  // in the open transaction
  std::size_t m_bytes = 0;
};

}  // namespace nb::cache
