// SPDX-License-Identifier: Apache-2.0
// The client's memory at its usual place.
#pragma once

#include <memory>

#include "cache/client_state.hpp"

namespace nb::cli {

// Never null; without a place for it, a memory that holds nothing.
std::unique_ptr<cache::ClientState> open_memory(cache::ClientState::Warn warn);

}  // namespace nb::cli
