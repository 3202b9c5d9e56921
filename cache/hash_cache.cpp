// SPDX-License-Identifier: Apache-2.0
#include "cache/hash_cache.hpp"

#include <algorithm>

#include "cache/sums.hpp"

namespace nb::cache {
namespace {

// Inodes that are made together have numbers together (XFS allots 64 at once); more would be read in vain where a
// directory's files are scattered. Measured in docs/decisions.md.
constexpr std::uint64_t k_block_inodes = 64;
constexpr std::size_t k_blocks_kept = 1024;

constexpr std::size_t k_batch_rows = 4096;
constexpr std::chrono::seconds k_batch_age{1};
// The day a row was last of use is brought up to date this seldom, so that reading does not write.
constexpr std::int64_t k_touch_days = 7;

constexpr const char* k_select =
    "SELECT inode, size, mtime_ns, ctime_ns, digest, seen_day, sum FROM digests"
    " WHERE space = (SELECT id FROM spaces WHERE file_system = ? AND secret = ?) AND inode BETWEEN ? AND ?";
constexpr const char* k_add_space = "INSERT OR IGNORE INTO spaces(file_system, secret) VALUES(?, ?)";
constexpr const char* k_find_space = "SELECT id FROM spaces WHERE file_system = ? AND secret = ?";
constexpr const char* k_insert =
    "INSERT OR REPLACE INTO digests(space, inode, size, mtime_ns, ctime_ns, digest, seen_day, sum)"
    " VALUES(?, ?, ?, ?, ?, ?, ?, ?)";

bool is_fine(std::uint32_t nsec) { return nsec % 1'000'000 != 0; }

}  // namespace

bool is_settled(fs::Timestamp mtime, fs::Timestamp ctime, WallTime began) {
  const auto mtime_ns = to_ns(mtime);
  const auto ctime_ns = to_ns(ctime);
  if (!mtime_ns || !ctime_ns || ctime.nsec == 0) return false;
  constexpr std::chrono::milliseconds k_fine_margin{100};
  constexpr std::chrono::milliseconds k_coarse_margin{2000};
  const std::chrono::nanoseconds margin = is_fine(ctime.nsec) ? k_fine_margin : k_coarse_margin;
  return std::max(*mtime_ns, *ctime_ns) < (began.time_since_epoch() - margin).count();
}

HashCache::HashCache(std::shared_ptr<Store> store, Clock& clock)
    : m_store(std::move(store)),
      m_clock(clock),
      m_today(std::chrono::floor<std::chrono::days>(clock.wall()).time_since_epoch().count()) {}

HashCache::~HashCache() { flush(); }

std::optional<HashCache::Row> HashCache::row_of(const DigestKey& key) {
  const auto mtime = to_ns(key.mtime);
  const auto ctime = to_ns(key.ctime);
  if (!mtime || !ctime || key.file_system.empty()) return std::nullopt;
  return Row{key.inode, key.size, *mtime, *ctime, {}, 0};
}

std::int64_t HashCache::sum_of(const SpaceKey& space, const Row& row) {
  Bytes bytes;
  bytes.reserve(128);
  ByteWriter out(bytes);
  out.string(space.first);
  for (const std::uint64_t value :
       {space.second, row.inode, row.size, to_unsigned(row.mtime_ns), to_unsigned(row.ctime_ns)}) {
    out.u64(value);
  }
  row.digest.write(out);
  return to_signed(hash::check_of(bytes));
}

std::optional<hash::Digest> HashCache::find(const DigestKey& key) {
  const auto wanted = row_of(key);
  if (!wanted) return std::nullopt;
  const SpaceKey space_key{key.file_system, key.secret};
  const std::lock_guard lock(m_mutex);
  Space& space = m_spaces[space_key];
  const auto pending = space.pending.find(key.inode);
  const Row* row = pending != space.pending.end() ? &pending->second : stored(space_key, space, key.inode);
  if (row == nullptr || row->size != wanted->size || row->mtime_ns != wanted->mtime_ns ||
      row->ctime_ns != wanted->ctime_ns) {
    return std::nullopt;
  }
  Row found = *row;
  if (found.seen_day + k_touch_days <= m_today) {
    found.seen_day = m_today;
    add(space, found);
  }
  return found.digest;
}

void HashCache::record(const DigestKey& key, const hash::Digest& digest, WallTime began) {
  auto row = row_of(key);
  if (!row || !is_settled(key.mtime, key.ctime, began)) return;
  row->digest = digest;
  row->seen_day = m_today;
  const std::lock_guard lock(m_mutex);
  add(m_spaces[{key.file_system, key.secret}], *row);
}

const HashCache::Row* HashCache::stored(const SpaceKey& key, Space& space, std::uint64_t inode) {
  if (space.blocks.empty()) space.blocks.resize(k_blocks_kept);
  const std::uint64_t number = inode / k_block_inodes;
  Block& block = space.blocks[number % k_blocks_kept];
  if (block.number != number) {
    block = {number, false, load(key, {inode, inode})};
  } else if (!block.whole) {
    const std::uint64_t first = number * k_block_inodes;
    block = {number, true, load(key, {first, first + k_block_inodes - 1})};
  }
  const auto same = [inode](const Row& row) { return row.inode == inode; };
  const auto found = std::find_if(block.rows.begin(), block.rows.end(), same);
  return found == block.rows.end() ? nullptr : &*found;
}

std::vector<HashCache::Row> HashCache::load(const SpaceKey& key, Range inodes) {
  std::vector<Row> rows;
  m_store->with([&](Connection& connection) {
    rows.clear();
    SQLite::Statement& query = connection.statement(k_select);
    query.bindNoCopy(1, key.first);
    query.bind(2, to_signed(key.second));
    query.bind(3, to_signed(inodes.first));
    query.bind(4, to_signed(inodes.last));
    while (query.executeStep()) {
      const auto digest = digest_in(query.getColumn(4));
      if (!digest) continue;
      const Row row{to_unsigned(query.getColumn(0).getInt64()),
                    to_unsigned(query.getColumn(1).getInt64()),
                    query.getColumn(2).getInt64(),
                    query.getColumn(3).getInt64(),
                    *digest,
                    query.getColumn(5).getInt64()};
      if (sum_of(key, row) == query.getColumn(6).getInt64()) rows.push_back(row);
    }
  });
  return rows;
}

// With m_mutex held.
void HashCache::add(Space& space, const Row& row) {
  if (!space.blocks.empty()) {
    const std::uint64_t number = row.inode / k_block_inodes;
    Block& block = space.blocks[number % k_blocks_kept];
    if (block.number == number) block = {};
  }
  if (m_pending == 0) m_pending_since = m_clock.steady();
  m_pending += space.pending.insert_or_assign(row.inode, row).second ? 1 : 0;
  if (m_pending >= k_batch_rows || m_clock.steady() - m_pending_since >= k_batch_age) write_pending();
}

void HashCache::flush() {
  const std::lock_guard lock(m_mutex);
  write_pending();
}

void HashCache::write_pending() {
  if (m_pending == 0) return;
  m_store->with([this](Connection& connection) {
    SQLite::Transaction transaction(connection.database(), SQLite::TransactionBehavior::IMMEDIATE);
    for (const auto& [key, space] : m_spaces) {
      if (!space.pending.empty()) write(connection, key, space);
    }
    transaction.commit();
  });
  // Whether it worked or not: without a store there is nothing to keep them for.
  for (auto& [key, space] : m_spaces) space.pending.clear();
  m_pending = 0;
}

// The number of a space is asked for each time: the file may have been begun anew since.
void HashCache::write(Connection& connection, const SpaceKey& key, const Space& space) {
  SQLite::Statement& add_space = connection.statement(k_add_space);
  add_space.bindNoCopy(1, key.first);
  add_space.bind(2, to_signed(key.second));
  add_space.exec();
  SQLite::Statement& find_space = connection.statement(k_find_space);
  find_space.bindNoCopy(1, key.first);
  find_space.bind(2, to_signed(key.second));
  if (!find_space.executeStep()) return;
  const std::int64_t id = find_space.getColumn(0).getInt64();
  for (const auto& [inode, row] : space.pending) {
    SQLite::Statement& insert = connection.statement(k_insert);
    insert.bind(1, id);
    insert.bind(2, to_signed(inode));
    insert.bind(3, to_signed(row.size));
    insert.bind(4, row.mtime_ns);
    insert.bind(5, row.ctime_ns);
    bind_blob(insert, 6, row.digest.bytes);
    insert.bind(7, row.seen_day);
    insert.bind(8, sum_of(key, row));
    insert.exec();
  }
}

}  // namespace nb::cache
