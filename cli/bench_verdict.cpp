// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_verdict.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace nb::cli {
namespace {

constexpr double k_worth_saying = 1.10;  // less is noise (docs/decisions.md)
constexpr double k_busy = 0.85;          // of one processor
constexpr double k_window_least = 0.7;   // of a window: room is made in steps
constexpr double k_window_most = 1.2;    // a round trip on a full link is longer than the least one
constexpr double k_worth_milliseconds = 30;
constexpr const char* k_ssh = "SSH";
constexpr const char* k_disk_there = "the destination's disk";

std::string option_of(const CipherPair& pair) {
  std::string text = "--ciphers=" + pair.cipher;
  if (pair.mac != k_implicit_mac) text += " --macs=" + pair.mac;
  return text;
}

std::vector<Leg> by_rate(std::vector<Leg> legs) {
  std::stable_sort(legs.begin(), legs.end(), [](const Leg& a, const Leg& b) { return a.rate < b.rate; });
  return legs;
}

std::string what_binds(const std::vector<Leg>& legs) {
  std::string text = fmt::format("A push waits for {}: {:.0f} MB/s.", legs[0].name, legs[0].rate);
  if (legs.size() > 1) text += fmt::format(" The next limit is {}: {:.0f} MB/s.", legs[1].name, legs[1].rate);
  return text;
}

// GB a second times seconds a GB.
double share(double rate, double cpu_per_gigabyte) { return rate / 1000 * cpu_per_gigabyte; }

// By enough, and in every try.
bool is_faster(const Spread& rate, double now) { return rate.mean >= now * k_worth_saying && rate.min > now; }

// What is under way on a full link, where that is about a window of SSH's: no more is sent before the other end has
// made room. OpenSSH gives a session 2 MiB, nssh 16.
std::string window_that_binds(const BenchResult& result) {
  const double under_way = result.upload->rate.mean * result.round_trip.min * 1000;  // bytes
  for (const unsigned mebibytes : {2U, 16U}) {
    const double full = under_way / (mebibytes * 1048576.0);
    if (full < k_window_least || full > k_window_most) continue;
    return fmt::format(
        "It has a window of {} MiB under way at a round trip of {:.0f} ms: the SSH channel's window "
        "binds, not the network.{}",
        mebibytes, result.round_trip.min, mebibytes == 2 ? " nssh's sshd has one of 16 MiB." : "");
  }
  return {};
}

std::string what_limits_ssh(const BenchResult& result) {
  const RateResult& upload = *result.upload;
  const double here = share(upload.rate.mean, upload.cpu.here);
  const double sshd = share(upload.rate.mean, upload.cpu.sshd.value_or(0));
  if (sshd >= k_busy) {
    return fmt::format("The server's sshd takes {:.2f} of a processor for it.", sshd);
  }
  if (here >= k_busy) return fmt::format("nbackup takes {:.2f} of a processor for it here.", here);
  const double there = share(upload.rate.mean, upload.cpu.there);
  if (there >= k_busy) return fmt::format("nbackup takes {:.2f} of a processor for it there.", there);
  const PairResult* best = fastest(result.pairs, Kind::encrypted);
  const bool algorithms_matter = best != nullptr && is_faster(best->result.rate, upload.rate.mean);
  if (algorithms_matter) return {};
  if (std::string window = window_that_binds(result); !window.empty()) return window;
  if (!upload.cpu.sshd) return {};
  return fmt::format(
      "No processor is at its limit (here {:.2f}, sshd {:.2f}, nbackup there {:.2f} of one): the network carries no "
      "more.",
      here, sshd, there);
}

std::string faster_pair(const BenchResult& result, double now) {
  const PairResult* best = fastest(result.pairs, Kind::encrypted);
  if (best == nullptr) return {};
  const double rate = best->result.rate.mean;
  if (!is_faster(best->result.rate, now)) {
    return result.named_alone ? "Of those named no encrypted pair is more than 10 % faster."
                              : "No other encrypted pair is more than 10 % faster.";
  }
  return fmt::format("{} makes SSH {:.0f} MB/s ({:.1f} times).{}", option_of(best->pair), rate, rate / now,
                     result.saved ? "" : " --save remembers that for this host.");
}

std::string without_encryption(const BenchResult& result, double now) {
  const PairResult* best = fastest(result.pairs, Kind::unencrypted);
  if (best == nullptr) {
    for (const Unmeasured& one : result.unmeasured) {
      if (one.kind == "cipher" && one.name == ssh::k_none) return "Cipher none is not possible: " + one.reason + ".";
    }
    return {};
  }
  const double rate = best->result.rate.mean;
  if (!is_faster(best->result.rate, now)) return "Without encryption SSH is no more than 10 % faster.";
  const std::string gain = fmt::format("makes it {:.0f} MB/s ({:.1f} times)", rate, rate / now);
  if (best->pair.mac == ssh::k_none) {
    return "--ssh-security=off --allow-tampering (no encryption and no MAC) " + gain +
           ", and anybody on the way can read the data and change it, and run commands there as you.";
  }
  return fmt::format("--ssh-security=integrity (no encryption, MAC {}) {}, readable for anybody on the way.",
                     best->pair.mac, gain);
}

// Text that shrinks passes faster than the link carries bytes, as long as the processor keeps up.
std::string with_compression(const BenchResult& result, double now) {
  if (!result.processor_here) return {};
  const ZstdResult* best = nullptr;
  double best_rate = now * k_worth_saying;
  for (const ZstdResult& level : result.processor_here->zstd) {
    const double rate = std::min(level.megabytes_per_second, now / std::max(level.kept_share, 0.01));
    if (rate > best_rate) best = &level;
    best_rate = std::max(rate, best_rate);
  }
  if (best == nullptr) return {};
  return fmt::format(
      "Content that shrinks to {:.0f} % passes at {:.0f} MB/s with zstd level {}; nbackup finds the level "
      "by itself.",
      best->kept_share * 100, best_rate, best->level);
}

std::string faster_kex(const BenchResult& result) {
  if (!result.negotiated) return {};
  const KexResult* best = nullptr;
  const KexResult* used = nullptr;
  for (const KexResult& one : result.kex) {
    if (best == nullptr || one.milliseconds.mean < best->milliseconds.mean) best = &one;
    if (one.name == result.negotiated->kex) used = &one;
  }
  if (best == nullptr || used == nullptr) return {};
  const double gained = used->milliseconds.mean - best->milliseconds.mean;
  // Once slow, or once fast, says nothing.
  if (gained < k_worth_milliseconds || best->milliseconds.max >= used->milliseconds.min) return {};
  if (best->milliseconds.tries < 2 || used->milliseconds.tries < 2) return {};
  return fmt::format("--kex={} connects {:.0f} ms sooner than {}.", best->name, gained, used->name);
}

void add_place_in_order(std::vector<std::string>& names, const std::string& name) {
  if (!ssh::has(names, name)) names.push_back(name);
}

}  // namespace

