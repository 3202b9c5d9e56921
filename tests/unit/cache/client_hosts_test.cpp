// SPDX-License-Identifier: Apache-2.0
// What is remembered of hosts comes back, is replaced as a whole, and a memory of the schema before gets its table.
#include "cache/client_hosts.hpp"

#include <SQLiteCpp/SQLiteCpp.h>

#include "unit/cache/temp.hpp"

namespace {

using nb::cache::ClientHosts;
using nb::cache::KnownHost;
using namespace nb::cache_test;

KnownHost sample() {
  KnownHost known;
  known.cpu_flags = (1ULL << 63) | 1;
  known.met = nb::WallTime(std::chrono::nanoseconds(1'700'000'000'000'000'001));
  nb::ssh::Negotiated& made = known.negotiated.emplace();
  made.kex = "kex";
  made.host_key_type = "key";
  made.cipher_out = "out";
  made.cipher_in = "in";
  made.mac_out = "mac-out";
  made.mac_in = "mac-in";
  made.compression = "none";
  made.server_version = "SSH-2.0-\xff";
  return known;
}

}  // namespace

TEST_CASE("what was learned of a host comes back, and is replaced", "[cache]") {
  ClientStore f;
  ClientHosts(f.store).record("root@rpi4:2222", sample());
  f.reopen();
  ClientHosts hosts(f.store);
  CHECK_FALSE(hosts.find("rpi4").has_value());
  const auto found = hosts.find("root@rpi4:2222");
  REQUIRE(found.has_value());
  CHECK(found->cpu_flags == sample().cpu_flags);
  CHECK(found->met == sample().met);
  CHECK(found->negotiated == sample().negotiated);
  hosts.record("root@rpi4:2222", {});
  CHECK(hosts.find("root@rpi4:2222")->cpu_flags == 0);
  CHECK_FALSE(hosts.find("root@rpi4:2222")->negotiated.has_value());
  CHECK(f.warnings.texts.empty());
}

TEST_CASE("a measured order comes back, and what else is learned leaves it alone", "[cache]") {
  ClientStore f;
  {
    ClientHosts hosts(f.store);
    CHECK_FALSE(hosts.measured_order("h").ciphers);
    nb::ssh::AlgorithmLists order;
    order.ciphers = "aes128-ctr,aes256-ctr";
    hosts.save_order("h", order, nb::WallTime());
  }
  f.reopen();
  ClientHosts hosts(f.store);
  hosts.record("h", sample());
  CHECK(hosts.measured_order("h").ciphers == "aes128-ctr,aes256-ctr");
  CHECK_FALSE(hosts.measured_order("h").macs);
  hosts.save_order("h", {}, nb::WallTime());
  CHECK_FALSE(hosts.measured_order("h").ciphers);
  CHECK(f.warnings.texts.empty());
}

TEST_CASE("a memory of the third schema gets a table of hosts", "[cache]") {
  ClientStore f;
  f.store.reset();
  SQLite::Database(f.path, SQLite::OPEN_READWRITE)
      .exec(
          "DROP TABLE hosts; DROP TABLE host_orders; DROP TABLE set_reports; DROP TABLE outcomes;"
          " PRAGMA user_version = 3");
  f.reopen();
  ClientHosts(f.store).record("h", sample());
  CHECK(ClientHosts(f.store).find("h").has_value());
  CHECK(f.warnings.texts.empty());
}

TEST_CASE("without a memory nothing is known and nothing fails", "[cache]") {
  ClientHosts hosts(std::make_shared<nb::cache::Store>());
  hosts.record("h", sample());
  CHECK_FALSE(hosts.find("h").has_value());
}
