// SPDX-License-Identifier: Apache-2.0
// FarBench: the client's view of `nbackup bench --far-end` on the other side: one method a request. What it answers is
// checked; a figure that cannot be is Errc::protocol.
#pragma once

#include <memory>

#include "cli/bench_blocks.hpp"
#include "cli/bench_speed.hpp"
#include "cli/machine_facts.hpp"
#include "cli/place_facts.hpp"

namespace nb::cli {

// The words after the program's name that start the other side.
std::vector<std::string> far_bench_words();

// One transfer, seen from both ends. Bytes and seconds are those of the end where it arrived.
struct TwoSidedFlow {
  Flow here;
  Flow there;
};

// After an error by which ends_connection() it must not be used again: what it would read may answer another request.
class FarBench {
 public:
  // Exchanges greetings. Errc::remote_missing where something else than bench answers, or nothing within `limit`, with
  // the reasons there may be.
  static Result<std::unique_ptr<FarBench>> greet(std::unique_ptr<transport::ByteStream> stream,
                                                 std::chrono::milliseconds limit, const Clock& clock);

  Result<MachineFacts> facts();
  Result<PlaceFacts> place(const std::string& path);
  // One round trip, in seconds.
  Result<double> ping();
  Result<TwoSidedFlow> upload(const FlowTimes& times);
  Result<TwoSidedFlow> download(const FlowTimes& times);
  Result<DiskWork> disk(const std::string& directory, const DiskLimits& limits);
  Result<Work> hash(std::chrono::milliseconds time);
  Result<ZstdWork> zstd(int level, std::chrono::milliseconds time);

 private:
  FarBench(std::unique_ptr<transport::ByteStream> stream, const Clock& clock);
  // An answer that takes `time` by itself.
  Result<BenchFields> ask(const std::string& request, std::chrono::milliseconds time = std::chrono::milliseconds(0));

  std::unique_ptr<transport::ByteStream> m_stream;
  const Clock& m_clock;
  BenchChannel m_channel;
};

}  // namespace nb::cli
