// SPDX-License-Identifier: Apache-2.0
// What the host of a file set answers a drill: which files are to be restored, and what they should be. Pure; the
// client trusts none of it.
#pragma once

#include <optional>
#include <vector>

#include "base/rel_path.hpp"
#include "fs/stat.hpp"
#include "hash/digest.hpp"

namespace nb::cli {

inline constexpr std::size_t k_most_sampled = 10'000;
inline constexpr std::size_t k_most_sample_bytes = std::size_t{64} << 20;  // encoded

struct SampledFile {
  std::uint64_t generation = 0;
  RelPath path;  // below the place that was asked for
  std::uint64_t size = 0;
  fs::Timestamp mtime;
  std::optional<hash::Digest> digest;  // that the set recorded for it; unset: none is known
  friend bool operator==(const SampledFile&, const SampledFile&) = default;
};

// By generation and path.
bool comes_before(const SampledFile& a, const SampledFile& b);

struct DrillSample {
  Bytes secret;                // of the digests: hash::k_secret_bytes
  std::uint64_t files = 0;     // regular files that there were to choose from
  std::uint64_t left_out = 0;  // chosen, but beyond the limit of bytes
  std::uint64_t left_out_bytes = 0;
  std::vector<SampledFile> chosen;  // in that order, each once
  friend bool operator==(const DrillSample&, const DrillSample&) = default;
};

// What was asked for.
struct SampleBounds {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
};

Bytes encode(const DrillSample& sample);
// Errc::protocol for what is no sample, or more than was asked for.
Result<DrillSample> decode_drill_sample(ByteView data, const SampleBounds& asked);

}  // namespace nb::cli
