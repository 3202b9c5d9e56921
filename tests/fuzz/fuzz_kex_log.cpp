// SPDX-License-Identifier: Apache-2.0
// Standard error of an ssh program, to which the host at the other end can write whatever it likes.
#include "base/text.hpp"
#include "fuzz/fuzz.hpp"
#include "ssh/kex_log.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace nb;
  ssh::KexLog log;
  std::size_t longest = 0;
  for (const std::string_view line : split(as_text(fuzz::view(data, size)), '\n')) {
    longest = std::max(longest, line.size());
    const bool taken = log.take(line);
    fuzz::require(!taken || line.starts_with("debug"), "only lines of the log are taken");
    if (!log.latest()) continue;
    const ssh::Negotiated& made = *log.latest();
    fuzz::require(made.kex.size() + made.compression.size() <= 3 * longest + 1, "no more is kept than a few lines");
    fuzz::require(!made.cipher_in.empty() && !made.cipher_out.empty(), "an exchange is told whole");
  }
  return 0;
}
