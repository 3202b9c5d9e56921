// SPDX-License-Identifier: Apache-2.0
// The first message of an SSH server, which anybody who answers on its port can send.
#include "fuzz/fuzz.hpp"
#include "ssh/kexinit.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace nb;
  const auto found = ssh::parse_kexinit(fuzz::view(data, size));
  if (!found) fuzz::require(found.error().code == Errc::protocol, "a bad message is a protocol error");
  return 0;
}
