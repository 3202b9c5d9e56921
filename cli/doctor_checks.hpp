// SPDX-License-Identifier: Apache-2.0
// What doctor makes of what it found: a line for each thing that can be right or wrong. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/machine_facts.hpp"
#include "cli/place_facts.hpp"
#include "ssh/algorithms.hpp"
#include "ssh/kexinit.hpp"
#include "ssh/security.hpp"

namespace nb::cli {

enum class CheckLevel : std::uint8_t { ok, hint, problem };

struct Check {
  std::string name;
  CheckLevel level = CheckLevel::ok;
  std::string text;
  std::string advice;  // what to do; empty for ok
};

// "ok", "hint", "problem".
std::string_view level_name(CheckLevel level);

struct DoctorFindings {
  // How far the connection came. Unset where it went well.
  std::optional<Error> failure;
  std::string carrier;                        // ByteStream::describe()
  std::optional<ssh::Negotiated> negotiated;  // set once libssh has logged in, or a program has told
  std::string fallback;                       // why libssh did not do it and the ssh program did; else empty
  std::string server_version;                 // "" where the server could not be asked by itself
  double tcp_connect_seconds = 0;
  std::optional<ssh::ServerAlgorithms> offered;
  std::optional<ssh::AlgorithmNames> ours;
  ssh::AlgorithmLists measured;  // what bench --save remembers of this host
  double connect_seconds = 0;    // login included
  double round_trip_seconds = 0;

  MachineFacts here;
  std::optional<MachineFacts> there;
  std::optional<Result<PlaceFacts>> place;
};

std::vector<Check> judge(const DoctorFindings& findings);

}  // namespace nb::cli
