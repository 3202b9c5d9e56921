// SPDX-License-Identifier: Apache-2.0
// What bench measures, and how it divides its time. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "ssh/algorithms.hpp"
#include "ssh/carrier_choice.hpp"
#include "ssh/kexinit.hpp"
#include "ssh/security.hpp"

namespace nb::cli {

// What a table shows as the MAC of a cipher that authenticates itself, as `ssh -v` does.
inline constexpr std::string_view k_implicit_mac = "implicit";

struct CipherPair {
  std::string cipher;
  std::string mac;  // k_implicit_mac for a cipher that authenticates itself
  friend bool operator==(const CipherPair&, const CipherPair&) = default;
};

// "aes128-ctr with hmac-sha2-256"
std::string pair_name(const CipherPair& pair);

// Why something was not measured.
inline constexpr const char* k_no_time = "no time left";

struct Unmeasured {
  std::string kind;  // "cipher", "MAC", "key exchange", "pair", "link", "processor"
  std::string name;
  std::string reason;
};

struct BenchPlan {
  std::vector<CipherPair> pairs;  // those that authenticate themselves, then cipher none, then the others
  std::vector<std::string> kex;
  std::vector<Unmeasured> unmeasured;
};

enum class Tampering : std::uint8_t { forbidden, allowed };  // whether a connection without any MAC may be made

// What the user wants of the table. Each list that is named replaces ours; where one is, `none` is measured only as far
// as a run would ask for it.
struct BenchWish {
  ssh::AlgorithmLists named;
  ssh::Security security = ssh::Security::encrypted;
  Tampering tampering = Tampering::forbidden;

  [[nodiscard]] bool names_any() const { return named.ciphers || named.macs || named.kex; }
};

struct BenchEnds {
  std::optional<ssh::AlgorithmNames> ours;      // of libssh or the ssh program; unset: not known, all are tried
  std::optional<ssh::ServerAlgorithms> theirs;  // likewise
  ssh::Carrier carrier = ssh::Carrier::libssh;
};

// All of ssh::preferred_algorithms and `none` that both ends have; the rest with its reason. Whether a server changes
// to `none` is known only after a login: such pairs are planned wherever our end can.
BenchPlan plan_bench(const BenchEnds& ends, const BenchWish& wish);

// The phases in the order in which they run; each may use its share of the time that is left.
enum class BenchPhase : std::uint8_t { kex, pairs, link, disks, processors };

// Of the time that is left when `phase` begins: what it and all after it take is divided by fixed shares.
std::chrono::milliseconds share_of(BenchPhase phase, std::chrono::milliseconds left);

// Whether the connection came to `pair` in both directions.
bool has_pair(const ssh::Negotiated& negotiated, const CipherPair& pair);
// What to say of a pair that a connection was made for and did not come to: "none" by itself where no pair with it can
// be had.
Unmeasured not_had(const ssh::Negotiated& negotiated, const CipherPair& pair);

// What each of `requests` equal parts of a phase gets: never more than the far end takes (k_bench_longest).
std::chrono::milliseconds request_time(std::chrono::milliseconds share, int requests);

struct PairTimes {
  unsigned tries = 0;  // on one connection
  std::chrono::milliseconds warm_up{0};
  std::chrono::milliseconds counted{0};
};

// For `pairs` (at least 1) in `time`, when making a connection takes `connecting`: three tries, or fewer where each
// would be too short to mean anything.
PairTimes pair_times(std::size_t pairs, std::chrono::milliseconds time, std::chrono::milliseconds connecting);

}  // namespace nb::cli
