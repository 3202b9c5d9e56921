// SPDX-License-Identifier: Apache-2.0
// ProcessStream: a ByteStream to a program that this process starts: a remote shell (`-e 'ssh -p 2222'`) or `nbackup
// serve` on this machine. One socket pair is its standard input and output (a socket pair carries several times what
// a 64 KiB pipe does); its standard error comes over a pipe to a small thread of its own, so that a talkative program
// never blocks, whatever the session is busy with.
//
// Signals: the program stays in our process group, because a remote shell must be able to ask for a passphrase on the
// terminal, which only the foreground group may read. Ctrl-C at that terminal goes to the whole group, and would end
// the carrier before the session had said its last words; so the program starts with SIGINT and SIGQUIT ignored
// (OpenSSH leaves ignored signals ignored, except while it asks for a passphrase) and every other signal at its
// default, unless it was ignored when this process began (nohup). It ends when the connection does.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "transport/byte_stream.hpp"

namespace nb::transport {

// One line of the other side's standard error, without its newline; raw bytes. Called on a thread of the stream or on the
// reading one, never on both at once; must not call into the stream.
using StderrLine = std::function<void(std::string_view line)>;

// Whether a line is the caller's alone: such a one is neither passed on nor kept for PeerEnd.
using StderrFilter = std::function<bool(std::string_view line)>;

struct ProcessOptions {
  std::vector<std::string> argv;  // argv[0] is looked up in PATH; no shell is involved
  std::string description = "local process";
  std::chrono::milliseconds write_inactivity{0};  // zero: wait for ever
  StderrLine on_stderr;                           // may be empty
  StderrFilter takes_stderr;                      // may be empty; called as on_stderr is, and before it
  // Called once, on the reading thread, when the first byte has come: on_stderr has had all that was written before it.
  // May be empty.
  std::function<void()> on_answer;
};

// Starts the program. Errc::not_found (or what errno says) where it cannot be started; Errc::usage for an empty argv.
// The destructor closes the connection, waits a second, sends SIGTERM and waits two more. It never sends SIGKILL: a
// `serve` past its commit point ignores SIGTERM on purpose, and is left to finish.
Result<std::unique_ptr<ByteStream>> open_process_stream(ProcessOptions options);

struct Captured {
  PeerEnd end;
  std::string output;
};

// Runs a program with an empty input and collects what it prints (at most `max_bytes`; more is Errc::protocol), for
// `ssh -G`. Errc::timeout if it does not end within `limit`.
Result<Captured> run_and_capture(const std::vector<std::string>& argv, std::size_t max_bytes,
                                 std::chrono::milliseconds limit);

}  // namespace nb::transport
