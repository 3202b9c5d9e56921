// SPDX-License-Identifier: Apache-2.0
// FdStream: a ByteStream over descriptors: what `nbackup serve` finds on its standard input and output, and one end of
// a socket pair (process_stream builds on it). The descriptors are made non-blocking while the stream lives and get
// their former flags back afterwards; an eventfd wakes blocked calls for close_now().
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "base/fd.hpp"
#include "transport/byte_stream.hpp"

namespace nb::transport {

struct FdStreamOptions {
  std::chrono::milliseconds write_inactivity{0};  // nothing taken and nothing read for so long; zero: wait for ever
  std::string description = "descriptors";
};

// Takes both descriptors, which may be the two ends of pipes or two descriptors of one socket. Pipes are enlarged to
// 1 MiB where the kernel allows it. SIGPIPE is set to ignored in this process if it was at its default: write(2) on a
// pipe has no other way to be told.
Result<std::unique_ptr<ByteStream>> open_fd_stream(Fd in, Fd out, FdStreamOptions options = {});

// The same over one connected socket.
Result<std::unique_ptr<ByteStream>> open_socket_stream(Fd socket, FdStreamOptions options = {});

// Sets SIGPIPE to ignored unless somebody has already chosen something for it. Every factory here calls it.
void ignore_sigpipe();

}  // namespace nb::transport
