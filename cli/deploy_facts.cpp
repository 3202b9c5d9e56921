// SPDX-License-Identifier: Apache-2.0
#include "cli/deploy_facts.hpp"

#include <map>

#include "base/text.hpp"

namespace nb::cli {
namespace {

using Lines = std::map<std::string, std::string, std::less<>>;

Lines by_key(const std::vector<std::string>& lines) {
  Lines facts;
  for (const std::string& line : lines) {
    const std::size_t blank = line.find(' ');
    if (blank != std::string::npos) facts[line.substr(0, blank)] = line.substr(blank + 1);
  }
  return facts;
}

HostFacts::Target target_of(std::string_view text) {
  if (text == "file") return HostFacts::Target::file;
  return text == "directory" ? HostFacts::Target::directory : HostFacts::Target::none;
}

}  // namespace

Result<HostFacts> parse_host_facts(const std::vector<std::string>& lines) {
  Lines said = by_key(lines);
  constexpr std::string_view k_installed = "installed ";
  HostFacts facts;
  facts.machine = said["machine"];
  facts.bits = parse_u64(said["bits"]).value_or(0);
  facts.system = said["system"];
  facts.root = said["root"] == "yes";
  facts.sudo_refusal = said["sudo"];
  facts.directory = said["directory"];
  facts.room_kib = parse_u64(said["room-kib"]);
  facts.can_check = said["sums"] == "yes";
  facts.target = target_of(said["target"]);
  facts.target_sum = said["target-sum"];
  facts.target_version = said["target-version"];
  facts.found = said["found"];
  facts.found_version = said["found-version"];
  facts.package_architecture = said["dpkg"];
  const std::string& package = said["nssh-package"];
  if (package.starts_with(k_installed)) facts.nssh_version = package.substr(k_installed.size());
  facts.has_nssh_sshd = said["nssh-sshd"] == "yes";
  if (facts.machine.empty() || !facts.directory.starts_with('/')) {
    return fail(Errc::protocol, "the host does not say what it is");
  }
  return facts;
}

std::optional<std::vector<std::uint64_t>> program_version(std::string_view first_line) {
  constexpr std::string_view k_name = "nbackup ";
  if (!first_line.starts_with(k_name)) return std::nullopt;
  std::vector<std::uint64_t> numbers;
  for (const std::string_view part : split(first_line.substr(k_name.size()), '.')) {
    const auto number = parse_u64(part);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

}  // namespace nb::cli
