// SPDX-License-Identifier: Apache-2.0
// The configuration file with options for hosts.
#include "cli/host_options.hpp"
#include "fuzz/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace nb;
  for (const auto command : {cli::CommandId::push, cli::CommandId::deploy, cli::CommandId::ls}) {
    const auto words = cli::options_for(as_text(fuzz::view(data, size)), "config", "rpi4", command);
    if (!words) {
      fuzz::require(words.error().code == Errc::usage && words.error().context.starts_with("config:"),
                    "a line that says nothing is named");
      continue;
    }
    for (const std::string& word : *words) fuzz::require(word.starts_with("--"), "every word is an option");
  }
  return 0;
}
