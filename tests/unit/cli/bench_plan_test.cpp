// SPDX-License-Identifier: Apache-2.0
// Which pairs bench measures, why others are not, and how the time is divided.
#include "cli/bench_plan.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "cli/bench_protocol.hpp"

using namespace nb;
using namespace nb::cli;
using std::chrono::milliseconds;

namespace {

const ssh::AlgorithmNames k_ours{{"aes128-gcm@openssh.com", "aes128-ctr", "none"},
                                 {"hmac-sha2-256-etm@openssh.com", "hmac-sha2-512", "none"},
                                 {"curve25519-sha256", "ecdh-sha2-nistp256"}};

ssh::ServerAlgorithms server() {
  ssh::ServerAlgorithms theirs;
  theirs.ciphers = {"aes128-ctr", "aes128-gcm@openssh.com", "chacha20-poly1305@openssh.com"};
  theirs.macs = {"hmac-sha2-512", "umac-64@openssh.com", "hmac-sha2-256-etm@openssh.com"};
  theirs.kex = {"curve25519-sha256"};
  return theirs;
}

std::string reason(const BenchPlan& plan, const std::string& kind, const std::string& name) {
  for (const Unmeasured& one : plan.unmeasured) {
    if (one.kind == kind && one.name == name) return one.reason;
  }
  return "";
}

BenchWish wish(Tampering tampering) { return {{}, ssh::Security::encrypted, tampering}; }

bool has(const BenchPlan& plan, const std::string& cipher, const std::string& mac) {
  return std::find(plan.pairs.begin(), plan.pairs.end(), CipherPair{cipher, mac}) != plan.pairs.end();
}

}  // namespace

TEST_CASE("pairs are what both ends have; a cipher that authenticates itself has one", "[cli]") {
  const BenchPlan plan = plan_bench({k_ours, server(), ssh::Carrier::libssh}, wish(Tampering::forbidden));
  CHECK(plan.pairs.size() == 1 + 2 + 2);
  CHECK(plan.pairs.front() == CipherPair{"aes128-gcm@openssh.com", "implicit"});
  CHECK(plan.pairs.back().cipher == "aes128-ctr");  // the many come last
  CHECK(has(plan, "aes128-ctr", "hmac-sha2-256-etm@openssh.com"));
  CHECK(has(plan, "aes128-ctr", "hmac-sha2-512"));
  CHECK(has(plan, "none", "hmac-sha2-512"));
  CHECK_FALSE(has(plan, "none", "none"));
  CHECK(plan.kex == std::vector<std::string>{"curve25519-sha256"});
}

TEST_CASE("what one end lacks is listed with the end that lacks it", "[cli]") {
  const BenchPlan plan = plan_bench({k_ours, server(), ssh::Carrier::libssh}, wish(Tampering::forbidden));
  CHECK(reason(plan, "cipher", "chacha20-poly1305@openssh.com") == "this end does not have it");
  CHECK(reason(plan, "MAC", "umac-64@openssh.com") == "this end does not have it");
  CHECK(reason(plan, "key exchange", "ecdh-sha2-nistp256") == "the server does not offer it");
  CHECK(reason(plan, "cipher", "aes256-ctr") == "neither end has it");
  CHECK(reason(plan, "MAC", "none").find("--allow-tampering") != std::string::npos);
}

TEST_CASE("none and none together only where tampering is allowed, none only where libssh has it", "[cli]") {
  CHECK(has(plan_bench({k_ours, server(), ssh::Carrier::libssh}, wish(Tampering::allowed)), "none", "none"));
  auto without = k_ours;
  without.ciphers.pop_back();
  const BenchPlan plan = plan_bench({without, server(), ssh::Carrier::libssh}, wish(Tampering::allowed));
  CHECK(plan.pairs.size() == 3);
  CHECK_FALSE(reason(plan, "cipher", "none").empty());
  const BenchPlan program = plan_bench({k_ours, server(), ssh::Carrier::ssh_program}, wish(Tampering::allowed));
  CHECK(program.pairs.size() == 3);
  CHECK_FALSE(reason(program, "cipher", "none").empty());
}

TEST_CASE("lists that the user names replace ours", "[cli]") {
  BenchWish named = wish(Tampering::forbidden);
  named.named.ciphers = "aes128-ctr,3des-cbc";
  named.named.macs = "hmac-sha2-512";
  const BenchEnds ends{k_ours, server(), ssh::Carrier::libssh};
  const BenchPlan plan = plan_bench(ends, named);
  CHECK(plan.pairs == std::vector<CipherPair>{{"aes128-ctr", "hmac-sha2-512"}});
  REQUIRE(plan.unmeasured.size() >= 1);
  CHECK(reason(plan, "cipher", "3des-cbc") == "the server does not offer it");
  CHECK(reason(plan, "cipher", "none").empty());
  CHECK(plan.kex == std::vector<std::string>{"curve25519-sha256"});
  CHECK(plan_bench({ssh::AlgorithmNames{}, std::nullopt, ssh::Carrier::ssh_program}, named).pairs.empty());
  named.security = ssh::Security::integrity;
  CHECK(has(plan_bench(ends, named), "none", "hmac-sha2-512"));
  named.tampering = Tampering::allowed;
  CHECK_FALSE(has(plan_bench(ends, named), "none", "none"));
  named.security = ssh::Security::off;
  CHECK(has(plan_bench(ends, named), "none", "none"));
  named.named.kex = "ecdh-sha2-nistp521";
  CHECK(plan_bench(ends, named).kex.empty());
  named.named.macs = "hmac-md5";  // our end was not asked for it
  ssh::ServerAlgorithms old = server();
  old.macs.emplace_back("hmac-md5");
  CHECK(has(plan_bench({k_ours, old, ssh::Carrier::libssh}, named), "aes128-ctr", "hmac-md5"));
}

