// SPDX-License-Identifier: Apache-2.0
#include "cache/client_hosts.hpp"

#include <SQLiteCpp/SQLiteCpp.h>

#include "cache/sums.hpp"

namespace nb::cache {
namespace {

constexpr const char* k_find =
    "SELECT cpu_flags, met_ns, kex, host_key, cipher_out, cipher_in, mac_out, mac_in, compression, server"
    " FROM hosts WHERE host = ?";
constexpr const char* k_record =
    "INSERT OR REPLACE INTO hosts(host, cpu_flags, met_ns, kex, host_key, cipher_out, cipher_in, mac_out, mac_in,"
    " compression, server) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

constexpr const char* k_find_order = "SELECT ciphers, macs FROM host_orders WHERE host = ?";
constexpr const char* k_save_order =
    "INSERT OR REPLACE INTO host_orders(host, measured_ns, ciphers, macs) VALUES(?, ?, ?, ?)";

KnownHost known_host(SQLite::Statement& row) {
  KnownHost known;
  known.cpu_flags = to_unsigned(row.getColumn(0).getInt64());
  known.met = WallTime(std::chrono::nanoseconds(row.getColumn(1).getInt64()));
  if (row.getColumn(2).isNull()) return known;
  ssh::Negotiated& made = known.negotiated.emplace();
  int column = 2;
  for (std::string* field : {&made.kex, &made.host_key_type, &made.cipher_out, &made.cipher_in, &made.mac_out,
                             &made.mac_in, &made.compression, &made.server_version}) {
    *field = row.getColumn(column++).getString();
  }
  return known;
}

}  // namespace

std::optional<KnownHost> ClientHosts::find(const std::string& host) {
  std::optional<KnownHost> found;
  m_store->with([&](Connection& connection) {
    found.reset();
    SQLite::Statement query(connection.database(), k_find);
    query.bind(1, host);
    if (query.executeStep()) found = known_host(query);
  });
  return found;
}

void ClientHosts::record(const std::string& host, const KnownHost& known) {
  m_store->with([&](Connection& connection) {
    SQLite::Statement insert(connection.database(), k_record);
    insert.bind(1, host);
    insert.bind(2, to_signed(known.cpu_flags));
    insert.bind(3, std::int64_t{known.met.time_since_epoch().count()});
    if (const auto& made = known.negotiated) {
      int index = 4;
      for (const std::string* field : {&made->kex, &made->host_key_type, &made->cipher_out, &made->cipher_in,
                                       &made->mac_out, &made->mac_in, &made->compression, &made->server_version}) {
        insert.bind(index++, *field);
      }
    }
    insert.exec();
  });
}

ssh::AlgorithmLists ClientHosts::measured_order(const std::string& host) {
  ssh::AlgorithmLists order;
  m_store->with([&](Connection& connection) {
    order = {};
    SQLite::Statement query(connection.database(), k_find_order);
    query.bind(1, host);
    if (!query.executeStep()) return;
    if (!query.getColumn(0).isNull()) order.ciphers = query.getColumn(0).getString();
    if (!query.getColumn(1).isNull()) order.macs = query.getColumn(1).getString();
  });
  return order;
}

void ClientHosts::save_order(const std::string& host, const ssh::AlgorithmLists& order, WallTime measured) {
  m_store->with([&](Connection& connection) {
    SQLite::Statement insert(connection.database(), k_save_order);
    insert.bind(1, host);
    insert.bind(2, std::int64_t{measured.time_since_epoch().count()});
    if (order.ciphers) insert.bind(3, *order.ciphers);
    if (order.macs) insert.bind(4, *order.macs);
    insert.exec();
  });
}

}  // namespace nb::cache
