// SPDX-License-Identifier: Apache-2.0
// What a run says at its end, as text. Pure.
#pragma once

#include <string>

#include "cli/reporter.hpp"

namespace nb::cli {

// "pushed /data to rpi4:/pool: generation 7, 12 new, 3 changed, 1 deleted, 4.2 MiB sent, 00:02". Counts that are zero
// are left out; names are escaped; no newline.
std::string summary_line(const RunSummary& summary);

// --stats: several lines in the spirit of rsync's, each ended by a newline.
std::string stats_block(const RunSummary& summary);

// "libssh, kex curve25519-sha256, host key ssh-ed25519, both ways aes128-gcm@openssh.com, compression none"; for a program
// its command line. Escaped.
std::string link_line(const transport::RemoteLink& link);

// "data/x: cannot be read: Permission denied" on one line, escaped.
std::string error_line(const Error& error);

// One change: "name -> target" or "deleting name" (-v), or with rsync's itemized code before it (-i).
enum class ItemStyle : std::uint8_t { names, itemized };
std::string item_line(const wire::Item& item, ItemStyle style);

}  // namespace nb::cli
