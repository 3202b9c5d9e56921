// SPDX-License-Identifier: Apache-2.0
#include "cache/content_store.hpp"

#include <array>

#include "cache/sums.hpp"

namespace nb::cache {
namespace {

constexpr std::uint64_t k_path_bits = ~std::uint64_t{0} >> 1;  // SQLite's integers are signed

// 2: what version 1 knew of an inode may be true of an earlier one of its number.
constexpr std::array<const char*, k_content_schema_version> k_migrations{R"sql(
CREATE TABLE contents(
  inode INTEGER PRIMARY KEY, path INTEGER NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
  ctime_ns INTEGER NOT NULL, digest BLOB NOT NULL, seen_ns INTEGER NOT NULL, sum INTEGER NOT NULL);
)sql",
                                                                         R"sql(
DROP TABLE contents;
CREATE TABLE contents(
  inode INTEGER PRIMARY KEY, path INTEGER NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
  ctime_ns INTEGER NOT NULL, born_ns INTEGER NOT NULL, digest BLOB NOT NULL, seen_ns INTEGER NOT NULL,
  sum INTEGER NOT NULL);
)sql"};
constexpr std::array k_probes{
    "SELECT inode, path, size, mtime_ns, ctime_ns, born_ns, digest, seen_ns, sum FROM contents LIMIT 1",
};
const Schema k_schema{k_migrations, k_probes, PathRule::exact};

constexpr StoreTexts k_texts{
    "what scrubs know of the contents",
    "The next scrub takes what it finds for sound.",
    "what scrubs know of the contents cannot be used",
};

std::int64_t sum_of(std::uint64_t inode, const Content& content) {
  Bytes bytes;
  bytes.reserve(80);
  ByteWriter out(bytes);
  for (const std::uint64_t value :
       {inode, content.path, content.size, to_unsigned(content.mtime_ns), to_unsigned(content.ctime_ns),
        to_unsigned(content.born_ns), to_unsigned(content.seen_ns)}) {
    out.u64(value);
  }
  content.digest.write(out);
  return to_signed(hash::check_of(bytes));
}

// The row at which a query of all columns stands; nothing if it is not what was written.
std::optional<Content> content_in(const SQLite::Statement& row) {
  const auto digest = digest_in(row.getColumn(6));
  if (!digest) return std::nullopt;
  const Content content{to_unsigned(row.getColumn(1).getInt64()),
                        to_unsigned(row.getColumn(2).getInt64()),
                        row.getColumn(3).getInt64(),
                        row.getColumn(4).getInt64(),
                        row.getColumn(5).getInt64(),
                        *digest,
                        row.getColumn(7).getInt64()};
  const bool is_whole = sum_of(to_unsigned(row.getColumn(0).getInt64()), content) == row.getColumn(8).getInt64();
  return is_whole ? std::optional(content) : std::nullopt;
}

}  // namespace

std::uint64_t path_number(const RelPath& path) { return hash::check_of(as_bytes(path.str())) & k_path_bits; }

std::uint64_t part_of(std::uint64_t path_number, std::uint64_t parts) { return path_number % parts; }

ContentStore::ContentStore(std::unique_ptr<Store> store) : m_store(std::move(store)), m_batch(*m_store) {}

ContentStore::~ContentStore() { flush(); }

std::unique_ptr<ContentStore> ContentStore::open(const std::string& control_directory, Warn warn, FileAccess access) {
  return std::unique_ptr<ContentStore>(new ContentStore(
      std::make_unique<Store>(control_directory + "/" + k_contents_name, k_schema, k_texts, std::move(warn), access)));
}

std::unique_ptr<ContentStore> ContentStore::none() {
  return std::unique_ptr<ContentStore>(new ContentStore(std::make_unique<Store>()));
}

void ContentStore::flush() { m_batch.flush(); }

std::optional<Content> ContentStore::find(std::uint64_t inode) {
  std::optional<Content> found;
  m_store->with([&](Connection& connection) {
    SQLite::Statement& query = connection.statement(
        "SELECT inode, path, size, mtime_ns, ctime_ns, born_ns, digest, seen_ns, sum FROM contents WHERE inode = ?");
    query.bind(1, to_signed(inode));
    found = query.executeStep() ? content_in(query) : std::nullopt;
  });
  return found;
}

void ContentStore::put(std::uint64_t inode, const Content& content) {
  m_batch.add([&](Connection& connection) {
    SQLite::Statement& insert = connection.statement(
        "INSERT OR REPLACE INTO contents(inode, path, size, mtime_ns, ctime_ns, born_ns, digest, seen_ns, sum)"
        " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)");
    insert.bind(1, to_signed(inode));
    insert.bind(2, to_signed(content.path));
    insert.bind(3, to_signed(content.size));
    insert.bind(4, content.mtime_ns);
    insert.bind(5, content.ctime_ns);
    insert.bind(6, content.born_ns);
    bind_blob(insert, 7, content.digest.bytes);
    insert.bind(8, content.seen_ns);
    insert.bind(9, sum_of(inode, content));
    insert.exec();
  });
}

void ContentStore::for_each_of(const std::function<bool(const Content&)>& is_wanted,
                               const std::function<void(std::uint64_t inode, const Content&)>& visit) {
  m_store->with([&](Connection& connection) {
    SQLite::Statement& query = connection.statement(
        "SELECT inode, path, size, mtime_ns, ctime_ns, born_ns, digest, seen_ns, sum FROM contents");
    while (query.executeStep()) {
      const auto content = content_in(query);
      if (content && is_wanted(*content)) visit(to_unsigned(query.getColumn(0).getInt64()), *content);
    }
  });
}

void ContentStore::forget_unseen(std::int64_t seen_ns, std::uint64_t part, std::uint64_t parts) {
  m_batch.add([&](Connection& connection) {
    SQLite::Statement& remove = connection.statement("DELETE FROM contents WHERE seen_ns < ? AND path % ? = ?");
    remove.bind(1, seen_ns);
    remove.bind(2, to_signed(parts));
    remove.bind(3, to_signed(part));
    remove.exec();
  });
}

}  // namespace nb::cache
