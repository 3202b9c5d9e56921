// SPDX-License-Identifier: Apache-2.0
// The tables of the manifest and the steps to them (docs/formats.md).
#include <array>

#include "cache/bare_directories.hpp"
#include "cache/manifest.hpp"
#include "cache/manifest_rows.hpp"

namespace nb::cache::rows {
namespace {

// Paths are split so that each directory's path stands once, and a directory's rows together, in the order of a walk.
// Names and paths are blobs: compared by memcmp, as the protocol does. Numbers of signatures are never used again
// (AUTOINCREMENT): a piece that outlives its row must not become another row's.
constexpr const char* k_first_version = R"sql(
CREATE TABLE directories(id INTEGER PRIMARY KEY, path BLOB NOT NULL UNIQUE);
CREATE TABLE files(
  directory INTEGER NOT NULL, name BLOB NOT NULL, confirmed INTEGER NOT NULL,
  inode INTEGER NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, ctime_ns INTEGER NOT NULL,
  digest BLOB NOT NULL, signature INTEGER NOT NULL, sum INTEGER NOT NULL,
  PRIMARY KEY(directory, name, confirmed)) WITHOUT ROWID;
CREATE INDEX files_by_content ON files(size, digest) WHERE confirmed = 1;
CREATE INDEX files_pending ON files(directory, name) WHERE confirmed = 0;
CREATE INDEX files_signed ON files(signature) WHERE signature != 0;
CREATE TABLE signatures(id INTEGER PRIMARY KEY AUTOINCREMENT);
CREATE TABLE pieces(
  signature INTEGER NOT NULL, piece INTEGER NOT NULL, data BLOB NOT NULL, sum INTEGER NOT NULL,
  PRIMARY KEY(signature, piece));
CREATE TABLE run(id INTEGER PRIMARY KEY CHECK(id = 1), pending BLOB NOT NULL);
)sql";
constexpr const char* k_second_version = R"sql(
ALTER TABLE directories ADD COLUMN listing BLOB;
ALTER TABLE directories ADD COLUMN extras BLOB;
CREATE INDEX directories_by_listing ON directories(listing) WHERE listing IS NOT NULL;
)sql";
constexpr std::array<const char*, k_manifest_schema_version> k_migrations{k_first_version, k_second_version,
                                                                          k_make_bare_directories};

constexpr std::array k_probes{
    "SELECT id, path, listing, extras FROM directories LIMIT 1",
    "SELECT directory, name, confirmed, inode, size, mtime_ns, ctime_ns, digest, signature, sum FROM files LIMIT 1",
    "SELECT id FROM signatures LIMIT 1",
    "SELECT signature, piece, data, sum FROM pieces LIMIT 1",
    "SELECT pending FROM run LIMIT 1",
    k_probe_bare_directories,
};

}  // namespace

const Schema k_manifest_schema{k_migrations, k_probes, PathRule::exact};

}  // namespace nb::cache::rows
