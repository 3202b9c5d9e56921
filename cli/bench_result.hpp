// SPDX-License-Identifier: Apache-2.0
// What bench found, as values; verdict, table, CSV and JSON are made from it. Rates are in MB/s (of 10^6 bytes), shares
// of a processor are per 10^9 bytes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/bench_plan.hpp"
#include "cli/bench_speed.hpp"
#include "cli/far_bench.hpp"
#include "ssh/security.hpp"

namespace nb::cli {

struct Spread {
  double min = 0;
  double mean = 0;
  double max = 0;
  unsigned tries = 0;
};

// Of at least one value; of none, zeros.
Spread spread_of(const std::vector<double>& values);

// Processor seconds per GB that passed.
struct CpuCost {
  double here = 0;             // this process, and the ssh program where there is one
  double there = 0;            // nbackup on the other end
  std::optional<double> sshd;  // the server's process; unset: not to be seen
  [[nodiscard]] double server() const { return there + sshd.value_or(0); }
};

struct RateResult {
  Spread rate;
  CpuCost cpu;
};

enum class Direction : std::uint8_t { upload, download };

// Rates are counted where the bytes arrive. `tries` is not empty.
RateResult rate_of(const std::vector<TwoSidedFlow>& tries, Direction direction);

struct PairResult {
  CipherPair pair;
  RateResult result;
};

struct KexResult {
  std::string name;
  Spread milliseconds;  // from nothing to an answer of nbackup there
};

struct ZstdResult {
  int level = 0;
  double megabytes_per_second = 0;
  double kept_share = 1;
};

struct ProcessorResult {
  double hash = 0;  // MB/s
  std::vector<ZstdResult> zstd;
};

struct DiskResult {
  std::string directory;
  std::optional<DiskWork> work;
  std::string reason;  // why there is none
};

struct TreeResult {
  std::string directory;
  std::optional<TreeWork> work;
  std::string reason;
};

struct BenchResult {
  std::string host;
  std::string carrier;                        // ByteStream::describe() of the connection as a run would have it
  std::optional<ssh::Negotiated> negotiated;  // of that one; unset: a program that does not tell
  std::string server_version;                 // "" where the server was not asked
  MachineFacts here;
  MachineFacts there;
  std::vector<PairResult> pairs;  // as measured
  bool named_alone = false;       // the user named what to measure
  std::vector<KexResult> kex;
  std::vector<Unmeasured> unmeasured;
  Spread round_trip;                 // milliseconds
  std::optional<RateResult> upload;  // over that connection
  std::optional<RateResult> download;
  DiskResult disk_there;
  std::optional<DiskResult> disk_here;
  std::optional<TreeResult> source;
  std::optional<ProcessorResult> processor_here;
  std::optional<ProcessorResult> processor_there;
  double seconds = 0;  // all of it
  bool saved = false;  // --save
};

// The fastest of those with cipher none, or of the others, by their mean; null where there is none.
enum class Kind : std::uint8_t { encrypted, unencrypted };
const PairResult* fastest(const std::vector<PairResult>& pairs, Kind kind);

// The pair that a run uses by itself, or null where it is not known or was not measured.
const PairResult* default_pair(const BenchResult& result);

}  // namespace nb::cli
