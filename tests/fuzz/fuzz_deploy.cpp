// SPDX-License-Identifier: Apache-2.0
// What a host says of itself to `deploy`, and the start of a program. Whatever it says: nothing is sent to a host that
// is for other programs, that cannot check what arrives, or that has a newer one.
#include <elf.h>

#include "base/text.hpp"
#include "cli/deploy_plan.hpp"
#include "fuzz/fuzz.hpp"

using namespace nb;
using namespace nb::cli;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView input = fuzz::view(data, size);
  const auto machine = machine_of_program(input);
  if (machine) fuzz::require(!machine->name().empty(), "every machine has a name");
  std::vector<std::string> lines;
  for (const std::string_view line : split(as_text(input), '\n')) lines.emplace_back(line);
  const auto facts = parse_host_facts(lines);
  if (!facts) return 0;
  DeployRequest request{"host", DeployPlace::system, false, {"file", {EM_AARCH64, 64}, 1000, "sum", "nbackup 1.2"}, {}};
  request.package = PackageOffer{"package", "2", "arm64", 1000, false};
  const auto plan = make_deploy_plan(*facts, request);
  if (!plan) return 0;
  fuzz::require(facts->root && facts->can_check, "the host can take it");
  fuzz::require(machine_of_host(facts->machine, facts->bits) == request.program.machine, "it is for this machine");
  fuzz::require(facts->package_architecture == "arm64", "the package is for it too");
  const auto there = program_version(facts->target_version);
  if (plan->send_program && there) fuzz::require(*there <= *program_version("nbackup 1.2"), "a newer one stays");
  return 0;
}
