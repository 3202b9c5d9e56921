// SPDX-License-Identifier: Apache-2.0
// The order of algorithms by the two processors, and what a user may name.
#include "ssh/algorithms.hpp"

#include <catch2/catch.hpp>
#include <set>

#include "base/cpu.hpp"
#include "base/errc.hpp"

namespace nb::test {
namespace {

using Names = std::vector<std::string>;

std::size_t place(const Names& names, const std::string& name) {
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

}  // namespace

TEST_CASE("aes128-gcm is first where both ends have AES instructions, chacha20 everywhere else", "[ssh]") {
  const std::string gcm = "aes128-gcm@openssh.com";
  const std::string chacha = "chacha20-poly1305@openssh.com";
  CHECK(ssh::preferred_algorithms({k_cpu_aes, k_cpu_aes}).ciphers.front() == gcm);
  CHECK(ssh::preferred_algorithms({k_cpu_aes | 4, k_cpu_aes | 2}).ciphers.front() == gcm);
  for (const ssh::CpuPair cpus : {ssh::CpuPair{k_cpu_aes, 0}, {0, k_cpu_aes}, {0, 0}, {k_cpu_aes, {}}, {2, 2}}) {
    CAPTURE(cpus.ours, cpus.theirs.value_or(99));
    CHECK(ssh::preferred_algorithms(cpus).ciphers.front() == chacha);
    CHECK(ssh::preferred_algorithms(cpus).ciphers[1] == gcm);
  }
}

TEST_CASE("the order never adds or drops a name, and none is not among them", "[ssh]") {
  const auto fast = ssh::preferred_algorithms({k_cpu_aes, k_cpu_aes});
  const auto slow = ssh::preferred_algorithms({0, 0});
  for (const auto& list : {fast.ciphers, fast.macs, fast.kex, slow.ciphers}) {
    CHECK(std::set<std::string>(list.begin(), list.end()).size() == list.size());
    CHECK(place(list, "none") == list.size());
  }
  CHECK(std::set<std::string>(fast.ciphers.begin(), fast.ciphers.end()) ==
        std::set<std::string>(slow.ciphers.begin(), slow.ciphers.end()));
}

TEST_CASE("slow key exchanges come last, the post-quantum one that is not slow first", "[ssh]") {
  const Names kex = ssh::preferred_algorithms({0, 0}).kex;
  CHECK(kex.front() == "mlkem768x25519-sha256");
  CHECK(kex[1] == "curve25519-sha256");
  CHECK(kex.back() == "diffie-hellman-group-exchange-sha256");
  CHECK(place(kex, "sntrup761x25519-sha512") > place(kex, "diffie-hellman-group18-sha512"));
}

TEST_CASE("what was measured comes first, without names that are not ours", "[ssh]") {
  ssh::AlgorithmLists measured;
  measured.ciphers = "aes256-ctr,none,3des-cbc,aes128-ctr";
  measured.macs = "hmac-sha2-512";
  const ssh::AlgorithmNames names = ssh::preferred_algorithms({k_cpu_aes, k_cpu_aes}, measured);
  const ssh::AlgorithmNames plain = ssh::preferred_algorithms({k_cpu_aes, k_cpu_aes});
  CHECK(Names(names.ciphers.begin(), names.ciphers.begin() + 3) ==
        Names{"aes256-ctr", "aes128-ctr", "aes128-gcm@openssh.com"});
  CHECK(names.ciphers.size() == plain.ciphers.size());
  CHECK(names.macs.front() == "hmac-sha2-512");
  CHECK(names.macs.size() == plain.macs.size());
  CHECK(names.kex == plain.kex);
}

TEST_CASE("lists are cut to what the library knows, in the wanted order", "[ssh]") {
  CHECK(ssh::only_known({"c", "a", "x", "b"}, {"a", "b", "c"}) == Names{"c", "a", "b"});
  CHECK(ssh::only_known({"x"}, {"a"}).empty());
  CHECK(ssh::as_list({"c", "a"}) == "c,a");
  CHECK_FALSE(ssh::as_list({}).has_value());
  CHECK(ssh::as_names("c,,a,") == Names{"c", "a"});
}

TEST_CASE("a user names plain names, and never none", "[ssh]") {
  CHECK(ssh::parse_algorithm_list("aes128-ctr,umac-64-etm@openssh.com").value() ==
        "aes128-ctr,umac-64-etm@openssh.com");
  for (const char* text : {"", ",", "a,", "+aes128-ctr", "-a", "^a", "a b", "a,none", "none", "a\n", "aes*"}) {
    CAPTURE(text);
    const auto parsed = ssh::parse_algorithm_list(text);
    REQUIRE_FALSE(parsed.has_value());
    CHECK(parsed.error().code == Errc::usage);
  }
}

TEST_CASE("ciphers with a MAC of their own", "[ssh]") {
  CHECK(ssh::authenticates_itself("aes128-gcm@openssh.com"));
  CHECK(ssh::authenticates_itself("chacha20-poly1305@openssh.com"));
  for (const char* name : {"none", "", "aes128-ctr", "aes256-cbc"}) CHECK_FALSE(ssh::authenticates_itself(name));
}

}  // namespace nb::test
