// SPDX-License-Identifier: Apache-2.0
// What doctor makes of findings that are known.
#include "cli/doctor_checks.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>

using namespace nb;
using namespace nb::cli;

namespace {

MachineFacts machine() {
  MachineFacts facts;
  facts.version = "0.1.0";
  facts.protocol_min = facts.protocol_max = 1;
  facts.kernel = "Linux 6.1";
  facts.cores = 4;
  facts.has_aes = true;
  facts.memory_bytes = std::uint64_t{4} << 30;
  facts.available_bytes = std::uint64_t{2} << 30;
  facts.open_files = 4096;
  facts.pipe_bytes = 1 << 20;
  facts.wall_seconds = 1'800'000'000;
  return facts;
}

PlaceFacts good_place() {
  PlaceFacts place;
  place.directory = "/pool";
  place.exists = place.writable = place.xattrs = place.hard_links = place.symlinks = place.reflinks = true;
  place.kind = "btrfs";
  place.free_bytes = std::uint64_t{1} << 40;
  place.free_inodes = std::uint64_t{1} << 20;
  return place;
}

DoctorFindings healthy() {
  DoctorFindings found;
  found.server_version = "SSH-2.0-OpenSSH_9.2p1";
  found.negotiated = ssh::Negotiated{};
  found.negotiated->cipher_in = found.negotiated->cipher_out = "aes128-gcm@openssh.com";
  found.negotiated->host_key_type = "ssh-ed25519";
  const std::vector<std::string> ciphers{"chacha20-poly1305@openssh.com", "aes128-gcm@openssh.com"};
  found.ours = ssh::AlgorithmNames{ciphers, {}, {}};
  found.offered = ssh::ServerAlgorithms{};
  found.offered->ciphers = ciphers;
  found.here = machine();
  found.there = machine();
  found.place = good_place();
  return found;
}

Check check(const DoctorFindings& found, const std::string& name) {
  const auto checks = judge(found);
  const auto one = std::find_if(checks.begin(), checks.end(), [&](const Check& row) { return row.name == name; });
  INFO(name);
  REQUIRE(one != checks.end());
  return *one;
}

}  // namespace

TEST_CASE("nothing is said against a host that is well", "[cli]") {
  const auto checks = judge(healthy());
  CHECK(checks.size() >= 12);
  for (const Check& row : checks) {
    INFO(row.name << ": " << row.text);
    CHECK(row.level == CheckLevel::ok);
    CHECK(row.advice.empty());
    CHECK_FALSE(row.text.empty());
  }
}

TEST_CASE("a connection that fails is told at its step, with those before it that were seen", "[cli]") {
  DoctorFindings begun;
  const auto names_until = [&](Errc code) {
    DoctorFindings found = begun;
    found.failure = Error{code, 0, "rpi4"};
    const auto checks = judge(found);
    REQUIRE_FALSE(checks.empty());
    for (const Check& row : checks) CHECK((row.level == CheckLevel::problem) == (&row == &checks.back()));
    return checks.back().name + " " + std::to_string(checks.size());
  };
  CHECK(names_until(Errc::connect) == "reach 1");
  CHECK(names_until(Errc::connect_timeout) == "reach 1");
  CHECK(names_until(Errc::unsupported) == "algorithms 2");
  CHECK(names_until(Errc::host_key) == "host key 2");
  CHECK(names_until(Errc::auth) == "login 3");
  CHECK(names_until(Errc::remote_missing) == "nbackup 1");  // by an ssh program: nobody saw more
  CHECK(names_until(Errc::connection_lost) == "connection 1");
  begun.server_version = "SSH-2.0-OpenSSH_9.2p1";
  CHECK(names_until(Errc::connection_lost) == "connection 2");
  CHECK(names_until(Errc::connect) == "reach 1");
  begun.negotiated = ssh::Negotiated{};
  CHECK(names_until(Errc::remote_missing) == "nbackup 4");
  CHECK(names_until(Errc::connection_lost) == "nbackup 4");
  CHECK(names_until(Errc::timeout) == "nbackup 4");
}

TEST_CASE("a login that only the ssh program could do is a hint", "[cli]") {
  DoctorFindings found = healthy();
  found.fallback = "rpi4: the server took no key";
  CHECK(check(found, "login").level == CheckLevel::hint);
  CHECK(check(found, "login").text.find("the server took no key") != std::string::npos);
}

TEST_CASE("the order that was measured is what is asked for", "[cli]") {
  DoctorFindings found = healthy();
  found.measured.ciphers = "chacha20-poly1305@openssh.com";
  found.negotiated->cipher_out = "chacha20-poly1305@openssh.com";
  CHECK(check(found, "algorithms").level == CheckLevel::ok);
}

TEST_CASE("a better cipher that both ends have is a hint", "[cli]") {
  DoctorFindings found = healthy();
  found.negotiated->cipher_out = "chacha20-poly1305@openssh.com";
  CHECK(check(found, "algorithms").level == CheckLevel::hint);
  CHECK(check(found, "algorithms").advice.find("aes128-gcm@openssh.com") != std::string::npos);
  found.there->has_aes = false;
  CHECK(check(found, "algorithms").level == CheckLevel::ok);
  found.negotiated->cipher_out = "none";
  CHECK(check(found, "algorithms").level == CheckLevel::ok);
}

TEST_CASE("versions", "[cli]") {
  DoctorFindings found = healthy();
  found.there->version = "0.2.0";
  CHECK(check(found, "nbackup").level == CheckLevel::hint);
  found.there->protocol_min = found.there->protocol_max = 2;
  CHECK(check(found, "nbackup").level == CheckLevel::problem);
}

TEST_CASE("limits, pipes, memory and clocks", "[cli]") {
  DoctorFindings found = healthy();
  found.there->open_files = 256;
  found.there->pipe_bytes = 65536;
  found.there->available_bytes = 20 << 20;
  found.there->wall_seconds -= 3600;
  CHECK(check(found, "limits").level == CheckLevel::hint);
  CHECK(check(found, "pipes").level == CheckLevel::hint);
  CHECK(check(found, "memory").level == CheckLevel::hint);
  CHECK(check(found, "clocks").level == CheckLevel::hint);
  CHECK(check(found, "clocks").text.find("3600 s") != std::string::npos);
  found.there->pipe_bytes = 0;
  CHECK(check(found, "pipes").level == CheckLevel::ok);
}

TEST_CASE("places", "[cli]") {
  DoctorFindings found = healthy();
  PlaceFacts place = good_place();
  place.xattrs = place.hard_links = false;
  place.folds_case = true;
  place.free_bytes = 100 << 20;
  found.place = place;
  CHECK(check(found, "file system").level == CheckLevel::hint);
  CHECK(check(found, "file system").text.find("has no extended attributes, hard links") != std::string::npos);
  CHECK(check(found, "names").level == CheckLevel::hint);
  CHECK(check(found, "space").level == CheckLevel::hint);
  place.free_bytes = 1000;
  found.place = place;
  CHECK(check(found, "space").level == CheckLevel::problem);
  place = good_place();
  place.free_inodes = 5;
  found.place = place;
  CHECK(check(found, "space").level == CheckLevel::hint);
  place.free_bytes = place.free_inodes = std::numeric_limits<std::uint64_t>::max();
  found.place = place;
  CHECK(check(found, "space").level == CheckLevel::ok);
  place.writable = false;
  found.place = place;
  CHECK(check(found, "destination").level == CheckLevel::problem);
  found.place = fail(Errc::not_permitted, "/pool");
  CHECK(check(found, "destination").level == CheckLevel::problem);
}
