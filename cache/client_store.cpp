// SPDX-License-Identifier: Apache-2.0
#include "cache/client_store.hpp"

#include <array>

#include "cache/bare_directories.hpp"
#include "cache/set_reports.hpp"

namespace nb::cache {
namespace {

constexpr std::array<const char*, k_client_schema_version> k_migrations{
    R"sql(
CREATE TABLE known_sets(
  destination TEXT NOT NULL, source TEXT NOT NULL,
  uuid BLOB, generation INTEGER NOT NULL DEFAULT 0,
  last_push_ns INTEGER NOT NULL DEFAULT 0, last_exit INTEGER NOT NULL DEFAULT 0,
  bytes INTEGER NOT NULL DEFAULT 0, files INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY(destination, source)) WITHOUT ROWID;
CREATE TABLE mounts(
  destination TEXT NOT NULL, source TEXT NOT NULL, path TEXT NOT NULL,
  PRIMARY KEY(destination, source, path)) WITHOUT ROWID;
)sql",
    // A space is one file system under one secret. Its number keeps the rows of `digests` short, and the clustering by
    // inode lets neighbours be read together.
    R"sql(
CREATE TABLE spaces(
  id INTEGER PRIMARY KEY, file_system TEXT NOT NULL, secret INTEGER NOT NULL,
  UNIQUE(file_system, secret));
CREATE TABLE digests(
  space INTEGER NOT NULL, inode INTEGER NOT NULL, size INTEGER NOT NULL,
  mtime_ns INTEGER NOT NULL, ctime_ns INTEGER NOT NULL, digest BLOB NOT NULL,
  seen_day INTEGER NOT NULL, sum INTEGER NOT NULL,
  PRIMARY KEY(space, inode)) WITHOUT ROWID;
CREATE TABLE signatures(
  id INTEGER PRIMARY KEY, digest BLOB NOT NULL, secret INTEGER NOT NULL,
  used_ns INTEGER NOT NULL, bytes INTEGER NOT NULL DEFAULT 0,
  UNIQUE(digest, secret));
CREATE INDEX signatures_by_use ON signatures(used_ns);
CREATE TABLE signature_pieces(
  signature INTEGER NOT NULL, piece INTEGER NOT NULL, data BLOB NOT NULL, sum INTEGER NOT NULL,
  PRIMARY KEY(signature, piece));
CREATE TABLE upkeep(id INTEGER PRIMARY KEY CHECK(id = 1), pruned_day INTEGER NOT NULL);
)sql",
    k_make_bare_directories,
    R"sql(
CREATE TABLE hosts(
  host TEXT NOT NULL PRIMARY KEY, cpu_flags INTEGER NOT NULL, met_ns INTEGER NOT NULL,
  kex TEXT, host_key TEXT, cipher_out TEXT, cipher_in TEXT, mac_out TEXT, mac_in TEXT, compression TEXT,
  server TEXT) WITHOUT ROWID;
)sql",
    R"sql(
CREATE TABLE host_orders(
  host TEXT NOT NULL PRIMARY KEY, measured_ns INTEGER NOT NULL, ciphers TEXT, macs TEXT) WITHOUT ROWID;
)sql",
    k_make_set_reports};

constexpr std::array k_probes{
    "SELECT uuid, generation, last_push_ns, last_exit, bytes, files FROM known_sets LIMIT 1",
    "SELECT path FROM mounts LIMIT 1",
    "SELECT id, file_system, secret FROM spaces LIMIT 1",
    "SELECT space, inode, size, mtime_ns, ctime_ns, digest, seen_day, sum FROM digests LIMIT 1",
    "SELECT id, digest, secret, used_ns, bytes FROM signatures LIMIT 1",
    "SELECT signature, piece, data, sum FROM signature_pieces LIMIT 1",
    "SELECT pruned_day FROM upkeep LIMIT 1",
    k_probe_bare_directories,
    "SELECT host, cpu_flags, met_ns, kex, host_key, cipher_out, cipher_in, mac_out, mac_in, compression, server"
    " FROM hosts LIMIT 1",
    "SELECT host, measured_ns, ciphers, macs FROM host_orders LIMIT 1",
    k_probe_set_reports,
    k_probe_outcomes,
};

constexpr Schema k_schema{k_migrations, k_probes, PathRule::user};

constexpr StoreTexts k_texts{
    "the client's memory",
    "The guards that need it work again after the next push.",
    "no memory of earlier runs, so their guards are off",
};

}  // namespace

std::shared_ptr<Store> open_client_store(std::string path, Warn warn) {
  return std::make_shared<Store>(std::move(path), k_schema, k_texts, std::move(warn));
}

}  // namespace nb::cache
