// SPDX-License-Identifier: Apache-2.0
// Names in the control directory and bytes of its lock file.
#pragma once

#include <cstdint>
#include <string_view>

namespace nb::txn {

inline constexpr std::string_view k_format_name = "format";
inline constexpr std::string_view k_head_name = "head";
inline constexpr std::string_view k_secret_name = "secret";
inline constexpr std::string_view k_lock_name = "lock";
inline constexpr std::string_view k_spare_name = "spare";
inline constexpr std::string_view k_policy_name = "policy";
// Tells that the set keeps something beside its tree: without it, that kept.db has gone would not be noticed.
inline constexpr std::string_view k_beside_name = "beside";
// Tells that the set keeps earlier generations: without it, that all of history/ has gone would not be noticed.
inline constexpr std::string_view k_past_name = "past";
inline constexpr std::string_view k_policy_new_name = "policy.new";

// Bytes of the lock file. They exist for the kernel only, so the note that stands in the file does not matter.
inline constexpr std::uint64_t k_writer_byte = 0;
inline constexpr std::uint64_t k_reader_byte = 1;
inline constexpr std::uint64_t k_scrub_byte = 2;

}  // namespace nb::txn
