// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_result.hpp"

#include <algorithm>
#include <numeric>

namespace nb::cli {
namespace {

struct Sums {
  double here_bytes = 0;
  double there_bytes = 0;
  double here = 0;
  double there = 0;
  double sshd = 0;
  bool sshd_known = true;
};

double per_gigabyte(double cpu_seconds, double bytes) { return bytes > 0 ? cpu_seconds / bytes * 1e9 : 0; }

CpuCost cost_of(const std::vector<TwoSidedFlow>& tries) {
  Sums sums;
  for (const TwoSidedFlow& one : tries) {
    sums.here_bytes += static_cast<double>(one.here.bytes);
    sums.there_bytes += static_cast<double>(one.there.bytes);
    sums.here += one.here.cpu_seconds;
    sums.there += one.there.cpu_seconds;
    sums.sshd += one.there.sshd_cpu_seconds.value_or(0);
    sums.sshd_known = sums.sshd_known && one.there.sshd_cpu_seconds.has_value();
  }
  CpuCost cost{per_gigabyte(sums.here, sums.here_bytes), per_gigabyte(sums.there, sums.there_bytes), std::nullopt};
  if (sums.sshd_known) cost.sshd = per_gigabyte(sums.sshd, sums.there_bytes);
  return cost;
}

double rate_of_flow(const Flow& flow) { return Work{flow.bytes, flow.seconds}.megabytes_per_second(); }

}  // namespace

Spread spread_of(const std::vector<double>& values) {
  if (values.empty()) return {};
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return {*least, sum / static_cast<double>(values.size()), *most, static_cast<unsigned>(values.size())};
}

RateResult rate_of(const std::vector<TwoSidedFlow>& tries, Direction direction) {
  std::vector<double> rates;
  for (const TwoSidedFlow& one : tries) {
    rates.push_back(rate_of_flow(direction == Direction::upload ? one.there : one.here));
  }
  return {spread_of(rates), cost_of(tries)};
}

const PairResult* fastest(const std::vector<PairResult>& pairs, Kind kind) {
  const PairResult* best = nullptr;
  for (const PairResult& one : pairs) {
    const bool unencrypted = one.pair.cipher == ssh::k_none;
    if (unencrypted != (kind == Kind::unencrypted)) continue;
    if (best == nullptr || one.result.rate.mean > best->result.rate.mean) best = &one;
  }
  return best;
}

const PairResult* default_pair(const BenchResult& result) {
  if (!result.negotiated) return nullptr;
  const std::string& mac = result.negotiated->mac_out;
  const CipherPair used{result.negotiated->cipher_out, mac.empty() ? std::string(k_implicit_mac) : mac};
  const auto found =
      std::find_if(result.pairs.begin(), result.pairs.end(), [&](const PairResult& one) { return one.pair == used; });
  return found == result.pairs.end() ? nullptr : &*found;
}

}  // namespace nb::cli
