// SPDX-License-Identifier: Apache-2.0
// What an OpenSSH client program says about its key exchanges. It has no other way to tell what was negotiated: lines of
// its log, which LogVerbose (OpenSSH 8.5 and later) lets through whatever the LogLevel is, each with the place in the
// source that it comes from: "debug1: kex.c:choose_kex():929 (pid=7): kex: algorithm: curve25519-sha256". Pure;
// transport/ssh_select gives it the lines.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ssh/carrier_choice.hpp"
#include "ssh/security.hpp"

namespace nb::ssh {

// The word that asks for these lines.
inline constexpr const char* k_kex_log_option = "-oLogVerbose=kex.c:*choose*";

// Whether the program knows the option and the user has not asked for a log of his own: from `ssh -G`.
bool can_log_kex(const EffectiveConfig& effective);

// Lines that another process writes, the command on the host among them, are left alone: the first process is the
// program, which exchanges keys before it lets anything through. What is kept is as large as a few lines. Not for several
// threads at once.
class KexLog {
 public:
  // Whether this line of standard error, without its end, is one that was asked for; what it says is kept.
  bool take(std::string_view line);

  // What the last whole key exchange came to, but for the server's version; nothing before the first, and where another
  // process holds the connection (ControlMaster).
  [[nodiscard]] const std::optional<Negotiated>& latest() const { return m_latest; }

 private:
  void take_text(std::string_view text);

  std::string m_process;  // as its lines name it; empty before the first
  Negotiated m_pending;
  std::string m_compression_in;
  std::string m_compression_out;
  std::optional<Negotiated> m_latest;
};

}  // namespace nb::ssh
