// SPDX-License-Identifier: Apache-2.0
#include "cache/manifest_rows.hpp"

#include "cache/manifest.hpp"
#include "cache/sums.hpp"

namespace nb::cache::rows {
namespace {

constexpr const char* k_find =
    "SELECT name, inode, size, mtime_ns, ctime_ns, digest, signature, sum FROM files"
    " WHERE directory = ? AND name = ? AND confirmed = ?";
constexpr const char* k_list =
    "SELECT name, inode, size, mtime_ns, ctime_ns, digest, signature, sum FROM files"
    " WHERE directory = ? AND name >= ? AND confirmed = 1 ORDER BY name LIMIT ?";
constexpr const char* k_put =
    "INSERT OR REPLACE INTO files(directory, name, confirmed, inode, size, mtime_ns, ctime_ns, digest, signature, sum)"
    " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

ByteView text(std::string_view bytes) { return as_bytes(bytes); }

// A blob that has no bytes must still be one: bound as null it would be equal to nothing.
void bind_text(SQLite::Statement& statement, int index, std::string_view bytes) {
  bind_blob(statement, index, text(bytes.data() == nullptr ? std::string_view("") : bytes));
}

std::string text_in(const SQLite::Column& column) { return std::string(as_text(blob_in(column))); }

// From the columns of a directory's path and a name in it.
std::string path_in(const SQLite::Statement& row) {
  std::string path = text_in(row.getColumn(0));
  if (!path.empty()) path += '/';
  return path + text_in(row.getColumn(1));
}

std::optional<File> file_in(const SQLite::Statement& row) {
  const auto digest = digest_in(row.getColumn(5));
  if (!digest) return std::nullopt;
  return File{text_in(row.getColumn(0)),
              to_unsigned(row.getColumn(1).getInt64()),
              to_unsigned(row.getColumn(2).getInt64()),
              row.getColumn(3).getInt64(),
              row.getColumn(4).getInt64(),
              *digest,
              row.getColumn(6).getInt64(),
              row.getColumn(7).getInt64()};
}

void exec_with(Connection& connection, const char* sql, std::int64_t value) {
  SQLite::Statement& statement = connection.statement(sql);
  statement.bind(1, value);
  statement.exec();
}

void drop_signature(Connection& connection, std::int64_t id) {
  if (id == 0) return;
  exec_with(connection, "DELETE FROM pieces WHERE signature = ?", id);
  exec_with(connection, "DELETE FROM signatures WHERE id = ?", id);
}

// Of a DELETE that returns the signatures of the rows it removes: runs it, and they go too.
void drop_with_signatures(Connection& connection, SQLite::Statement& removal) {
  std::vector<std::int64_t> ids;
  while (removal.executeStep()) ids.push_back(removal.getColumn(0).getInt64());
  for (const std::int64_t id : ids) drop_signature(connection, id);
}

ByteView number_bytes(const std::int64_t& value) { return std::as_bytes(std::span(&value, 1)); }

}  // namespace

std::int64_t File::sum_under(std::string_view directory) const {
  Bytes bytes;
  bytes.reserve(128);
  ByteWriter out(bytes);
  out.string(directory);
  out.string(name);
  for (const std::uint64_t value : {inode, size, to_unsigned(mtime_ns), to_unsigned(ctime_ns)}) out.u64(value);
  digest.write(out);
  return to_signed(hash::check_of(bytes));
}

std::optional<std::int64_t> find_directory(Connection& connection, const std::string& path) {
  SQLite::Statement& query = connection.statement("SELECT id FROM directories WHERE path = ?");
  bind_text(query, 1, path);
  if (!query.executeStep()) return std::nullopt;
  return query.getColumn(0).getInt64();
}

std::int64_t make_directory(Connection& connection, const std::string& path) {
  const auto found = find_directory(connection, path);
  if (found) return *found;
  SQLite::Statement& insert = connection.statement("INSERT INTO directories(path) VALUES(?)");
  bind_text(insert, 1, path);
  insert.exec();
  return connection.database().getLastInsertRowid();
}

std::optional<File> find(Connection& connection, const PathIn& at, State state) {
  SQLite::Statement& query = connection.statement(k_find);
  query.bind(1, at.directory);
  bind_text(query, 2, at.name);
  query.bind(3, static_cast<int>(state));
  return query.executeStep() ? file_in(query) : std::nullopt;
}

std::vector<File> list(Connection& connection, std::int64_t directory, std::string_view from, std::size_t most) {
  std::vector<File> files;
  SQLite::Statement& query = connection.statement(k_list);
  query.bind(1, directory);
  bind_text(query, 2, from);
  query.bind(3, static_cast<std::int64_t>(most));
  while (query.executeStep()) {
    auto file = file_in(query);
    if (file) files.push_back(std::move(*file));
  }
  return files;
}

void put(Connection& connection, const PathIn& at, State state, const File& file) {
  SQLite::Statement& insert = connection.statement(k_put);
  insert.bind(1, at.directory);
  bind_text(insert, 2, at.name);
  insert.bind(3, static_cast<int>(state));
  insert.bind(4, to_signed(file.inode));
  insert.bind(5, to_signed(file.size));
  insert.bind(6, file.mtime_ns);
  insert.bind(7, file.ctime_ns);
  bind_blob(insert, 8, file.digest.bytes);
  insert.bind(9, file.signature);
  insert.bind(10, file.sum);
  insert.exec();
}

void drop(Connection& connection, const PathIn& at, State state) {
  SQLite::Statement& remove =
      connection.statement("DELETE FROM files WHERE directory = ? AND name = ? AND confirmed = ? RETURNING signature");
  remove.bind(1, at.directory);
  bind_text(remove, 2, at.name);
  remove.bind(3, static_cast<int>(state));
  drop_with_signatures(connection, remove);
}

void confirm(Connection& connection, const PathIn& at, File file) {
  const auto replaced = find(connection, at, State::confirmed);
  // A signature is its content's.
  const bool is_same = replaced && replaced->digest == file.digest && replaced->size == file.size;
  if (is_same && file.signature == 0) {
    file.signature = replaced->signature;
  } else if (replaced) {
    drop_signature(connection, replaced->signature);
  }
  SQLite::Statement& update = connection.statement(
      "UPDATE OR REPLACE files SET confirmed = 1, ctime_ns = ?, sum = ?, signature = ?"
      " WHERE directory = ? AND name = ? AND confirmed = 0");
  update.bind(1, file.ctime_ns);
  update.bind(2, file.sum);
  update.bind(3, file.signature);
  update.bind(4, at.directory);
  bind_text(update, 5, at.name);
  update.exec();
}

std::vector<PendingFile> list_pending(Connection& connection, const PathIn& after, std::size_t most) {
  SQLite::Statement& query = connection.statement(
      "SELECT f.name, f.inode, f.size, f.mtime_ns, f.ctime_ns, f.digest, f.signature, f.sum, f.directory, d.path"
      " FROM files f JOIN directories d ON d.id = f.directory"
      " WHERE f.confirmed = 0 AND (f.directory, f.name) > (?, ?) ORDER BY f.directory, f.name LIMIT ?");
  query.bind(1, after.directory);
  bind_text(query, 2, after.name);
  query.bind(3, static_cast<std::int64_t>(most));
  std::vector<PendingFile> files;
  while (query.executeStep()) {
    auto file = file_in(query);
    if (file) files.push_back({query.getColumn(8).getInt64(), text_in(query.getColumn(9)), std::move(*file)});
  }
  return files;
}

void drop_pending(Connection& connection) {
  drop_with_signatures(connection, connection.statement("DELETE FROM files WHERE confirmed = 0 RETURNING signature"));
}

void drop_pending_of_live(Connection& connection) {
  drop_with_signatures(
      connection,
      connection.statement(
          "DELETE FROM files AS staged WHERE confirmed = 0 AND EXISTS (SELECT 1 FROM files live WHERE live.confirmed = "
          "1"
          " AND live.directory = staged.directory AND live.name = staged.name AND live.inode = staged.inode)"
          " RETURNING signature"));
}

// Everything below `path`: directories from "path/" to before "path0", the byte after the slash.
void drop_tree(Connection& connection, const std::string& path) {
  const std::string first = path + "/";
  const std::string last = path + "0";
  const auto with_paths = [&](const char* sql) -> SQLite::Statement& {
    SQLite::Statement& statement = connection.statement(sql);
    bind_text(statement, 1, path);
    bind_text(statement, 2, first);
    bind_text(statement, 3, last);
    return statement;
  };
  drop_with_signatures(connection,
                       with_paths("DELETE FROM files WHERE confirmed = 1 AND directory IN"
                                  " (SELECT id FROM directories WHERE path = ?1 OR (path > ?2 AND path < ?3))"
                                  " RETURNING signature"));
  with_paths(
      "DELETE FROM directories WHERE (path = ?1 OR (path > ?2 AND path < ?3))"
      " AND NOT EXISTS (SELECT 1 FROM files WHERE directory = directories.id)")
      .exec();
}

std::int64_t make_signature(Connection& connection, const PathIn& at) {
  auto file = find(connection, at, State::pending);
  if (file && file->signature != 0) return file->signature;
  if (!file) file = File{};  // its sum does not fit: no row until stage() fills it
  connection.statement("INSERT INTO signatures DEFAULT VALUES").exec();
  file->signature = connection.database().getLastInsertRowid();
  put(connection, at, State::pending, *file);
  return file->signature;
}

void put_piece(Connection& connection, std::int64_t signature, std::uint32_t index, ByteView data) {
  SQLite::Statement& insert =
      connection.statement("INSERT OR REPLACE INTO pieces(signature, piece, data, sum) VALUES(?, ?, ?, ?)");
  insert.bind(1, signature);
  insert.bind(2, static_cast<std::int64_t>(index));
  bind_blob(insert, 3, data);
  insert.bind(4, piece_sum(number_bytes(signature), index, data));
  insert.exec();
}

std::optional<Bytes> find_piece(Connection& connection, std::int64_t signature, std::uint32_t index) {
  SQLite::Statement& query = connection.statement("SELECT data, sum FROM pieces WHERE signature = ? AND piece = ?");
  query.bind(1, signature);
  query.bind(2, static_cast<std::int64_t>(index));
  if (!query.executeStep()) return std::nullopt;
  const ByteView data = blob_in(query.getColumn(0));
  if (data.size() > k_max_signature_piece_bytes) return std::nullopt;
  if (piece_sum(number_bytes(signature), index, data) != query.getColumn(1).getInt64()) return std::nullopt;
  return Bytes(data.begin(), data.end());
}

// Looks at a few rows only: where many files have one size, that size tells nothing.
bool has_other(Connection& connection, const std::string& path, std::uint64_t size,
               std::optional<std::int64_t> mtime_ns) {
  constexpr int k_most = 256;
  SQLite::Statement& query = connection.statement(
      "SELECT d.path, f.name, f.mtime_ns FROM files f JOIN directories d ON d.id = f.directory"
      " WHERE f.confirmed = 1 AND f.size = ? LIMIT ?");
  query.bind(1, to_signed(size));
  query.bind(2, k_most);
  while (query.executeStep()) {
    if (mtime_ns && query.getColumn(2).getInt64() != *mtime_ns) continue;
    if (path_in(query) != path) return true;
  }
  return false;
}

std::vector<std::string> find_content(Connection& connection, const hash::Digest& digest, std::uint64_t size,
                                      std::size_t most) {
  SQLite::Statement& query = connection.statement(
      "SELECT d.path, f.name FROM files f JOIN directories d ON d.id = f.directory"
      " WHERE f.confirmed = 1 AND f.size = ? AND f.digest = ? LIMIT ?");
  query.bind(1, to_signed(size));
  bind_blob(query, 2, digest.bytes);
  query.bind(3, static_cast<std::int64_t>(most));
  std::vector<std::string> paths;
  while (query.executeStep()) paths.push_back(path_in(query));
  return paths;
}

std::string pending_transaction(Connection& connection) {
  SQLite::Statement& query = connection.statement("SELECT pending FROM run");
  return query.executeStep() ? text_in(query.getColumn(0)) : std::string();
}

void set_pending_transaction(Connection& connection, ByteView id) {
  SQLite::Statement& insert = connection.statement("INSERT OR REPLACE INTO run(id, pending) VALUES(1, ?)");
  bind_blob(insert, 1, id);
  insert.exec();
}

}  // namespace nb::cache::rows
