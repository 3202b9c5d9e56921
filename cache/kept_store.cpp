// SPDX-License-Identifier: Apache-2.0
#include "cache/kept_store.hpp"

#include <array>

#include "cache/kept_rows.hpp"
#include "cache/sums.hpp"

namespace nb::cache {
namespace {

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
const Schema k_schema{k_migrations, k_probes, PathRule::exact, Durability::at_once};

constexpr StoreTexts k_texts{
    "what is kept beside the tree",
    "Owners, modes, links and attributes that the file system there cannot hold are missing; a push brings them again.",
    "what is kept beside the tree cannot be used: owners, modes, links and attributes that the file system there cannot"
    " hold are missing",
};

}  // namespace

KeptStore::KeptStore(std::unique_ptr<Store> store, std::uint64_t generation, Warn warn)
    : m_store(std::move(store)),
      m_batch(*m_store, [this](Connection& connection) { tell_writing(connection); }),
      m_present(to_signed(generation)),
      m_warn(std::move(warn)) {}

KeptStore::~KeptStore() = default;

std::unique_ptr<KeptStore> KeptStore::open(const std::string& control_directory, std::uint64_t generation, Use use,
                                           Warn warn) {
  const FileAccess access = use == Use::write ? FileAccess::write : FileAccess::read;
  auto store = std::make_unique<Store>(control_directory + "/" + k_kept_name, k_schema, k_texts, warn, access);
  std::unique_ptr<KeptStore> kept(new KeptStore(std::move(store), generation, std::move(warn)));
  if (use == Use::read) kept->check_rows(use);
  return kept;
}

// A row that cannot be believed is told, and goes where that can be: then its file's metadata differ from the source's,
// which brings them again.
void KeptStore::check_rows(Use use) {
  std::size_t found = 0;
  m_store->with([&](Connection& connection) {
    // One state of the file: another process may write.
    connection.database().exec(use == Use::read ? "BEGIN" : "BEGIN IMMEDIATE");
    const std::vector<RowKey> damaged = damaged_rows(connection, m_present);
    found = damaged.size();
    if (use == Use::write) remove_rows(connection, damaged);
    m_batch.end(connection);
  });
  if (found == 0 || !m_warn) return;
  m_warn(std::string(k_texts.damage_is) + " in " + m_store->shown_path() + " was damaged, " + std::to_string(found) +
         (found == 1 ? " row. " : " rows. ") + k_texts.damage_costs);
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

template <class Work>
void KeptStore::write(const Work& work) {
  m_wrote = true;
  m_batch.add(work);
}

// Every transaction does that: a file that was damaged in the middle of a run, and begun again, has forgotten it.
void KeptStore::tell_writing(Connection& connection) const {
  exec_with(connection, "INSERT OR REPLACE INTO run(id, writing) VALUES(1, ?)", next());
}

void KeptStore::begin_run() {
  m_store->with([&](Connection& connection) {
    if (!has_run(connection)) return;
    connection.rest();
    connection.database().exec("BEGIN IMMEDIATE");
    take_back(connection, m_present);
    exec_with(connection, "DELETE FROM run WHERE id = ?", 1);
    m_batch.end(connection);
  });
  check_rows(Use::write);
  m_false_alarms = m_store->false_alarms();
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
    run_below(connection, "UPDATE kept SET gone = ? WHERE gone = 9223372036854775807 AND path > ? AND path < ?", next(),
              path.str());
  });
}

Status KeptStore::flush() {
  m_batch.flush();
  const bool is_whole = m_store->usable() && m_store->false_alarms() == m_false_alarms;
  if (!m_wrote || is_whole) return {};
  return fail(Errc::io, std::string(k_kept_name) + " of the file set cannot be written");
}

void KeptStore::confirm() {
  m_present = next();
  m_store->with([&](Connection& connection) {
    connection.database().exec("BEGIN IMMEDIATE");
    exec_with(connection, "DELETE FROM kept WHERE gone <= ?", m_present);
    exec_with(connection, "DELETE FROM run WHERE id = ?", 1);
    m_batch.end(connection);
  });
  m_wrote = false;
}

}  // namespace nb::cache
