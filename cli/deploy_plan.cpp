// SPDX-License-Identifier: Apache-2.0
#include "cli/deploy_plan.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/quantities.hpp"
#include "wire/limits.hpp"

namespace nb::cli {
namespace {

std::string target_path(const HostFacts& facts) { return facts.directory + "/nbackup"; }

// An old and a new program are there side by side, and what they write to may be as full.
std::uint64_t needed_kib(std::uint64_t size) { return size / 1024 + 1024; }

Status check_host(const HostFacts& facts, const DeployRequest& request) {
  if (request.place == DeployPlace::system && !facts.root) {
    return fail(Errc::unsupported, "sudo does not work there without a password (" + facts.sudo_refusal +
                                       "): allow it for the time (NOPASSWD), or log in as root");
  }
  const auto machine = machine_of_host(facts.machine, facts.bits);
  if (!machine || *machine != request.program.machine) {
    return fail(Errc::unsupported, fmt::format("{} is for {} and the host is {}: --binary FILE names a program for it",
                                               request.program.file, request.program.machine.name(),
                                               machine ? machine->name() : facts.machine));
  }
  if (!facts.can_check) return fail(Errc::unsupported, "no sha256sum there to check what arrives with");
  return {};
}

bool is_there(const HostFacts& facts, const DeployRequest& request) {
  return facts.target == HostFacts::Target::file && facts.target_sum == request.program.sum;
}

// A package of the system, say, with this version.
bool is_elsewhere(const HostFacts& facts, const DeployRequest& request) {
  return !request.force && !facts.found.empty() && facts.found != target_path(facts) &&
         facts.found_version == request.program.version;
}

std::string what_is_sent(const ProgramOffer& program) {
  const std::string size = format_bytes(program.size);
  if (!program.version.empty()) return program.version + " (" + size + ")";
  return program.file + " (" + program.machine.name() + ", " + size + ")";
}

std::string program_line(const HostFacts& facts, const ProgramOffer& program) {
  const std::string path = target_path(facts);
  if (facts.target == HostFacts::Target::none) return "put " + what_is_sent(program) + " at " + path;
  std::string there = facts.target_version.empty() ? "what does not run" : facts.target_version;
  if (facts.target_version == program.version) there = "another build of " + there;
  return "replace " + there + " at " + path + " by " + what_is_sent(program);
}

Status plan_program(const HostFacts& facts, const DeployRequest& request, DeployPlan& plan) {
  if (is_there(facts, request) || is_elsewhere(facts, request)) {
    const bool there = is_there(facts, request);
    plan.lines.push_back(fmt::format("{} is at {}: as it should be", there ? facts.target_version : facts.found_version,
                                     there ? target_path(facts) : facts.found));
    return {};
  }
  if (facts.target == HostFacts::Target::directory) return fail(Errc::exists, target_path(facts) + " is a directory");
  NB_TRY(check_not_older(request.program.version, facts.target_version, request.force));
  if (facts.room_kib && *facts.room_kib < needed_kib(request.program.size)) {
    return fail(Errc::no_space, fmt::format("{} has {} free and {} would be sent", facts.directory,
                                            format_bytes(*facts.room_kib * 1024), format_bytes(request.program.size)));
  }
  plan.send_program = true;
  plan.lines.push_back(program_line(facts, request.program));
  return {};
}

Status check_package(const HostFacts& facts, const PackageOffer& package, bool force) {
  if (!facts.root) return fail(Errc::unsupported, "nssh is installed by root: give --sudo, or log in as root");
  if (facts.package_architecture.empty()) return fail(Errc::unsupported, "no dpkg there: run nssh/build on that host");
  if (facts.package_architecture != package.architecture) {
    return fail(Errc::unsupported, fmt::format("{} is for {} and the host takes packages for {}", package.file,
                                               package.architecture, facts.package_architecture));
  }
  if (facts.has_unpackaged_nssh()) {
    return fail(Errc::unsupported,
                "the nssh there is not of a package: run nssh/build there again, or nssh/build --uninstall first");
  }
  if (package.older_than_there && !force) {
    return fail(Errc::unsupported,
                "nssh " + facts.nssh_version + " is there, newer than " + package.version + " (--force replaces it)");
  }
  return {};
}

Status plan_package(const HostFacts& facts, const DeployRequest& request, DeployPlan& plan) {
  const PackageOffer& package = *request.package;
  NB_TRY(check_package(facts, package, request.force));
  if (facts.nssh_version == package.version && !request.force) {
    plan.lines.push_back("nssh " + package.version + " is installed: as it should be");
    return {};
  }
  plan.send_package = true;
  const std::string before = facts.nssh_version.empty() ? "" : " in place of " + facts.nssh_version;
  plan.lines.push_back(fmt::format("install nssh {} ({}){} by dpkg; start nothing", package.version,
                                   format_bytes(package.size), before));
  return {};
}

}  // namespace

Status check_not_older(const std::string& offered, const std::string& there, bool force) {
  const auto new_version = program_version(offered);
  const auto old_version = program_version(there);
  if (force || !new_version || !old_version || *new_version >= *old_version) return {};
  return fail(Errc::unsupported, there + " is there, newer than " + offered + " (--force replaces it)");
}

bool speaks_our_protocol(const std::string& protocol_line) {
  const auto words = split(protocol_line, ' ');  // "protocol 3 to 4"
  if (words.size() != 4 || words[0] != "protocol" || words[2] != "to") return false;
  const auto lowest = parse_u64(words[1]);
  const auto highest = parse_u64(words[3]);
  return lowest && highest && *lowest <= wire::k_version_max && *highest >= wire::k_version_min;
}

std::string path_note(const HostFacts& facts, DeployPlace place, const std::string& found) {
  if (found.empty() || found == target_path(facts)) return {};
  // A command starts in the home directory. These are our own words, so they need no quotes in a shell.
  const std::string path = place == DeployPlace::user ? ".local/bin/nbackup" : "/usr/local/bin/nbackup";
  return "a command over ssh finds " + found + ": use --remote-path=" + path;
}

Result<DeployPlan> make_deploy_plan(const HostFacts& facts, const DeployRequest& request) {
  DeployPlan plan;
  NB_TRY(check_host(facts, request));
  plan.lines.push_back(facts.machine + (facts.system.empty() ? "" : ", " + facts.system));
  NB_TRY(plan_program(facts, request, plan));
  if (request.package) NB_TRY(plan_package(facts, request, plan));
  return plan;
}

}  // namespace nb::cli
