// SPDX-License-Identifier: Apache-2.0
// Where a source or a destination is: `/local/path`, `[user@]host:path`, `ssh://[user@]host[:port]/path`, decided as
// rsync decides it. Pure; cli/ parses every argument with it, transport/ takes the Host.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace nb::ssh {

struct Host {
  std::string name;  // as written, IPv6 literals without their brackets; never starts with '-', never empty
  std::optional<std::string> user;
  std::optional<std::uint16_t> port;

  friend bool operator==(const Host&, const Host&) = default;
};

enum class TrailingSlash : std::uint8_t { absent, present };

struct Location {
  std::optional<Host> host;  // unset: this machine
  std::string path;          // never empty; trailing slashes removed (of "/" they are the path); raw bytes
  TrailingSlash trailing_slash = TrailingSlash::absent;  // "/" and "host:" (the content of a home) have one

  [[nodiscard]] bool is_local() const { return !host.has_value(); }
  // For messages: "user@host:path" or "path".
  [[nodiscard]] std::string display() const;

  friend bool operator==(const Location&, const Location&) = default;
};

// A colon before the first slash makes an argument remote, as for rsync: "./a:b" is local, "a:b" is on host a, and
// "[::1]:p" takes an IPv6 literal. "host:" is the remote home directory, given as "."; a remote path that does not
// start with a slash is relative to it, and so is what follows a remote "~/". "ssh://h/p" is the absolute "/p",
// "ssh://h/~/p" is below the home directory; nothing is percent-decoded. "." and "..", alone or last, count as having a
// trailing slash, as for rsync. Errc::usage: empty argument, host or user, a host or user with a leading '-' or
// characters that ssh refuses, a bad port; Errc::path: a NUL in the path; Errc::unsupported: rsync daemons
// ("host::module", "rsync://") and "host:~other", with what to use instead.
Result<Location> parse_location(std::string_view text);

// Just "[user@]host" or "ssh://[user@]host[:port]" (`bench`): the same checks.
Result<Host> parse_host(std::string_view text);

}  // namespace nb::ssh
