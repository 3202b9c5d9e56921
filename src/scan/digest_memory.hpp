// SPDX-License-Identifier: Apache-2.0
// DigestMemory: the seam through which a side remembers the digests of its own files between runs. Lister and
// ContentSender use it where they are given one; cli/ gives the client's. Its answers are believed.
#pragma once

#include <optional>

#include "base/clock.hpp"
#include "fs/directory.hpp"
#include "hash/digest.hpp"
#include "hash/secret.hpp"

namespace nb::scan {

class DigestMemory {
 public:
  virtual ~DigestMemory() = default;
  // The moment before the content of `file`, open to be read and in state `stat`, is read; for record(). Long ago where
  // somebody may be writing it.
  [[nodiscard]] virtual WallTime begin(const fs::Node& file, const fs::Stat& stat) = 0;
  // The digest of the regular file `stat` under `secret`, if it was recorded in exactly this state. `near` is the
  // directory that holds it, or the file itself: it tells the file system.
  virtual std::optional<hash::Digest> find(const fs::Node& near, const fs::Stat& stat, const hash::Secret& secret) = 0;
  // The file had `stat` before and after it was read whole, beginning at `began`. The memory itself leaves out what may
  // change once more without showing it.
  struct Reading {
    const fs::Stat& stat;
    const hash::Digest& digest;
    WallTime began;
  };
  virtual void record(const fs::Node& near, const Reading& reading, const hash::Secret& secret) = 0;
};

}  // namespace nb::scan
