// SPDX-License-Identifier: Apache-2.0
// The SSH algorithms that nbackup asks for, and in which order. Names are those of the IANA registry and of OpenSSH's
// PROTOCOL files. cli/ makes the lists, transport/ says what the linked libssh knows and hands them over.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace nb::ssh {

// The cipher or MAC that does nothing. It is never in a first key exchange (ssh/security.hpp).
inline constexpr std::string_view k_none = "none";

// Lists in OpenSSH's comma form, best first. Unset: nothing is asked for.
struct AlgorithmLists {
  std::optional<std::string> ciphers;
  std::optional<std::string> macs;
  std::optional<std::string> kex;
  std::optional<std::string> host_keys;
};

// Names, best first.
struct AlgorithmNames {
  std::vector<std::string> ciphers;
  std::vector<std::string> macs;
  std::vector<std::string> kex;
};

// CpuFlag bits of the two ends.
struct CpuPair {
  std::uint64_t ours = 0;
  std::optional<std::uint64_t> theirs;  // unset: never met
};

// Whether both ends are known to have AES instructions.
bool both_have_aes(const CpuPair& cpus);

// All that nbackup would ask for, without `none`. Where both ends have AES instructions aes128-gcm is the fastest;
// everywhere else, and where the other end was never met, chacha20-poly1305 comes first: it is never slow. Among the key
// exchanges a post-quantum one that costs nothing extra comes first, the two that cost a noticeable time last.
//
// Ciphers and MACs of `measured` come first, in its order; names that are not nbackup's own are left out.
AlgorithmNames preferred_algorithms(const CpuPair& cpus, const AlgorithmLists& measured = {});

bool has(const std::vector<std::string>& names, std::string_view name);

// The names of `wanted` that are in `known` too, in the order of `wanted`.
std::vector<std::string> only_known(const std::vector<std::string>& wanted, const std::vector<std::string>& known);

// Joined by commas; unset for an empty list, which no SSH program takes.
std::optional<std::string> as_list(const std::vector<std::string>& names);
std::vector<std::string> as_names(std::string_view list);

// What a user names (--ciphers, --macs, --kex): one or more plain names with commas between them. Errc::usage for
// anything else, OpenSSH's '+', '-' and '^' among it, and for `none`, which only --ssh-security brings in.
Result<std::string> parse_algorithm_list(std::string_view text);

// A cipher with a MAC of its own (AEAD): what is negotiated as MAC beside it is not used.
bool authenticates_itself(std::string_view cipher);

}  // namespace nb::ssh