std::vector<Leg> push_legs(const BenchResult& result) {
  std::vector<Leg> legs;
  const auto add = [&](const char* name, double rate) {
    if (rate > 0) legs.push_back({name, rate});
  };
  if (result.source && result.source->work) add("reading the source", result.source->work->work.megabytes_per_second());
  if (result.processor_here) add("hashing here", result.processor_here->hash);
  if (result.upload) add(k_ssh, result.upload->rate.mean);
  if (result.processor_there) add("hashing there", result.processor_there->hash);
  if (result.disk_there.work) add(k_disk_there, result.disk_there.work->written.megabytes_per_second());
  return legs;
}

std::vector<std::string> verdict(const BenchResult& result) {
  const std::vector<Leg> legs = by_rate(push_legs(result));
  if (legs.empty() || !result.upload) return {"Too little could be measured for a verdict."};
  std::vector<std::string> sentences{what_binds(legs)};
  const auto add = [&](std::string sentence) {
    if (!sentence.empty()) sentences.push_back(std::move(sentence));
  };
  const double now = result.upload->rate.mean;
  if (legs[0].name == k_ssh) {
    add(what_limits_ssh(result));
    add(faster_pair(result, now));
    add(without_encryption(result, now));
    add(with_compression(result, now));
  } else {
    add(fmt::format("SSH carries {:.0f} MB/s: other algorithms save processor time there, not the push's.", now));
  }
  add(faster_kex(result));
  if (result.saved) add("The measured order of algorithms is saved for this host.");
  return sentences;
}

ssh::AlgorithmLists fastest_order(const BenchResult& result) {
  std::vector<const PairResult*> pairs;
  for (const PairResult& one : result.pairs) {
    if (one.pair.cipher != ssh::k_none) pairs.push_back(&one);
  }
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const PairResult* a, const PairResult* b) { return a->result.rate.mean > b->result.rate.mean; });
  std::vector<std::string> ciphers;
  std::vector<std::string> macs;
  for (const PairResult* one : pairs) {
    add_place_in_order(ciphers, one->pair.cipher);
    if (one->pair.mac != k_implicit_mac) add_place_in_order(macs, one->pair.mac);
  }
  return {ssh::as_list(ciphers), ssh::as_list(macs), std::nullopt, std::nullopt};
}

}  // namespace nb::cli
