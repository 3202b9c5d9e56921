// SPDX-License-Identifier: Apache-2.0
// ByteStream: the seam between nbackup's protocol and whatever carries it: an SSH session inside this process, a remote
// shell program, a local process, or the descriptors that sshd gave us. Implementations pass one contract suite
// (tests/unit/transport); throttling and fault injection are decorators over this interface.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "base/bytes.hpp"
#include "base/result.hpp"

namespace nb::transport {

// What PeerEnd keeps of the other program's standard error.
inline constexpr std::size_t k_stderr_tail_bytes = 4096;

// How the program on the other side ended. Where nothing is known (no process behind the stream, or it was still
// running when the limit ran out), exit_status and signal_name are both empty.
struct PeerEnd {
  std::optional<int> exit_status;
  std::string signal_name;  // without SIG: "KILL"; empty unless a signal ended it
  std::string stderr_tail;  // the last 4 KiB it wrote to standard error, raw bytes

  [[nodiscard]] bool ended() const { return exit_status.has_value() || !signal_name.empty(); }
  [[nodiscard]] bool ended_well() const { return exit_status == 0; }
};

// A full-duplex connection to the other side's nbackup. One thread may read while another writes; no two threads read,
// and no two write, at once. close_now() may be called from any thread and wakes both. The destructor ends the
// connection as close_now() does: whoever wants everything delivered calls finish_writing() and reads to the end first.
// After an error other than timeout of read(), the stream is good for wait_end() and destruction only.
class ByteStream {
 public:
  virtual ~ByteStream() = default;

  // At least one byte and at most out.size() (which is not 0), or 0 at the orderly end, again and again.
  // Errc::timeout after `inactivity` without a byte (zero: wait for ever; the stream stays usable),
  // Errc::connection_lost on breakage or after close_now().
  virtual Result<std::size_t> read(std::span<std::byte> out, std::chrono::milliseconds inactivity) = 0;

  // All of `data`, perhaps only into a bounded buffer; blocks while the other side does not take it. Errc::timeout
  // when it took nothing, and nothing of it was received either, for the time set at opening (part of `data` may have
  // gone out); Errc::connection_lost as for read().
  virtual Status write(ByteView data) = 0;

  // Half-close: the peer reads 0 after everything written. Called by the writing thread; a second call does nothing.
  virtual Status finish_writing() = 0;

  // Ends both directions at once; what is still buffered is dropped. Blocked calls and all later ones return
  // connection_lost. From any thread except inside a callback of this stream; may be called more than once.
  virtual void close_now() = 0;

  // Waits for the other program's end and tells how it ended. Called by the reading thread once it is done reading
  // (data that nobody reads can keep the other side from ending).
  virtual PeerEnd wait_end(std::chrono::milliseconds limit) = 0;

  // For a person: "libssh rpi4:22 (curve25519-sha256, ssh-ed25519, aes128-gcm@openssh.com)",
  // "ssh program: ssh -p 2222 rpi4", "local process".
  [[nodiscard]] virtual std::string describe() const = 0;
};

}  // namespace nb::transport
