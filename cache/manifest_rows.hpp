// SPDX-License-Identifier: Apache-2.0
// The tables of the manifest, one function a statement. Internal to cache/; manifest.cpp has batches and windows.
// SQLite's exceptions pass through.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/rel_path.hpp"
#include "cache/store.hpp"
#include "hash/digest.hpp"

namespace nb::cache::rows {

extern const Schema k_manifest_schema;

// Never renumber.
enum class State : std::uint8_t { pending = 0, confirmed = 1 };

struct File {
  std::string name;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;
  std::int64_t ctime_ns = 0;  // 0 while pending
  hash::Digest digest;
  std::int64_t signature = 0;  // 0: none
  std::int64_t sum = 0;        // as stored

  // Over everything but the signature, under `directory`.
  [[nodiscard]] std::int64_t sum_under(std::string_view directory) const;
};

struct PathIn {
  std::int64_t directory = 0;  // its number
  std::string_view name;
};

// The number of a directory, made where it is missing / nothing where it is missing.
std::int64_t make_directory(Connection& connection, const std::string& path);
std::optional<std::int64_t> find_directory(Connection& connection, const std::string& path);

std::optional<File> find(Connection& connection, const PathIn& at, State state);
// Up to `most` confirmed rows of a directory from the name `from` on, in order.
std::vector<File> list(Connection& connection, std::int64_t directory, std::string_view from, std::size_t most);
void put(Connection& connection, const PathIn& at, State state, const File& file);
// With its signature.
void drop(Connection& connection, const PathIn& at, State state);
// The pending row becomes the confirmed one, with ctime and sum of `file`, and with the signature of the one it
// replaces if that is of the same content and it has none itself.
void confirm(Connection& connection, const PathIn& at, File file);

struct PendingFile {
  std::int64_t directory = 0;
  std::string directory_path;
  File file;
};
// The next pending rows after (directory, name), in order.
std::vector<PendingFile> list_pending(Connection& connection, const PathIn& after, std::size_t most);
void drop_pending(Connection& connection);
// Those about a file that is not staged, but live: of the inode that the confirmed row of the same path has.
void drop_pending_of_live(Connection& connection);
// Confirmed rows below the directory `path`.
void drop_tree(Connection& connection, const std::string& path);

// The signature of a pending row, made with an empty row where there is none yet.
std::int64_t make_signature(Connection& connection, const PathIn& at);
void put_piece(Connection& connection, std::int64_t signature, std::uint32_t index, ByteView data);
std::optional<Bytes> find_piece(Connection& connection, std::int64_t signature, std::uint32_t index);

// Whether a file other than `path` has this size and, where it is given, this mtime.
bool has_other(Connection& connection, const std::string& path, std::uint64_t size,
               std::optional<std::int64_t> mtime_ns);
std::vector<std::string> find_content(Connection& connection, const hash::Digest& digest, std::uint64_t size,
                                      std::size_t most);

// The transaction whose rows are pending.
std::string pending_transaction(Connection& connection);
void set_pending_transaction(Connection& connection, ByteView id);

}  // namespace nb::cache::rows
