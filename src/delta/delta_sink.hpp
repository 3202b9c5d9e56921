// SPDX-License-Identifier: Apache-2.0
// DeltaSink: takes a delta, in rising offsets that cover the new content exactly: the wire, or an Applier.
#pragma once

#include <cstdint>

#include "base/bytes.hpp"

namespace nb::delta {

class DeltaSink {
 public:
  virtual ~DeltaSink() = default;
  virtual Status data(std::uint64_t offset, ByteView bytes) = 0;
  // The same bytes are at `basis_offset` of the basis.
  virtual Status copy(std::uint64_t offset, std::uint64_t basis_offset, std::uint64_t length) = 0;
  virtual Status hole(std::uint64_t offset, std::uint64_t length) = 0;
};

}  // namespace nb::delta
