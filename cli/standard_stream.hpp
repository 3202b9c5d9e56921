// SPDX-License-Identifier: Apache-2.0
// Standard input and output as a stream, for what is started by the other side of a connection. Standard output then
// belongs to the protocol alone: the descriptor is taken away before anything could print, and what prints later goes
// to standard error.
#pragma once

#include <chrono>
#include <memory>

#include "transport/byte_stream.hpp"

namespace nb::cli {

// Once in a process. `write_inactivity` as in FdStreamOptions.
Result<std::unique_ptr<transport::ByteStream>> take_standard_stream(std::chrono::milliseconds write_inactivity);

}  // namespace nb::cli
