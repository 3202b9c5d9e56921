// SPDX-License-Identifier: Apache-2.0
// From the arguments of push, pull and verify to where things are: which side is remote, which paths the job gets, and
// under which names the client remembers the place. Reads the working directory and resolves local names; no more.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/pool_path.hpp"
#include "cli/settings.hpp"
#include "ssh/destination.hpp"

namespace nb::cli {

struct Endpoints {
  wire::Operation operation = wire::Operation::push;
  std::optional<ssh::Host> host;  // of the remote side; unset: the other end is a process on this machine
  std::vector<std::string>
      sources;  // as session::Job wants them: our side as written, the other end's absolute if local
  std::string destination;
  std::vector<std::string> shown_sources;  // for messages and events
  std::string shown_destination;
  std::string destination_key;  // cache/client_state.hpp
  std::string source_key;
  std::string host_key;  // cache/client_hosts.hpp; empty without a host
};

// `past`: the sources lie in a file set, and may be written as POOL:PATH (pool_path.hpp).
enum class SourceTime : std::uint8_t { live, past };

// Errc::usage for both sides remote, sources on several hosts, or a push, pull or restore the wrong way round.
Result<Endpoints> resolve_endpoints(CommandId command, const std::vector<std::string>& arguments,
                                    SourceTime time = SourceTime::live);

// The key of a host (cache/client_hosts.hpp): "user@rpi4:2222".
std::string host_key(const ssh::Host& host);

// The key of one place, `text` as the user writes it: "user@host:2222:/pool" or a real absolute local path.
Result<std::string> destination_key(const std::string& text);

// The same of a place that was taken apart.
Result<std::string> destination_key(const ssh::Location& place);

// `place` as the other end is to be given it: as written with its trailing slash on a host, absolute on this machine.
Result<std::string> far_path(const ssh::Location& place);

// POOL:PATH as the other end is to be given it that reads an earlier state of the set: docs/protocol.md, "Past trees".
Result<std::string> far_path(const PoolPath& pool);

// "3 sources" for more than one.
std::string shown_together(const std::vector<std::string>& sources);

}  // namespace nb::cli
