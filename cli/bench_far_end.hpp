// SPDX-License-Identifier: Apache-2.0
// The other end of bench and doctor: answers requests of cli/bench_protocol.hpp until the client goes.
#pragma once

#include "base/clock.hpp"
#include "cli/machine_facts.hpp"
#include "transport/byte_stream.hpp"

namespace nb::cli {

// `facts` is what it tells about this machine. An error is one of the connection; those of requests are answered.
Status serve_bench(transport::ByteStream& stream, const MachineFacts& facts, const Clock& clock);

}  // namespace nb::cli
