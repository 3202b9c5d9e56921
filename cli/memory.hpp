// SPDX-License-Identifier: Apache-2.0
// The client's memory at its usual place.
#pragma once

#include <memory>

#include "cache/client_store.hpp"

namespace nb::cli {

// Never null; without a place for it, a store that holds nothing.
std::shared_ptr<cache::Store> open_memory(cache::Warn warn);

}  // namespace nb::cli
