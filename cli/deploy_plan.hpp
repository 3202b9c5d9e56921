// SPDX-License-Identifier: Apache-2.0
// What `deploy` will do on a host, from what the host has and what there is to put there. Pure: the same text is what
// --dry-run prints and what is done.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/deploy_facts.hpp"
#include "cli/deploy_script.hpp"
#include "cli/program_file.hpp"

namespace nb::cli {

struct ProgramOffer {
  std::string file;  // for messages
  Machine machine;
  std::uint64_t size = 0;
  std::string sum;      // SHA-256
  std::string version;  // the first line of its --version; empty: not known until it runs there
};

struct PackageOffer {
  std::string file;
  std::string version;       // Debian's
  std::string architecture;  // Debian's
  std::uint64_t size = 0;
  bool older_than_there = false;
};

struct DeployRequest {
  std::string host;  // for messages
  DeployPlace place = DeployPlace::user;
  bool force = false;  // newer ones may be replaced
  ProgramOffer program;
  std::optional<PackageOffer> package;
};

struct DeployPlan {
  std::vector<std::string> lines;  // raw bytes
  bool send_program = false;
  bool send_package = false;
};

// Errc::unsupported: the host cannot take it (machine, sudo, tools), or has a newer one and `force` is off;
// Errc::no_space; Errc::exists: a directory has the name. The context says what to do.
Result<DeployPlan> make_deploy_plan(const HostFacts& facts, const DeployRequest& request);

// Whether `offered` (the first line of a --version) may take the place of `there`.
Status check_not_older(const std::string& offered, const std::string& there, bool force);

// Whether the program with this second line of --version speaks a protocol that this client does.
bool speaks_our_protocol(const std::string& protocol_line);

// What is to be told of `found`, which a command over ssh finds, when nbackup is in facts.directory; empty: nothing.
std::string path_note(const HostFacts& facts, DeployPlace place, const std::string& found);

}  // namespace nb::cli
