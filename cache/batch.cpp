// SPDX-License-Identifier: Apache-2.0
#include "cache/batch.hpp"

namespace nb::cache {

void Batch::begin(Connection& connection) {
  if (connection.is_in_transaction()) return;
  connection.database().exec("BEGIN IMMEDIATE");
  if (m_at_begin) m_at_begin(connection);
}

void Batch::end(Connection& connection) {
  m_changes = 0;
  m_bytes = 0;
  connection.rest();
  if (connection.is_in_transaction()) connection.database().exec("COMMIT");
}

void Batch::flush() {
  m_store.with([this](Connection& connection) { end(connection); });
}

}  // namespace nb::cache
