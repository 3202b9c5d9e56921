// SPDX-License-Identifier: Apache-2.0
#include "cache/signature_memory.hpp"

#include <algorithm>

#include "cache/sums.hpp"

namespace nb::cache {
namespace {

// What a crash loses at most, and what memory waits for a transaction.
constexpr std::size_t k_batch_bytes = std::size_t{4} << 20;

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
constexpr const char* k_list_pieces = "SELECT piece, data FROM signature_pieces WHERE signature = ? ORDER BY piece";
constexpr const char* k_total = "SELECT COALESCE(SUM(bytes), 0) FROM signatures";
constexpr const char* k_oldest = "SELECT id, bytes FROM signatures ORDER BY used_ns LIMIT 1";
constexpr const char* k_drop_pieces = "DELETE FROM signature_pieces WHERE signature = ?";
constexpr const char* k_drop = "DELETE FROM signatures WHERE id = ?";

std::optional<std::int64_t> id_of(Connection& connection, const SignatureKey& key) {
  SQLite::Statement& find = connection.statement(k_find);
  bind_blob(find, 1, key.content.bytes);
  find.bind(2, to_signed(key.secret));
  if (!find.executeStep()) return std::nullopt;
  const std::int64_t id = find.getColumn(0).getInt64();
  // A transaction that begins while this is being read does not wait for a busy database.
  find.reset();
  return id;
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

void touch(Connection& connection, const SignatureKey& key, WallTime now) {
  SQLite::Statement& touch = connection.statement(k_touch);
  touch.bind(1, static_cast<std::int64_t>(now.time_since_epoch().count()));
  bind_blob(touch, 2, key.content.bytes);
  touch.bind(3, to_signed(key.secret));
  touch.exec();
}

// The signature's number, made or renewed.
std::optional<std::int64_t> make(Connection& connection, const SignatureKey& key, WallTime now) {
  SQLite::Statement& add = connection.statement(k_add);
  bind_blob(add, 1, key.content.bytes);
  add.bind(2, to_signed(key.secret));
  add.bind(3, static_cast<std::int64_t>(now.time_since_epoch().count()));
  add.exec();
  return id_of(connection, key);
}

void insert_piece(Connection& connection, std::int64_t id, const SignatureKey& key, std::uint32_t index,
                  ByteView data) {
  SQLite::Statement& insert = connection.statement(k_insert_piece);
  insert.bind(1, id);
  insert.bind(2, static_cast<std::int64_t>(index));
  bind_blob(insert, 3, data);
  insert.bind(4, piece_sum(owner_of(key), index, data));
  insert.exec();
}

void count(Connection& connection, std::int64_t id) {
  SQLite::Statement& statement = connection.statement(k_count);
  statement.bind(1, id);
  statement.exec();
}

// Pieces carry a sum over their owner, so each is written anew. One at a time is in memory.
void move_pieces(Connection& connection, const SignatureKey& from, const SignatureKey& to, WallTime now) {
  const auto old = id_of(connection, from);
  if (!old) return;
  const auto id = make(connection, to, now);
  if (!id) return;
  // Nothing is read from a row on its way: only the rows of another signature are written meanwhile.
  SQLite::Statement& list = connection.statement(k_list_pieces);
  list.bind(1, *old);
  while (list.executeStep()) {
    insert_piece(connection, *id, to, list.getColumn(0).getUInt(), blob_in(list.getColumn(1)));
  }
  connection.rest();
  drop(connection, *old);
  count(connection, *id);
}

}  // namespace

SignatureMemory::SignatureMemory(std::shared_ptr<Store> store, Clock& clock, std::uint64_t limit_bytes)
    : m_store(std::move(store)), m_clock(clock), m_limit_bytes(limit_bytes) {}

SignatureMemory::~SignatureMemory() { flush(); }

void SignatureMemory::put_piece(const SignatureKey& key, std::uint32_t index, Bytes data) {
  if (data.size() > k_max_piece_bytes) return;
  const std::lock_guard lock(m_mutex);
  m_pending_bytes += data.size();
  m_pending[key][index] = std::move(data);
  if (m_pending_bytes >= k_batch_bytes) write_pending();
}

void SignatureMemory::settle(const SignatureKey& from, const SignatureKey& to) {
  const std::lock_guard lock(m_mutex);
  m_pending.erase(to);
  const auto pending = m_pending.find(from);
  Pieces pieces;
  if (pending != m_pending.end()) {
    pieces = std::move(pending->second);
    m_pending.erase(pending);
  }
  m_store->with([&](Connection& connection) {
    const auto replaced = id_of(connection, to);
    const auto old = id_of(connection, from);
    if (!replaced && !old) return;
    SQLite::Transaction transaction(connection.database(), SQLite::TransactionBehavior::IMMEDIATE);
    if (replaced) drop(connection, *replaced);
    move_pieces(connection, from, to, m_clock.wall());
    transaction.commit();
  });
  if (!pieces.empty()) m_pending.emplace(to, std::move(pieces));
}

void SignatureMemory::forget(const SignatureKey& key) {
  const std::lock_guard lock(m_mutex);
  m_pending.erase(key);
  m_store->with([&](Connection& connection) {
    const auto id = id_of(connection, key);
    if (!id) return;
    SQLite::Transaction transaction(connection.database(), SQLite::TransactionBehavior::IMMEDIATE);
    drop(connection, *id);
    transaction.commit();
  });
}

void SignatureMemory::flush() {
  const std::lock_guard lock(m_mutex);
  write_pending();
}

// With m_mutex held.
void SignatureMemory::write_pending() {
  if (m_pending.empty()) return;
  m_store->with([&](Connection& connection) {
    SQLite::Transaction transaction(connection.database(), SQLite::TransactionBehavior::IMMEDIATE);
    for (const auto& [key, pieces] : m_pending) {
      const auto id = make(connection, key, m_clock.wall());
      if (!id) continue;
      for (const auto& [index, data] : pieces) insert_piece(connection, *id, key, index, data);
      count(connection, *id);
    }
    trim(connection);
    transaction.commit();
  });
  m_pending.clear();
  m_pending_bytes = 0;
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
  const std::lock_guard lock(m_mutex);
  const auto pending = m_pending.find(key);
  if (pending != m_pending.end()) {
    const auto it = pending->second.find(index);
    if (it != pending->second.end()) return it->second;
  }
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
    if (m_used.insert(key).second) touch(connection, key, m_clock.wall());
  });
  return found;
}

}  // namespace nb::cache
