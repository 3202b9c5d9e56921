// SPDX-License-Identifier: Apache-2.0
#include "cache/signature_memory.hpp"

#include <algorithm>

#include "cache/sums.hpp"

namespace nb::cache {
namespace {

constexpr const char* k_add =
    "INSERT INTO signatures(digest, secret, used_ns) VALUES(?, ?, ?)"
    " ON CONFLICT(digest, secret) DO UPDATE SET used_ns = excluded.used_ns";
constexpr const char* k_find = "SELECT id FROM signatures WHERE digest = ? AND secret = ?";
constexpr const char* k_touch = "UPDATE signatures SET used_ns = ? WHERE digest = ? AND secret = ?";
constexpr const char* k_insert_piece =
    "INSERT OR REPLACE INTO signature_pieces(signature, piece, data, sum) VALUES(?, ?, ?, ?)";
constexpr const char* k_find_piece = "SELECT data, sum FROM signature_pieces WHERE signature = ? AND piece = ?";
constexpr const char* k_count =
    "UPDATE signatures SET bytes = (SELECT COALESCE(SUM(LENGTH(data)), 0) FROM signature_pieces WHERE signature = ?1)"
    " WHERE id = ?1";
constexpr const char* k_total = "SELECT COALESCE(SUM(bytes), 0) FROM signatures";
constexpr const char* k_oldest = "SELECT id, bytes FROM signatures ORDER BY used_ns LIMIT 1";
constexpr const char* k_drop_pieces = "DELETE FROM signature_pieces WHERE signature = ?";
constexpr const char* k_drop = "DELETE FROM signatures WHERE id = ?";

std::optional<std::int64_t> id_of(Connection& connection, const SignatureKey& key) {
  SQLite::Statement& find = connection.statement(k_find);
  bind_blob(find, 1, key.content.bytes);
  find.bind(2, to_signed(key.secret));
  if (!find.executeStep()) return std::nullopt;
  return find.getColumn(0).getInt64();
}

Bytes owner_of(const SignatureKey& key) {
  Bytes owner;
  ByteWriter out(owner);
  key.content.write(out);
  out.u64(key.secret);
  return owner;
}

void drop(Connection& connection, std::int64_t id) {
  for (const char* sql : {k_drop_pieces, k_drop}) {
    SQLite::Statement& statement = connection.statement(sql);
    statement.bind(1, id);
    statement.exec();
  }
}

}  // namespace

SignatureMemory::SignatureMemory(std::shared_ptr<Store> store, Clock& clock, std::uint64_t limit_bytes)
    : m_store(std::move(store)), m_clock(clock), m_limit_bytes(limit_bytes) {}

void SignatureMemory::use(Connection& connection, const SignatureKey& key) {
  const std::lock_guard lock(m_mutex);
  if (!m_used.insert(key).second) return;
  SQLite::Statement& touch = connection.statement(k_touch);
  touch.bind(1, static_cast<std::int64_t>(m_clock.wall().time_since_epoch().count()));
  bind_blob(touch, 2, key.content.bytes);
  touch.bind(3, to_signed(key.secret));
  touch.exec();
}

void SignatureMemory::put_piece(const SignatureKey& key, std::uint32_t index, ByteView data) {
  if (data.size() > k_max_piece_bytes) return;
  m_store->with([&](Connection& connection) {
    SQLite::Transaction transaction(connection.database(), SQLite::TransactionBehavior::IMMEDIATE);
    SQLite::Statement& add = connection.statement(k_add);
    bind_blob(add, 1, key.content.bytes);
    add.bind(2, to_signed(key.secret));
    add.bind(3, static_cast<std::int64_t>(m_clock.wall().time_since_epoch().count()));
    add.exec();
    const auto id = id_of(connection, key);
    if (!id) return;
    SQLite::Statement& insert = connection.statement(k_insert_piece);
    insert.bind(1, *id);
    insert.bind(2, static_cast<std::int64_t>(index));
    bind_blob(insert, 3, data);
    insert.bind(4, piece_sum(owner_of(key), index, data));
    insert.exec();
    SQLite::Statement& count = connection.statement(k_count);
    count.bind(1, *id);
    count.exec();
    trim(connection);
    transaction.commit();
  });
}

void SignatureMemory::trim(Connection& connection) {
  SQLite::Statement& sum = connection.statement(k_total);
  if (!sum.executeStep()) return;
  std::uint64_t total = to_unsigned(sum.getColumn(0).getInt64());
  while (total > m_limit_bytes) {
    SQLite::Statement& oldest = connection.statement(k_oldest);
    if (!oldest.executeStep()) return;
    const std::int64_t id = oldest.getColumn(0).getInt64();
    const std::uint64_t bytes = to_unsigned(oldest.getColumn(1).getInt64());
    connection.rest();
    drop(connection, id);
    total -= std::min(total, bytes);
  }
}

std::optional<Bytes> SignatureMemory::piece(const SignatureKey& key, std::uint32_t index) {
  std::optional<Bytes> found;
  m_store->with([&](Connection& connection) {
    found.reset();
    const auto id = id_of(connection, key);
    if (!id) return;
    SQLite::Statement& query = connection.statement(k_find_piece);
    query.bind(1, *id);
    query.bind(2, static_cast<std::int64_t>(index));
    if (!query.executeStep()) return;
    const ByteView data = blob_in(query.getColumn(0));
    if (data.size() > k_max_piece_bytes) return;
    if (piece_sum(owner_of(key), index, data) != query.getColumn(1).getInt64()) return;
    found = Bytes(data.begin(), data.end());
    connection.rest();
    use(connection, key);
  });
  return found;
}

}  // namespace nb::cache
