// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_plan.hpp"

#include <algorithm>
#include <array>

#include "cli/bench_protocol.hpp"

namespace nb::cli {
namespace {

using Names = std::vector<std::string>;
using std::chrono::milliseconds;

constexpr unsigned k_tries = 3;
constexpr milliseconds k_least_counted{80};
constexpr milliseconds k_most_counted{3000};
constexpr milliseconds k_most_warm_up{300};
constexpr int k_warm_up_parts = 5;
// In the order of BenchPhase; the pairs are what it is about.
constexpr std::array<int, 5> k_shares{10, 50, 8, 18, 14};

struct Wanted {
  const Names& names;
  const Names* asked;  // what our end was asked for: of any other name it has not said; null: it has named all it has
};

// The names of `wanted` that both ends have.
Names shared(const Wanted& wanted, const Names* ours, const Names* theirs, const std::string& kind, BenchPlan& plan) {
  Names names;
  for (const std::string& name : wanted.names) {
    const bool unknown = wanted.asked != nullptr && !ssh::has(*wanted.asked, name);
    const bool here = ours == nullptr || ssh::has(*ours, name) || unknown;
    const bool there = theirs == nullptr || ssh::has(*theirs, name);
    if (here && there) {
      names.push_back(name);
    } else {
      plan.unmeasured.push_back({kind, name,
                                 here    ? "the server does not offer it"
                                 : there ? "this end does not have it"
                                         : "neither end has it"});
    }
  }
  return names;
}

void add_authenticated(const Names& ciphers, BenchPlan& plan) {
  for (const std::string& cipher : ciphers) {
    if (ssh::authenticates_itself(cipher)) plan.pairs.push_back({cipher, std::string(k_implicit_mac)});
  }
}

void add_with_macs(const Names& ciphers, const Names& macs, BenchPlan& plan) {
  for (const std::string& cipher : ciphers) {
    if (ssh::authenticates_itself(cipher)) continue;
    for (const std::string& mac : macs) plan.pairs.push_back({cipher, mac});
  }
}

void add_none(const BenchEnds& ends, const BenchWish& wish, const Names& macs, BenchPlan& plan) {
  const std::string none(ssh::k_none);
  if (wish.names_any() && wish.security == ssh::Security::encrypted) return;
  if (ends.carrier == ssh::Carrier::ssh_program || !ends.ours) {
    plan.unmeasured.push_back({"cipher", none, "it is measured through libssh only"});
    return;
  }
  if (!ssh::has(ends.ours->ciphers, ssh::k_none)) {
    plan.unmeasured.push_back({"cipher", none, "libssh here is built without it"});
    return;
  }
  for (const std::string& mac : macs) plan.pairs.push_back({none, mac});
  if (wish.names_any() && wish.security != ssh::Security::off) return;
  if (wish.tampering == Tampering::allowed && ssh::has(ends.ours->macs, ssh::k_none)) {
    plan.pairs.push_back({none, none});
  } else {
    plan.unmeasured.push_back({"MAC", none,
                               wish.tampering == Tampering::allowed
                                   ? "libssh here is built without it"
                                   : "it needs --allow-tampering: anybody on the way could inject"});
  }
}

bool is_pair(std::string_view cipher, std::string_view mac, const CipherPair& pair) {
  if (cipher != pair.cipher) return false;
  if (pair.mac == k_implicit_mac) return true;
  return mac == pair.mac || (mac.empty() && pair.mac == ssh::k_none);
}

std::string direction_text(const std::string& cipher, const std::string& mac) {
  if (ssh::authenticates_itself(cipher)) return cipher;
  return pair_name({cipher, mac.empty() ? std::string(ssh::k_none) : mac});
}

std::string both_ways(const std::string& out, const std::string& in) {
  return out == in ? out : out + " sent and " + in + " received";
}

}  // namespace

std::string pair_name(const CipherPair& pair) { return pair.cipher + " with " + pair.mac; }

BenchPlan plan_bench(const BenchEnds& ends, const BenchWish& wish) {
  const ssh::AlgorithmNames usual = ssh::preferred_algorithms({});
  ssh::AlgorithmNames wanted = usual;
  if (wish.named.ciphers) wanted.ciphers = ssh::as_names(*wish.named.ciphers);
  if (wish.named.macs) wanted.macs = ssh::as_names(*wish.named.macs);
  if (wish.named.kex) wanted.kex = ssh::as_names(*wish.named.kex);
  const auto* ours = ends.ours ? &*ends.ours : nullptr;
  const auto* theirs = ends.theirs ? &*ends.theirs : nullptr;
  const bool asks_by_name = ends.carrier == ssh::Carrier::libssh;
  BenchPlan plan;
  const auto both = [&](Names ssh::AlgorithmNames::*at_ours, Names ssh::ServerAlgorithms::*at_theirs,
                        const char* kind) {
    return shared({wanted.*at_ours, asks_by_name ? &(usual.*at_ours) : nullptr}, ours ? &(ours->*at_ours) : nullptr,
                  theirs ? &(theirs->*at_theirs) : nullptr, kind, plan);
  };
  const Names ciphers = both(&ssh::AlgorithmNames::ciphers, &ssh::ServerAlgorithms::ciphers, "cipher");
  const Names macs = both(&ssh::AlgorithmNames::macs, &ssh::ServerAlgorithms::macs, "MAC");
  plan.kex = both(&ssh::AlgorithmNames::kex, &ssh::ServerAlgorithms::kex, "key exchange");
  // Most of the others are slower and many: they come last, where time may run out.
  add_authenticated(ciphers, plan);
  add_none(ends, wish, macs, plan);
  add_with_macs(ciphers, macs, plan);
  return plan;
}

milliseconds share_of(BenchPhase phase, milliseconds left) {
  const auto index = static_cast<std::size_t>(phase);
  int together = 0;
  for (std::size_t i = index; i < k_shares.size(); ++i) together += k_shares.at(i);
  return std::max(left, milliseconds(0)) * k_shares.at(index) / together;
}

bool has_pair(const ssh::Negotiated& negotiated, const CipherPair& pair) {
  return is_pair(negotiated.cipher_out, negotiated.mac_out, pair) &&
         is_pair(negotiated.cipher_in, negotiated.mac_in, pair);
}

Unmeasured not_had(const ssh::Negotiated& negotiated, const CipherPair& pair) {
  const bool no_none =
      pair.cipher == ssh::k_none && (negotiated.cipher_out != ssh::k_none || negotiated.cipher_in != ssh::k_none);
  const std::string reason =
      "the connection came to " + both_ways(direction_text(negotiated.cipher_out, negotiated.mac_out),
                                            direction_text(negotiated.cipher_in, negotiated.mac_in));
  if (no_none) return {"cipher", pair.cipher, reason};
  if (pair.cipher == ssh::k_none && pair.mac == ssh::k_none) return {"MAC", pair.mac, reason};
  return {"pair", pair_name(pair), reason};
}

milliseconds request_time(milliseconds share, int requests) {
  return std::clamp(share / requests, milliseconds(20), k_bench_longest);
}

PairTimes pair_times(std::size_t pairs, milliseconds time, milliseconds connecting) {
  const milliseconds each = time / static_cast<long>(std::max<std::size_t>(pairs, 1)) - connecting;
  for (unsigned tries = k_tries; tries > 0; --tries) {
    const milliseconds one = each / static_cast<int>(tries);
    const milliseconds warm_up = std::min(one / k_warm_up_parts, k_most_warm_up);
    if (tries == 1 || one - warm_up >= k_least_counted) {
      return {tries, std::max(warm_up, milliseconds(0)), std::clamp(one - warm_up, k_least_counted, k_most_counted)};
    }
  }
  return {};
}

}  // namespace nb::cli
