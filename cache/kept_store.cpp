// SPDX-License-Identifier: Apache-2.0
#include "cache/kept_store.hpp"

#include <sqlite3.h>

#include <array>
#include <limits>

#include "cache/sums.hpp"
#include "hash/digest.hpp"

namespace nb::cache {
namespace {

constexpr std::size_t k_batch_changes = 4096;
constexpr std::int64_t k_stands = std::numeric_limits<std::int64_t>::max();  // column gone: no end yet

// Of rows of a generation that may not come to be, `writing` tells that there are some.
constexpr std::array<const char*, k_kept_schema_version> k_migrations{R"sql(
CREATE TABLE kept(
  path BLOB NOT NULL, since INTEGER NOT NULL, gone INTEGER NOT NULL, type INTEGER NOT NULL,
  attributes BLOB NOT NULL, sum INTEGER NOT NULL,
  PRIMARY KEY(path, since)) WITHOUT ROWID;
CREATE INDEX kept_gone ON kept(gone) WHERE gone < 9223372036854775807;
CREATE TABLE run(id INTEGER PRIMARY KEY CHECK(id = 1), writing INTEGER NOT NULL);
)sql"};
constexpr std::array k_probes{
    "SELECT path, since, gone, type, attributes, sum FROM kept LIMIT 1",
    "SELECT writing FROM run LIMIT 1",
};
const Schema k_write_schema{k_migrations, k_probes, PathRule::exact, Durability::at_once, FileAccess::write};
const Schema k_read_schema{k_migrations, k_probes, PathRule::exact, Durability::at_once, FileAccess::read};

constexpr StoreTexts k_texts{
    "what is kept beside the tree",
    "Owners, modes, links and attributes that the file system there cannot hold are missing; a push brings them again.",
    "what is kept beside the tree cannot be used: owners, modes, links and attributes that the file system there cannot"
    " hold are missing",
};

struct Row {
  std::int64_t since = 0;
  std::int64_t type = 0;
  Bytes attributes;
};

Bytes encode(const fs::Xattrs& attributes) {
  Bytes bytes;
  ByteWriter out(bytes);
  for (const fs::Xattr& each : attributes) {
    out.string(each.name);
    out.string(each.value);
  }
  return bytes;
}

fs::Xattrs decode(ByteView bytes) {
  fs::Xattrs attributes;
  ByteReader in(bytes, Errc::bad_set, "kept attributes");
  while (!in.at_end()) {
    auto name = in.string(k_max_kept_bytes);
    auto value = name ? in.string(k_max_kept_bytes) : Result<std::string>(fail(Errc::bad_set, ""));
    if (!value) return {};
    attributes.push_back({std::move(*name), std::move(*value)});
  }
  return attributes;
}

std::int64_t sum_of(const std::string& path, const Row& row) {
  Bytes bytes;
  ByteWriter out(bytes);
  out.string(path);
  out.u64(to_unsigned(row.since));
  out.u64(to_unsigned(row.type));
  out.raw(row.attributes);
  return to_signed(hash::check_of(bytes));
}

void bind_path(SQLite::Statement& statement, int index, const std::string& path) {
  bind_blob(statement, index, as_bytes(path));
}

// The row of `path` that a query, which names since, type, attributes, sum, has found; nothing if it is damaged.
std::optional<Row> row_in(SQLite::Statement& query, const std::string& path) {
  if (!query.executeStep()) return std::nullopt;
  const ByteView attributes = blob_in(query.getColumn(2));
  Row row{query.getColumn(0).getInt64(), query.getColumn(1).getInt64(), {attributes.begin(), attributes.end()}};
  if (sum_of(path, row) != query.getColumn(3).getInt64()) return std::nullopt;
  return row;
}

void run_for_path(Connection& connection, const char* sql, std::int64_t next, const std::string& path) {
  SQLite::Statement& statement = connection.statement(sql);
  statement.bind(1, next);
  bind_path(statement, 2, path);
  statement.exec();
}

void end_row(Connection& connection, std::int64_t next, const std::string& path) {
  run_for_path(connection, "DELETE FROM kept WHERE since = ? AND path = ?", next, path);
  run_for_path(connection, "UPDATE kept SET gone = ? WHERE gone = 9223372036854775807 AND path = ?", next, path);
}

void run_below(Connection& connection, const char* sql, std::int64_t next, const std::string& path) {
  SQLite::Statement& statement = connection.statement(sql);
  statement.bind(1, next);
  bind_path(statement, 2, path + "/");
  bind_path(statement, 3, path + "0");  // the byte after '/'
  statement.exec();
}

void insert(Connection& connection, const std::string& path, const Row& row) {
  SQLite::Statement& statement = connection.statement(
      "INSERT OR REPLACE INTO kept(path, since, gone, type, attributes, sum) VALUES(?, ?, ?, ?, ?, ?)");
  bind_path(statement, 1, path);
  statement.bind(2, row.since);
  statement.bind(3, k_stands);
  statement.bind(4, row.type);
  bind_blob(statement, 5, row.attributes);
  statement.bind(6, sum_of(path, row));
  statement.exec();
}

void exec_with(Connection& connection, const char* sql, std::int64_t value) {
  SQLite::Statement& statement = connection.statement(sql);
  statement.bind(1, value);
  statement.exec();
}

// Takes back what was written for generations that did not come to be.
void take_back(Connection& connection, std::int64_t present) {
  exec_with(connection, "DELETE FROM kept WHERE since > ?", present);
  SQLite::Statement& statement = connection.statement(
      "UPDATE kept SET gone = 9223372036854775807 WHERE gone > ? AND gone < 9223372036854775807");
  statement.bind(1, present);
  statement.exec();
}

}  // namespace

KeptStore::KeptStore(std::unique_ptr<Store> store, std::uint64_t generation)
    : m_store(std::move(store)), m_present(to_signed(generation)) {}

KeptStore::~KeptStore() = default;

std::unique_ptr<KeptStore> KeptStore::open(const std::string& control_directory, std::uint64_t generation, Use use,
                                           Warn warn) {
  const Schema& schema = use == Use::write ? k_write_schema : k_read_schema;
  auto store = std::make_unique<Store>(control_directory + "/" + k_kept_name, schema, k_texts, std::move(warn));
  return std::unique_ptr<KeptStore>(new KeptStore(std::move(store), generation));
}

fs::Xattrs KeptStore::find(const RelPath& path, fs::FileType type) {
  std::optional<Row> row;
  m_store->with([&](Connection& connection) {
    SQLite::Statement& query = connection.statement(
        "SELECT since, type, attributes, sum FROM kept WHERE path = ? AND since <= ? AND gone > ?");
    bind_path(query, 1, path.str());
    query.bind(2, m_present);
    query.bind(3, m_present);
    row = row_in(query, path.str());
  });
  // Somebody put something else in its place.
  if (!row || row->type != static_cast<std::int64_t>(type)) return {};
  return decode(row->attributes);
}

// --- Writing --------------------------------------------------------------------------------------------------------

// One transaction for many changes: it is begun by the first, and ended by end_batch(). Each one tells anew that this
// run writes: a file that was damaged in the middle of it, and begun again, has forgotten that.
template <class Work>
void KeptStore::write(const Work& work) {
  m_wrote |= m_store->usable();
  m_store->with([&](Connection& connection) {
    if (::sqlite3_get_autocommit(connection.database().getHandle()) != 0) {
      connection.database().exec("BEGIN IMMEDIATE");
      exec_with(connection, "INSERT OR REPLACE INTO run(id, writing) VALUES(1, ?)", next());
    }
    work(connection);
    if (++m_batch >= k_batch_changes) end_batch(connection);
  });
}

void KeptStore::end_batch(Connection& connection) {
  m_batch = 0;
  connection.rest();
  if (::sqlite3_get_autocommit(connection.database().getHandle()) == 0) connection.database().exec("COMMIT");
}

void KeptStore::begin_run() {
  m_store->with([&](Connection& connection) {
    SQLite::Statement& query = connection.statement("SELECT writing FROM run WHERE id = 1");
    if (!query.executeStep()) return;
    connection.rest();
    connection.database().exec("BEGIN IMMEDIATE");
    take_back(connection, m_present);
    exec_with(connection, "DELETE FROM run WHERE id = ?", 1);
    end_batch(connection);
  });
  // Its rows would go on holding for what this run replaces.
  m_wrote |= !m_store->usable();
}

bool KeptStore::put(const RelPath& path, fs::FileType type, const fs::Xattrs& attributes) {
  const Row row{next(), static_cast<std::int64_t>(type), encode(attributes)};
  const bool fits = row.attributes.size() <= k_max_kept_bytes;
  write([&](Connection& connection) {
    end_row(connection, next(), path.str());
    if (fits && !attributes.empty()) insert(connection, path.str(), row);
  });
  return fits && m_store->usable();
}

void KeptStore::copy(const RelPath& from, const RelPath& to) {
  write([&](Connection& connection) {
    SQLite::Statement& query = connection.statement(
        "SELECT since, type, attributes, sum FROM kept WHERE path = ? AND gone = 9223372036854775807");
    bind_path(query, 1, from.str());
    std::optional<Row> row = row_in(query, from.str());
    end_row(connection, next(), to.str());
    if (!row) return;
    row->since = next();
    insert(connection, to.str(), *row);
  });
}

void KeptStore::remove(const RelPath& path) {
  write([&](Connection& connection) { end_row(connection, next(), path.str()); });
  remove_below(path);
}

void KeptStore::remove_below(const RelPath& path) {
  write([&](Connection& connection) {
    run_below(connection, "DELETE FROM kept WHERE since = ? AND path > ? AND path < ?", next(), path.str());
    run_below(connection,
              "UPDATE kept SET gone = ? WHERE gone = 9223372036854775807 AND path > ? AND path < ?", next(),
              path.str());
  });
}

Status KeptStore::flush() {
  m_store->with([this](Connection& connection) { end_batch(connection); });
  if (!m_wrote || m_store->usable()) return {};
  return fail(Errc::io, std::string(k_kept_name) + " of the file set cannot be written");
}

void KeptStore::confirm() {
  m_present = next();
  m_store->with([&](Connection& connection) {
    connection.database().exec("BEGIN IMMEDIATE");
    exec_with(connection, "DELETE FROM kept WHERE gone <= ?", m_present);
    exec_with(connection, "DELETE FROM run WHERE id = ?", 1);
    end_batch(connection);
  });
  m_wrote = false;
}

}  // namespace nb::cache
