// SPDX-License-Identifier: Apache-2.0
#include "cache/bare_directories.hpp"

#include <algorithm>

#include "cache/sums.hpp"

namespace nb::cache {
namespace {

constexpr std::size_t k_most_window_rows = 64;
constexpr std::size_t k_batch_rows = 4096;
// The day a row was last of use is brought up to date this seldom, so that reading does not write.
constexpr std::int64_t k_touch_days = 7;

constexpr const char* k_select =
    "SELECT inode, files, seen_day, sum FROM bare_directories WHERE space = ? AND inode >= ? ORDER BY inode LIMIT ?";
constexpr const char* k_insert =
    "INSERT OR REPLACE INTO bare_directories(space, inode, files, seen_day, sum) VALUES(?, ?, ?, ?, ?)";

// Short, and so not certain: the sum of a row covers the name itself.
std::int64_t space_of(const std::string& file_system) { return to_signed(hash::check_of(as_bytes(file_system))); }

}  // namespace

BareDirectories::BareDirectories(std::shared_ptr<Store> store, Clock& clock, const BareLimits& limits)
    : m_store(std::move(store)),
      m_limits(limits),
      m_today(std::chrono::floor<std::chrono::days>(clock.wall()).time_since_epoch().count()) {}

BareDirectories::~BareDirectories() { flush(); }

std::int64_t BareDirectories::sum_of(const std::string& file_system, const Row& row) {
  Bytes bytes;
  bytes.reserve(128);
  ByteWriter out(bytes);
  out.string(file_system);
  out.u64(to_unsigned(row.inode));
  row.files.write(out);
  return to_signed(hash::check_of(bytes));
}

bool BareDirectories::find(const BareKey& key, const hash::Digest& files) {
  Space& space = m_spaces[key.file_system];
  const std::int64_t inode = to_signed(key.inode);
  const auto pending = space.pending.find(inode);
  const Row* row = pending != space.pending.end() ? &pending->second : stored(key.file_system, space.window, inode);
  if (row == nullptr || row->files != files) return false;
  if (row->seen_day + k_touch_days <= m_today) add(space, {inode, files, m_today});
  return true;
}

void BareDirectories::record(const BareKey& key, const hash::Digest& files) {
  add(m_spaces[key.file_system], {to_signed(key.inode), files, m_today});
}

// A window that has become old says what was once recorded, which costs no more than a question.
const BareDirectories::Row* BareDirectories::stored(const std::string& file_system, Window& window,
                                                    std::int64_t inode) {
  if (inode < window.first || inode > window.last) {
    const std::size_t rows = window.questions > 1 ? window.most_rows * 2 : window.most_rows / 2;
    window = load(file_system, inode, std::clamp<std::size_t>(rows, 1, k_most_window_rows));
  }
  ++window.questions;
  const auto before = [](const Row& row, std::int64_t wanted) { return row.inode < wanted; };
  const auto found = std::lower_bound(window.rows.begin(), window.rows.end(), inode, before);
  return found == window.rows.end() || found->inode != inode ? nullptr : &*found;
}

BareDirectories::Window BareDirectories::load(const std::string& file_system, std::int64_t from,
                                              std::size_t most_rows) {
  Window window;
  m_store->with([&](Connection& connection) {
    window = {from, std::numeric_limits<std::int64_t>::max(), {}, most_rows, 0};
    SQLite::Statement& query = connection.statement(k_select);
    query.bind(1, space_of(file_system));
    query.bind(2, from);
    query.bind(3, static_cast<std::int64_t>(most_rows));
    std::size_t met = 0;
    std::int64_t inode = from;
    while (query.executeStep()) {
      ++met;
      inode = query.getColumn(0).getInt64();
      const auto files = digest_in(query.getColumn(1));
      if (!files) continue;
      const Row row{inode, *files, query.getColumn(2).getInt64()};
      if (sum_of(file_system, row) == query.getColumn(3).getInt64()) window.rows.push_back(row);
    }
    if (met == most_rows) window.last = inode;
  });
  return window;
}

void BareDirectories::add(Space& space, const Row& row) {
  m_pending += space.pending.insert_or_assign(row.inode, row).second ? 1 : 0;
  if (m_pending >= k_batch_rows) flush();
}

void BareDirectories::flush() {
  if (m_pending == 0) return;
  m_store->with([this](Connection& connection) {
    if (connection.is_in_transaction()) return write(connection);
    SQLite::Transaction transaction(connection.database(), SQLite::TransactionBehavior::IMMEDIATE);
    write(connection);
    transaction.commit();
  });
  // Whether it worked or not: without a store there is nothing to keep them for.
  for (auto& [file_system, space] : m_spaces) {
    space.pending.clear();
    space.window = {};
  }
  m_pending = 0;
  m_pruned = true;
}

void BareDirectories::write(Connection& connection) {
  for (const auto& [file_system, space] : m_spaces) {
    const std::int64_t number = space_of(file_system);
    for (const auto& [inode, row] : space.pending) {
      SQLite::Statement& insert = connection.statement(k_insert);
      insert.bind(1, number);
      insert.bind(2, inode);
      bind_blob(insert, 3, row.files.bytes);
      insert.bind(4, row.seen_day);
      insert.bind(5, sum_of(file_system, row));
      insert.exec();
    }
  }
  if (!m_pruned) drop_bare_directories(connection, m_today - m_limits.unseen_days, m_limits.rows);
}

std::uint64_t drop_bare_directories(Connection& connection, std::int64_t oldest_day, std::uint64_t rows) {
  SQLite::Statement& old = connection.statement("DELETE FROM bare_directories WHERE seen_day < ?");
  old.bind(1, oldest_day);
  auto dropped = static_cast<std::uint64_t>(old.exec());
  SQLite::Statement& more = connection.statement(
      "DELETE FROM bare_directories WHERE (space, inode) IN (SELECT space, inode FROM bare_directories"
      " ORDER BY seen_day LIMIT max(0, (SELECT COUNT(*) FROM bare_directories) - ?))");
  more.bind(1, to_signed(rows));
  return dropped + static_cast<std::uint64_t>(more.exec());
}

}  // namespace nb::cache
