// SPDX-License-Identifier: Apache-2.0
// For targets whose input is a record of a file set, from a damaged disk.
#pragma once

#include "fuzz.hpp"
#include "txn/records.hpp"

namespace nb::fuzz {

inline void check(bool holds) { require(holds, "a record"); }

// What decodes must encode to something that decodes to the same.
template <class Decode>
void one_record(ByteView data, const Decode& decode) {
  const auto value = decode(data);
  if (!value) return;
  const Bytes again = encode(*value);
  const auto second = decode(again);
  check(second.has_value() && encode(*second) == again);
}

}  // namespace nb::fuzz
