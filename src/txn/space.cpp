// SPDX-License-Identifier: Apache-2.0
#include "txn/space.hpp"

#include <algorithm>

namespace nb::txn {
namespace {

constexpr std::uint64_t k_most_reserved_bytes = std::uint64_t{64} << 20;
constexpr std::uint64_t k_reserved_share = 50;
constexpr std::uint64_t k_reserved_inodes = 16;

}  // namespace

std::uint64_t space_reserve(const fs::Space& space) {
  return std::min(k_most_reserved_bytes, space.total_bytes / k_reserved_share);
}

bool has_room(const fs::Space& space) {
  return space.free_bytes > space_reserve(space) && space.free_inodes > k_reserved_inodes;
}

}  // namespace nb::txn
