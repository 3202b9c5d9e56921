// SPDX-License-Identifier: Apache-2.0
// The machines of programs and of hosts.
#include "cli/program_file.hpp"

#include <elf.h>
#include <catch2/catch.hpp>

using namespace nb;
using namespace nb::cli;

namespace {

// The start of an ELF file.
Bytes elf(std::uint8_t elf_class, std::uint8_t order, std::uint8_t type, std::uint16_t machine) {
  Bytes file(64);
  const std::string_view magic(ELFMAG, SELFMAG);
  for (std::size_t i = 0; i < magic.size(); ++i) file[i] = static_cast<std::byte>(magic[i]);
  file[EI_CLASS] = std::byte{elf_class};
  file[EI_DATA] = std::byte{order};
  const bool big = order == ELFDATA2MSB;
  file[big ? 17 : 16] = std::byte{type};
  file[big ? 18 : 19] = static_cast<std::byte>(machine >> 8);
  file[big ? 19 : 18] = static_cast<std::byte>(machine);
  return file;
}

}  // namespace

TEST_CASE("the machine of a program is in its first bytes", "[cli]") {
  CHECK(machine_of_program(elf(ELFCLASS64, ELFDATA2LSB, ET_DYN, EM_AARCH64)) == Machine{EM_AARCH64, 64});
  CHECK(machine_of_program(elf(ELFCLASS32, ELFDATA2LSB, ET_EXEC, EM_ARM)) == Machine{EM_ARM, 32});
  CHECK(machine_of_program(elf(ELFCLASS64, ELFDATA2MSB, ET_EXEC, EM_S390)) == Machine{EM_S390, 64});
  CHECK_FALSE(machine_of_program(elf(ELFCLASS64, ELFDATA2LSB, ET_REL, EM_X86_64)));
  CHECK_FALSE(machine_of_program(as_bytes("#!/bin/sh\nexec something that is long enough to be a header of ELF\n")));
  CHECK_FALSE(machine_of_program({}));
}

TEST_CASE("this program's own machine is this host's", "[cli]") {
  const auto self = read_whole_file("/proc/self/exe");
  REQUIRE(self);
  CHECK(machine_of_program(*self)->bits == sizeof(void*) * 8);
  CHECK_FALSE(read_whole_file("/dev/null"));
  CHECK_FALSE(read_whole_file("/nonexistent"));
}

TEST_CASE("a host is what its programs are, not its kernel", "[cli]") {
  CHECK(machine_of_host("aarch64", 64) == Machine{EM_AARCH64, 64});
  CHECK(machine_of_host("aarch64", 0) == Machine{EM_AARCH64, 64});
  CHECK(machine_of_host("aarch64", 32) == Machine{EM_ARM, 32});
  CHECK(machine_of_host("x86_64", 32) == Machine{EM_386, 32});
  CHECK(machine_of_host("armv7l", 32) == Machine{EM_ARM, 32});
  CHECK_FALSE(machine_of_host("pdp11", 16));
  CHECK(machine_of_host("armv6l", 32)->name() == "arm");
  CHECK(Machine{8, 32}.name() == "machine 8 with 32 bits");
}
