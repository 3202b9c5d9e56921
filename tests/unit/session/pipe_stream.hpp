// SPDX-License-Identifier: Apache-2.0
// Two connected in-memory byte streams with a buffer as small as one byte, and a switch that cuts the connection after a
// chosen number of bytes: the transport of the session tests.
#pragma once

#include <memory>
#include <utility>

#include "transport/byte_stream.hpp"

namespace nb::test {

struct PipeOptions {
  std::size_t buffer_bytes = 64 * 1024;                    // each way
  std::uint64_t cut_after_bytes = ~std::uint64_t{0};       // of what the first stream writes
  std::uint64_t cut_back_after_bytes = ~std::uint64_t{0};  // of what the second stream writes
};

using StreamPair = std::pair<std::unique_ptr<transport::ByteStream>, std::unique_ptr<transport::ByteStream>>;
StreamPair make_pipe(PipeOptions options = {});

}  // namespace nb::test
