// SPDX-License-Identifier: Apache-2.0
#include "cli/program_file.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/fd.hpp"

namespace nb::cli {
namespace {

struct MachineName {
  std::string_view uname;
  Machine machine;
};

// The first name of a machine is the one it is called by.
constexpr std::array k_names{
    MachineName{"x86_64", {EM_X86_64, 64}},   MachineName{"amd64", {EM_X86_64, 64}},
    MachineName{"aarch64", {EM_AARCH64, 64}}, MachineName{"arm64", {EM_AARCH64, 64}},
    MachineName{"arm", {EM_ARM, 32}},         MachineName{"armv6l", {EM_ARM, 32}},
    MachineName{"armv7l", {EM_ARM, 32}},      MachineName{"armv8l", {EM_ARM, 32}},
    MachineName{"i686", {EM_386, 32}},        MachineName{"i586", {EM_386, 32}},
    MachineName{"i486", {EM_386, 32}},        MachineName{"i386", {EM_386, 32}},
    MachineName{"riscv64", {EM_RISCV, 64}},   MachineName{"ppc64le", {EM_PPC64, 64}},
    MachineName{"s390x", {EM_S390, 64}},
};

constexpr off_t k_most_bytes = off_t{1} << 30;

}  // namespace

std::string Machine::name() const {
  for (const MachineName& row : k_names) {
    if (row.machine == *this) return std::string(row.uname);
  }
  return "machine " + std::to_string(elf_machine) + " with " + std::to_string(bits) + " bits";
}

Result<Machine> machine_of_program(ByteView file) {
  // e_type and e_machine follow the 16 bytes of e_ident, in the byte order that these name.
  constexpr std::size_t k_type_at = EI_NIDENT;
  constexpr std::size_t k_machine_at = EI_NIDENT + 2;
  if (file.size() < sizeof(Elf32_Ehdr) || std::memcmp(file.data(), ELFMAG, SELFMAG) != 0) {
    return fail(Errc::usage, "not a program (no ELF file)");
  }
  const bool big_endian = file[EI_DATA] == std::byte{ELFDATA2MSB};
  const auto half = [&](std::size_t at) {
    const auto high = std::to_integer<unsigned>(file[big_endian ? at : at + 1]);
    return static_cast<std::uint16_t>(high << 8 | std::to_integer<unsigned>(file[big_endian ? at + 1 : at]));
  };
  const std::uint16_t type = half(k_type_at);
  if (type != ET_EXEC && type != ET_DYN) return fail(Errc::usage, "not a program (an ELF file of another type)");
  return Machine{half(k_machine_at), file[EI_CLASS] == std::byte{ELFCLASS64} ? 64U : 32U};
}

std::optional<Machine> machine_of_host(std::string_view uname, std::uint64_t bits) {
  const auto row = std::find_if(k_names.begin(), k_names.end(), [&](const auto& each) { return each.uname == uname; });
  if (row == k_names.end()) return std::nullopt;
  if (bits == 32 && row->machine.elf_machine == EM_AARCH64) return Machine{EM_ARM, 32};
  if (bits == 32 && row->machine.elf_machine == EM_X86_64) return Machine{EM_386, 32};
  return row->machine;
}

Result<Bytes> read_whole_file(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat found {};
  if (!file.valid() || ::fstat(file.get(), &found) != 0) return fail_errno("open " + path);
  if (!S_ISREG(found.st_mode) || found.st_size > k_most_bytes) {
    return fail(Errc::usage, path + " is not a regular file of at most 1 GiB");
  }
  Bytes content(static_cast<std::size_t>(found.st_size));
  auto count = read_full(file.get(), content);
  if (!count) return wrap(std::move(count).error(), path);
  if (*count != content.size()) return fail(Errc::changed, path);
  return content;
}

}  // namespace nb::cli
