// SPDX-License-Identifier: Apache-2.0
// How fast this machine does what a run asks of it: hashing and compressing in memory, writing and reading its disks.
// bench runs these on both ends. Each takes about `time` and looks at the interrupt flag between pieces.
#pragma once

#include <chrono>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace nb::cli {

struct Work {
  std::uint64_t bytes = 0;
  double seconds = 0;
  [[nodiscard]] double megabytes_per_second() const {
    return seconds > 0 ? static_cast<double>(bytes) / seconds / 1e6 : 0;
  }
};

// Keyed XXH3-128 over blocks of 64 KiB, one thread, as files are hashed.
Result<Work> hash_speed(std::chrono::milliseconds time, const Clock& clock);

struct ZstdWork {
  Work work;
  double kept_share = 1;  // of the bytes, after compression
};

// One level, one thread, on a made-up text that shrinks as source code does. `level` within codec's limits.
Result<ZstdWork> zstd_speed(int level, std::chrono::milliseconds time, const Clock& clock);

struct DiskWork {
  Work written;  // and synced: the sync is part of the time
  Work read;     // after the kernel was asked to forget it; what it keeps anyway makes the figure too good
};

struct DiskLimits {
  std::chrono::milliseconds time{0};  // for both together; a piece that was begun is finished
  std::uint64_t most_bytes = 0;       // beside a tenth of the free space
};

// In a file without a name in `directory` (or one whose name is removed at once): nothing stays, however it ends.
Result<DiskWork> disk_speed(const std::string& directory, const DiskLimits& limits, const Clock& clock);

struct TreeWork {
  Work work;
  std::uint64_t files = 0;
};

// Reads the regular files below `directory`, or that one file, as they come, and changes nothing; symbolic links are
// not followed. The kernel is asked to forget each file first. Ends early where the tree does.
Result<TreeWork> tree_read_speed(const std::string& directory, std::chrono::milliseconds time, const Clock& clock);

}  // namespace nb::cli