TEST_CASE("where an end cannot be asked everything is tried", "[cli]") {
  const BenchPlan plan =
      plan_bench({std::nullopt, std::nullopt, ssh::Carrier::ssh_program}, wish(Tampering::forbidden));
  const auto all = ssh::preferred_algorithms({});
  CHECK(plan.kex == all.kex);
  CHECK(plan.unmeasured.size() == 1);  // none
  for (const std::string& cipher : all.ciphers) {
    const bool planned = std::any_of(plan.pairs.begin(), plan.pairs.end(),
                                     [&](const CipherPair& pair) { return pair.cipher == cipher; });
    CHECK(planned);
  }
}

TEST_CASE("phases share what is left, and the last may use all of it", "[cli]") {
  const milliseconds left(60000);
  milliseconds sum(0);
  for (const auto phase : {BenchPhase::kex, BenchPhase::pairs, BenchPhase::link, BenchPhase::disks}) {
    const milliseconds share = share_of(phase, left - sum);
    CHECK(share.count() > 0);
    sum += share;
  }
  CHECK(sum < left);
  CHECK(share_of(BenchPhase::processors, left - sum) == left - sum);
  CHECK(share_of(BenchPhase::pairs, milliseconds(-5)) == milliseconds(0));
}

TEST_CASE("no request of the longest run asks for more than the far end takes", "[cli]") {
  const milliseconds longest(3'600'000);
  CHECK(share_of(BenchPhase::disks, longest) > k_bench_longest);
  for (const auto phase : {BenchPhase::disks, BenchPhase::processors}) {
    for (const int requests : {1, 2, 3, 10}) {
      CHECK(request_time(share_of(phase, longest), requests) <= k_bench_longest);
    }
  }
  const PairTimes one = pair_times(1, longest, milliseconds(0));
  CHECK(one.warm_up + one.counted <= k_bench_longest);
  CHECK(request_time(milliseconds(1000), 10) == milliseconds(100));
  CHECK(request_time(milliseconds(0), 10) > milliseconds(0));
}

TEST_CASE("tries get fewer before they get too short", "[cli]") {
  const PairTimes plenty = pair_times(10, milliseconds(60000), milliseconds(100));
  CHECK(plenty.tries == 3);
  CHECK((plenty.warm_up + plenty.counted) * 3 <= milliseconds(5900));
  CHECK(plenty.counted > plenty.warm_up);
  const PairTimes tight = pair_times(10, milliseconds(3500), milliseconds(100));
  CHECK(tight.tries == 2);
  const PairTimes none = pair_times(10, milliseconds(100), milliseconds(100));
  CHECK(none.tries == 1);
  CHECK(none.warm_up == milliseconds(0));
  CHECK(none.counted == milliseconds(80));
}

TEST_CASE("a pair is measured only where both directions came to its cipher and its MAC", "[cli]") {
  ssh::Negotiated made;
  made.cipher_out = made.cipher_in = "none";
  made.mac_out = made.mac_in = "none";
  CHECK(has_pair(made, {"none", "none"}));
  CHECK_FALSE(has_pair(made, {"aes128-ctr", "hmac-sha2-256"}));
  made.mac_in = "hmac-sha2-256";
  CHECK_FALSE(has_pair(made, {"none", "none"}));
  made.mac_out = "hmac-sha2-256";
  CHECK(has_pair(made, {"none", "hmac-sha2-256"}));
  CHECK_FALSE(has_pair(made, {"none", "none"}));
  const Unmeasured no_mac_none = not_had(made, {"none", "none"});
  CHECK(no_mac_none.kind == "MAC");
  CHECK(no_mac_none.name == "none");
  CHECK(no_mac_none.reason == "the connection came to none with hmac-sha2-256");
  made.cipher_out = made.cipher_in = "aes128-gcm@openssh.com";
  made.mac_out = made.mac_in = "";
  CHECK(has_pair(made, {"aes128-gcm@openssh.com", "implicit"}));
  CHECK(not_had(made, {"none", "hmac-sha2-256"}).kind == "cipher");
  made.cipher_in = "aes128-ctr";
  made.mac_in = "hmac-sha2-256";
  CHECK_FALSE(has_pair(made, {"aes128-gcm@openssh.com", "implicit"}));
  const Unmeasured mixed = not_had(made, {"aes128-gcm@openssh.com", "implicit"});
  CHECK(mixed.kind == "pair");
  CHECK(mixed.reason ==
        "the connection came to aes128-gcm@openssh.com sent and aes128-ctr with hmac-sha2-256 received");
}
