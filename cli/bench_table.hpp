// SPDX-License-Identifier: Apache-2.0
// bench's result as a table for a person, as CSV and as a JSON document. Pure.
#pragma once

#include "cli/bench_result.hpp"

namespace nb::cli {

// With the verdict at its end; at most 80 columns but for paths, machines and what others named.
std::string bench_table(const BenchResult& result);

// A header and a line for each pair: cipher,mac,min_MBps,mean_MBps,max_MBps, the number of tries, processor seconds per
// GB here and there, and for what was not measured the reason (RFC 4180).
std::string bench_csv(const BenchResult& result);

// One object, ending with a newline; fields as in nbackup(1).
std::string bench_json(const BenchResult& result);

}  // namespace nb::cli
