// SPDX-License-Identifier: Apache-2.0
// When the other side ends before it has said a single byte, the reason is not in the protocol but in how the program
// there ended and in what it wrote to standard error. PeerWatch is a ByteStream decorator that looks there and returns
// the true reason in place of "connection lost": a remote host without nbackup, or an ssh program that could not log
// in.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "transport/byte_stream.hpp"

namespace nb::cli {

enum class FarEnd : std::uint8_t { libssh, shell_program, local_process };

struct PeerDescription {
  std::string name;     // of the host, for messages
  std::string command;  // what was to run there, as the user knows it
  FarEnd far_end = FarEnd::libssh;
};

// What an end before the first byte means; nothing where it says no more than that the connection ended. Pure.
std::optional<Error> explain_early_end(const transport::PeerEnd& end, const PeerDescription& peer);

// Takes `inner`. Reads that meet the early end return its explanation; everything else passes unchanged.
std::unique_ptr<transport::ByteStream> watch_peer(std::unique_ptr<transport::ByteStream> inner, PeerDescription peer);

}  // namespace nb::cli
