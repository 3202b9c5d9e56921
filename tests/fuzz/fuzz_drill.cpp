// SPDX-License-Identifier: Apache-2.0
// What a host answers a drill: whatever comes, a sample that is taken is within what was asked for.
#include "cli/drill_sample.hpp"
#include "fuzz/fuzz.hpp"

using namespace nb;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const cli::SampleBounds asked{3, 1000};
  const auto sample = cli::decode_drill_sample(fuzz::view(data, size), asked);
  if (!sample) return 0;
  std::uint64_t bytes = 0;
  for (const cli::SampledFile& file : sample->chosen) {
    fuzz::require(!file.path.is_root() && !has_reserved_name(file.path.str()), "a path of the tree");
    bytes += file.size;
  }
  fuzz::require(sample->chosen.size() <= asked.files && bytes <= asked.bytes, "no more than was asked for");
  const auto again = cli::decode_drill_sample(cli::encode(*sample), asked);
  fuzz::require(again && *again == *sample, "it is the same when sent again");
  return 0;
}
