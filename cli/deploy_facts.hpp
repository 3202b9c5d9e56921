// SPDX-License-Identifier: Apache-2.0
// What a host says of itself before anything is put there (cli/deploy_script.hpp), read from its lines. It may be
// hostile: what it says is compared and printed, escaped, and never becomes part of a command.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace nb::cli {

struct HostFacts {
  std::string machine;                    // `uname -m`
  std::uint64_t bits = 0;                 // of its programs; 0: not known
  std::string system;                     // "Debian GNU/Linux 12 (bookworm)"; may be empty
  bool root = false;                      // what is put there is put there by root
  std::string sudo_refusal;               // sudo's words, where it was asked for and refused
  std::string directory;                  // where nbackup goes
  std::optional<std::uint64_t> room_kib;  // there
  bool can_check = false;                 // it has sha256sum
  enum class Target : std::uint8_t { none, file, directory } target = Target::none;
  std::string target_sum;      // of nbackup in `directory`
  std::string target_version;  // the first line of its --version; empty: it does not run
  std::string found;           // which nbackup a command over ssh finds; empty: none
  std::string found_version;
  std::string package_architecture;  // dpkg's; empty: no Debian
  std::string nssh_version;          // of the installed package; empty: none
  bool has_nssh_sshd = false;        // /opt/nssh/sbin/sshd, from whatever

  [[nodiscard]] bool has_unpackaged_nssh() const { return has_nssh_sshd && nssh_version.empty(); }
};

// `lines`: those between the greeting and "end". Unknown ones are passed over. Errc::protocol if what every host says
// is missing.
Result<HostFacts> parse_host_facts(const std::vector<std::string>& lines);

// "nbackup 0.10.2" as numbers to compare; nothing for other texts.
std::optional<std::vector<std::uint64_t>> program_version(std::string_view first_line);

}  // namespace nb::cli
