// SPDX-License-Identifier: Apache-2.0
// What bench says about figures that are known.
#include "cli/bench_verdict.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cli/bench_table.hpp"

using namespace nb;
using namespace nb::cli;

namespace {

RateResult rate(double mean, double here = 1, std::optional<double> sshd = 1) {
  return {{mean - 1, mean, mean + 1, 3}, {here, 0.1, sshd}};
}

DiskWork disk(double megabytes_per_second) {
  const Work work{static_cast<std::uint64_t>(megabytes_per_second * 1e6), 1};
  return {work, work};
}

// A Pi-like host on a fast link: SSH binds, chacha20 is in use and none would be best.
BenchResult slow_ssh() {
  BenchResult result;
  result.host = "rpi4";
  result.carrier = "libssh rpi4:22";
  result.negotiated = ssh::Negotiated{};
  result.negotiated->kex = "diffie-hellman-group-exchange-sha256";
  result.negotiated->cipher_in = result.negotiated->cipher_out = "aes128-ctr";
  result.negotiated->mac_in = result.negotiated->mac_out = "hmac-sha2-256";
  result.pairs = {{{"aes128-ctr", "hmac-sha2-256"}, rate(49, 1, 20)},
                  {{"chacha20-poly1305@openssh.com", "implicit"}, rate(85)},
                  {{"aes128-ctr", "umac-64-etm@openssh.com"}, rate(77.6)},
                  {{"none", "umac-64-etm@openssh.com"}, rate(110)}};
  result.kex = {{"curve25519-sha256", {50, 60, 70, 3}}, {"diffie-hellman-group-exchange-sha256", {180, 200, 220, 3}}};
  result.round_trip = {0.2, 0.3, 0.4, 10};
  result.upload = rate(49, 1, 20);
  result.download = rate(50);
  result.disk_there = {"/pool", disk(100), ""};
  result.processor_here = ProcessorResult{5000, {{1, 400, 0.33}, {9, 60, 0.25}}};
  result.processor_there = ProcessorResult{2000, {{1, 100, 0.33}, {9, 10, 0.25}}};
  result.unmeasured = {{"MAC", "umac-64@openssh.com", "this end does not have it, \"yet\""},
                       {"pair", "aes256-ctr with hmac-sha2-256", k_no_time}};
  return result;
}

std::string all_of(const BenchResult& result) {
  std::string text;
  for (const std::string& sentence : verdict(result)) text += sentence + "\n";
  return text;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("where SSH binds, what would be faster is named, and by how much", "[cli]") {
  const std::string text = all_of(slow_ssh());
  INFO(text);
  CHECK(contains(text, "A push waits for SSH: 49 MB/s. The next limit is the destination's disk: 100 MB/s."));
  CHECK(contains(text, "sshd takes 0.98 of a processor"));
  CHECK(contains(text, "--ciphers=chacha20-poly1305@openssh.com makes SSH 85 MB/s (1.7 times). --save"));
  CHECK(contains(
      text, "--ssh-security=integrity (no encryption, MAC umac-64-etm@openssh.com) makes it 110 MB/s (2.2 times)"));
  CHECK(contains(text, "shrinks to 33 % passes at 148 MB/s with zstd level 1"));
  CHECK(contains(text, "--kex=curve25519-sha256 connects 140 ms sooner than diffie-hellman-group-exchange-sha256."));
}

TEST_CASE("what one lucky try shows is not praised", "[cli]") {
  BenchResult result = slow_ssh();
  for (PairResult& one : result.pairs) one.result.rate.min = 20;
  for (KexResult& one : result.kex) one.milliseconds.tries = 1;
  const std::string text = all_of(result);
  INFO(text);
  CHECK(contains(text, "No other encrypted pair is more than 10 % faster."));
  CHECK_FALSE(contains(text, "--ssh-security"));
  CHECK_FALSE(contains(text, "--kex"));
}

TEST_CASE("where a disk binds no cipher is praised", "[cli]") {
  BenchResult result = slow_ssh();
  result.disk_there.work = disk(20);
  const std::string text = all_of(result);
  INFO(text);
  CHECK(contains(text, "A push waits for the destination's disk: 20 MB/s. The next limit is SSH: 49 MB/s."));
  CHECK_FALSE(contains(text, "--ciphers"));
  CHECK_FALSE(contains(text, "--ssh-security"));
}

TEST_CASE("where neither processors nor algorithms matter the network is named", "[cli]") {
  BenchResult result = slow_ssh();
  result.upload = rate(85, 1, 1);
  const std::string text = all_of(result);
  INFO(text);
  CHECK(contains(text, "the network carries no more"));
  CHECK(contains(text, "No other encrypted pair is more than 10 % faster."));
}

TEST_CASE("a window that binds is named, and not the network", "[cli]") {
  BenchResult result = slow_ssh();
  result.pairs = {{{"aes128-ctr", "hmac-sha2-256"}, rate(20)}};
  result.upload = rate(20, 1, 1);
  result.round_trip = {100, 101, 103, 10};
  CHECK(contains(all_of(result), "window of 2 MiB"));
  CHECK(contains(all_of(result), "nssh"));
  CHECK_FALSE(contains(all_of(result), "carries no more"));
  result.round_trip = {800, 801, 803, 10};
  CHECK(contains(all_of(result), "window of 16 MiB"));
  result.round_trip = {20, 21, 23, 10};
  CHECK(contains(all_of(result), "the network carries no more"));
}

TEST_CASE("nbackup's own processor there is looked at", "[cli]") {
  BenchResult result = slow_ssh();
  result.upload->cpu = {1, 19, 1};
  CHECK(contains(all_of(result), "nbackup takes 0.93 of a processor for it there."));
}

TEST_CASE("what --ssh-security=off costs is said with what it gains", "[cli]") {
  BenchResult result = slow_ssh();
  result.pairs.push_back({{"none", "none"}, rate(200)});
  const std::string text = all_of(result);
  INFO(text);
  CHECK(contains(text, "--ssh-security=off --allow-tampering (no encryption and no MAC) makes it 200 MB/s"));
  CHECK(contains(text, "anybody on the way can read the data and change it"));
}

TEST_CASE("--save is confirmed, whatever the verdict", "[cli]") {
  BenchResult result = slow_ssh();
  result.disk_there.work = disk(20);
  CHECK_FALSE(contains(all_of(result), "is saved"));
  result.saved = true;
  CHECK(contains(all_of(result), "The measured order of algorithms is saved for this host."));
  CHECK(contains(bench_table(result), "is saved for this host."));
}

TEST_CASE("a source that is read slower than all else binds", "[cli]") {
  BenchResult result = slow_ssh();
  result.source = TreeResult{"/data", TreeWork{Work{5'000'000, 1}, 3}, ""};
  CHECK(contains(all_of(result), "A push waits for reading the source: 5 MB/s."));
}

TEST_CASE("without figures there is no verdict but a sentence", "[cli]") { CHECK(verdict(BenchResult{}).size() == 1); }

TEST_CASE("the order to remember has each name once, fastest first, and no none", "[cli]") {
  const ssh::AlgorithmLists order = fastest_order(slow_ssh());
  CHECK(order.ciphers == "chacha20-poly1305@openssh.com,aes128-ctr");
  CHECK(order.macs == "umac-64-etm@openssh.com,hmac-sha2-256");
  CHECK(fastest_order(BenchResult{}).ciphers == std::nullopt);
}

TEST_CASE("spreads and rates", "[cli]") {
  const Spread spread = spread_of({3, 1, 2});
  CHECK(spread.min == 1);
  CHECK(spread.mean == 2);
  CHECK(spread.max == 3);
  CHECK(spread.tries == 3);
  CHECK(spread_of({}).tries == 0);
  const TwoSidedFlow flow{{1'000'000'000, 2, 1.5, std::nullopt}, {500'000'000, 1, 0.25, 0.5}};
  CHECK(rate_of({flow}, Direction::upload).rate.mean == Approx(500));
  CHECK(rate_of({flow}, Direction::download).rate.mean == Approx(500));
  const CpuCost cost = rate_of({flow}, Direction::upload).cpu;
  CHECK(cost.here == Approx(1.5));
  CHECK(cost.there == Approx(0.5));
  CHECK(cost.sshd == Approx(1.0));
  CHECK(cost.server() == Approx(1.5));
}

TEST_CASE("the table marks what is in use and counts what had no time", "[cli]") {
  const std::string table = bench_table(slow_ssh());
  INFO(table);
  CHECK(table.find("none ") < table.find("chacha20-poly1305 implicit"));  // fastest first
  CHECK(contains(table, "21.00") == false);
  CHECK(contains(table, " 20.10 in use"));
  CHECK(contains(table, "1 pair or key exchange for which the time was too short"));
  CHECK_FALSE(contains(table, "aes256-ctr with"));
  for (const std::string_view row : split(table.substr(0, table.find("NOT MEASURED")), '\n')) CHECK(row.size() <= 80);
}

TEST_CASE("CSV has as many fields in every line", "[cli]") {
  const std::string csv = bench_csv(slow_ssh());
  INFO(csv);
  CHECK(csv.starts_with("cipher,mac,min_MBps,mean_MBps,max_MBps,"));
  CHECK(contains(csv, "aes128-ctr,hmac-sha2-256,48.00,49.00,50.00,3,1.000,20.100,\n"));
  CHECK(contains(csv, "\naes256-ctr,hmac-sha2-256,,,,0,,,\"no time left\"\n"));
  CHECK(contains(csv, ",umac-64@openssh.com,,,,0,,,\"this end does not have it, \"\"yet\"\"\"\n"));
}

TEST_CASE("the JSON document has the figures and the words", "[cli]") {
  const auto document = nlohmann::json::parse(bench_json(slow_ssh()));
  CHECK(document["pairs"].size() == 4);
  CHECK(document["pairs"][1]["cipher"] == "chacha20-poly1305@openssh.com");
  CHECK(document["pairs"][1]["mb_per_s"]["mean"] == 85);
  CHECK(document["pairs"][0]["cpu_s_per_gb"]["sshd"] == 20);
  CHECK(document["upload"]["mb_per_s"]["tries"] == 3);
  CHECK(document["disk_there"]["write_mb_per_s"] == 100);
  CHECK(document["source"].is_null());
  CHECK(document["legs"].size() == 4);
  CHECK(document["unmeasured"].size() == 2);
  CHECK(document["verdict"].size() == verdict(slow_ssh()).size());
}
