// SPDX-License-Identifier: Apache-2.0
// Programs as files: which machine an ELF file is for, and which one a host's `uname -m` names. For `deploy`, which
// must not send a program to a host that cannot run it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "base/result.hpp"

namespace nb::cli {

// ELF's e_machine and class, of a machine that is little-endian or s390x.
struct Machine {
  std::uint16_t elf_machine = 0;
  unsigned bits = 0;  // 32 or 64

  // As `uname -m` has it, of the ordinary member of a family: "aarch64", "arm"; "machine 8" for those not known here.
  [[nodiscard]] std::string name() const;
  friend bool operator==(const Machine&, const Machine&) = default;
};

// Of the first bytes of a program. Errc::usage if it is none (a script, a library without an entry point).
Result<Machine> machine_of_program(ByteView file);

// `bits` is what programs there have (`getconf LONG_BIT`; 0: not known): a 64-bit kernel may carry a 32-bit system.
// Nothing for a name that is not known here.
std::optional<Machine> machine_of_host(std::string_view uname, std::uint64_t bits);

// A regular file of at most 1 GiB, whole. Errors name `path`.
Result<Bytes> read_whole_file(const std::string& path);

}  // namespace nb::cli
