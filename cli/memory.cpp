// SPDX-License-Identifier: Apache-2.0
#include "cli/memory.hpp"

#include "cache/client_path.hpp"

namespace nb::cli {

std::unique_ptr<cache::ClientState> open_memory(cache::ClientState::Warn warn) {
  auto path = cache::default_client_state_path();
  if (path) return cache::ClientState::open(std::move(*path), std::move(warn));
  warn("no memory of earlier runs, so their guards are off (" + path.error().message() + ")");
  return cache::ClientState::none();
}

}  // namespace nb::cli
