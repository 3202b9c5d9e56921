// SPDX-License-Identifier: Apache-2.0
#include "cli/memory.hpp"

#include "cli/user_files.hpp"

namespace nb::cli {

std::shared_ptr<cache::Store> open_memory(cache::Warn warn) {
  auto path = memory_path();
  if (path) return cache::open_client_store(std::move(*path), std::move(warn));
  warn("no memory of earlier runs, so their guards are off (" + path.error().message() + ")");
  return std::make_shared<cache::Store>();
}

}  // namespace nb::cli
