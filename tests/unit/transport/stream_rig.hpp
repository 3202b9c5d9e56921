// SPDX-License-Identifier: Apache-2.0
// One ByteStream of each kind whose other side echoes whatever it gets until it ends, for the contract suite.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "support/private_sshd.hpp"
#include "transport/byte_stream.hpp"
#include "transport/libssh_stream.hpp"

namespace nb::test {

// Shared by all cases of a program: starting sshd takes longer than most of them.
PrivateSshd& shared_sshd();

// Options that log in to `server` by its client configuration.
transport::LibsshOptions libssh_options(const PrivateSshd& server, const std::string& command);

struct EchoRig {
  std::unique_ptr<std::jthread> echo;  // for descriptors; ends when the stream does
  std::unique_ptr<transport::ByteStream> stream;
};

// `kind`: "socket", "pipes", "process" or "libssh". A failure fails the test case. `command` is what the last two run.
EchoRig make_echo(const std::string& kind, std::chrono::milliseconds write_inactivity = {},
                  const std::string& command = "cat");

// A pattern of `size` bytes that no shift or swap of pieces leaves the same.
Bytes pattern(std::size_t size);

// Reads to the end, or until `limit` bytes have come.
Result<Bytes> read_all(transport::ByteStream& stream, std::size_t limit = SIZE_MAX);

}  // namespace nb::test
