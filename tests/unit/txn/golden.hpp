// SPDX-License-Identifier: Apache-2.0
// Golden files: tests/golden/txn/NAME.hex, hex digits with white space between.
#pragma once

#include <catch2/catch.hpp>
#include <fstream>
#include <string>

#include "base/text.hpp"

namespace nb::txn::test {

inline Bytes golden(const std::string& name) {
  std::ifstream in(std::string(NB_GOLDEN_DIR) + "/" + name + ".hex");
  REQUIRE(in);
  std::string hex;
  for (std::string word; in >> word;) hex += word;
  const std::optional<Bytes> bytes = from_hex(hex);
  REQUIRE(bytes);
  return *bytes;
}

}  // namespace nb::txn::test
