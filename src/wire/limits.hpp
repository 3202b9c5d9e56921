// SPDX-License-Identifier: Apache-2.0
// Limits of the protocol, version 1 (docs/protocol.md). Every field that a peer sends is checked against one of these
// before memory is allocated for it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nb::wire {

inline constexpr std::uint64_t k_version_min = 1;
inline constexpr std::uint64_t k_version_max = 1;

inline constexpr std::size_t k_max_message_bytes = std::size_t{4} << 20;         // body of one message
inline constexpr std::size_t k_max_frame_bytes = k_max_message_bytes + 64;       // payload of one frame
inline constexpr std::size_t k_frame_target_bytes = std::size_t{128} << 10;      // small messages are joined up to this
inline constexpr std::size_t k_max_data_bytes = std::size_t{256} << 10;          // file content in one message
inline constexpr std::uint64_t k_max_inline_bytes = 64 << 10;                    // a file in a SmallFile: one block
inline constexpr std::size_t k_max_signature_bytes = std::size_t{2} << 20;       // one piece of a signature
inline constexpr std::uint64_t k_max_signature_pieces = std::uint64_t{1} << 32;  // each stands for 1 GiB of file
inline constexpr std::size_t k_max_listing_part_bytes = std::size_t{256} << 10;  // aimed at; one entry may exceed it
inline constexpr std::size_t k_max_listing_part_entries = std::size_t{16} << 10;  // bounds what a part takes decoded
inline constexpr std::size_t k_max_xattr_name_bytes = 255;
inline constexpr std::size_t k_max_xattr_value_bytes = std::size_t{64} << 10;
inline constexpr std::size_t k_max_xattrs_bytes = std::size_t{1} << 20;  // all of one entry
inline constexpr std::size_t k_max_symlink_bytes = 4095;
inline constexpr std::size_t k_max_text_bytes = std::size_t{64} << 10;  // messages, descriptions
inline constexpr std::size_t k_max_label_bytes = 512;                   // user@host, software names
inline constexpr std::size_t k_max_change_bytes = 11;                   // rsync's itemized change
inline constexpr std::size_t k_max_filter_rules = 100'000;
inline constexpr std::size_t k_max_filter_rule_bytes = 4097;  // "- " and a pattern
inline constexpr std::size_t k_max_sources = 10'000;
inline constexpr std::size_t k_max_command_words = 100;
inline constexpr std::size_t k_max_command_word_bytes = 4095;              // a path, or an option with its value
inline constexpr std::uint64_t k_max_columns = 10'000;                     // of a terminal
inline constexpr std::uint64_t k_max_file_bytes = std::uint64_t{1} << 53;  // more is a hole that takes hours to hash
inline constexpr std::uint64_t k_max_directory_id = std::uint64_t{1} << 48;
inline constexpr std::uint64_t k_max_entries = std::uint64_t{1} << 32;  // in one directory
inline constexpr std::uint64_t k_max_errno = 4095;                      // Linux's MAX_ERRNO
inline constexpr std::uint64_t k_max_moment = ~std::uint64_t{0} >> 1;   // a time in ns is signed elsewhere
inline constexpr std::uint64_t k_max_seconds = std::uint64_t{1} << 32;  // of waiting

}  // namespace nb::wire
