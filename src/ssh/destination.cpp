// SPDX-License-Identifier: Apache-2.0
// Parsing of source and destination arguments.
#include "ssh/destination.hpp"

#include <algorithm>
#include <cctype>

#include "base/text.hpp"

namespace nb::ssh {
namespace {

constexpr std::string_view k_ssh_scheme = "ssh://";
constexpr std::string_view k_rsync_scheme = "rsync://";
// What OpenSSH refuses in host names and user names from a command line, for they may reach a shell by ProxyCommand; and
// brackets, which around them stand for an address.
constexpr std::string_view k_refused_characters = "'`\"$\\;&<>|(){}/[]";

bool starts_with_scheme(std::string_view text, std::string_view scheme) {
  return text.size() >= scheme.size() && equals_ignoring_case(text.substr(0, scheme.size()), scheme);
}

bool is_odd(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte <= ' ' || byte == 0x7f || k_refused_characters.find(c) != std::string_view::npos;
}

Status check_word(std::string_view word, std::string_view what, std::string_view whole) {
  const std::string where = " in '" + std::string(whole) + "'";
  if (word.empty()) return fail(Errc::usage, "empty " + std::string(what) + where);
  if (word.front() == '-') return fail(Errc::usage, std::string(what) + " starts with '-'" + where);
  if (std::any_of(word.begin(), word.end(), is_odd)) {
    return fail(Errc::usage, "character not allowed in " + std::string(what) + where);
  }
  return {};
}

// "[user@]host" where brackets are already gone from the host.
Result<Host> make_host(std::string_view user_at, std::string_view name, std::string_view whole) {
  Host host;
  if (!user_at.empty()) {
    const std::string_view user = user_at.substr(0, user_at.size() - 1);
    // Not shown: messages end in logs and mails.
    if (const std::size_t colon = user.find(':'); colon != std::string_view::npos) {
      return fail(Errc::usage, "a password has no place in '" + std::string(user.substr(0, colon)) + ":...@" +
                                   std::string(name) + "': use a key, or wait to be asked");
    }
    NB_TRY(check_word(user, "user name", whole));
    host.user = std::string(user);
  }
  NB_TRY(check_word(name, "host name", whole));
  host.name = std::string(name);
  return host;
}

// The user part with its '@', which may be empty. The last '@' counts, as for ssh: user names may be mail addresses.
std::string_view user_part(std::string_view authority) {
  const std::size_t at = authority.rfind('@');
  return at == std::string_view::npos ? std::string_view{} : authority.substr(0, at + 1);
}

struct Authority {
  std::string_view user_at;
  std::string_view name;
  std::size_t length = 0;  // of the whole, brackets included
};

// A bracketed host at the start of `text` behind an optional user, if there is one.
std::optional<Authority> bracketed(std::string_view text) {
  const std::size_t open = text.find('[');
  if (open == std::string_view::npos) return std::nullopt;
  if (open != 0 && (text[open - 1] != '@' || text.substr(0, open).find_first_of(":/") != std::string_view::npos)) {
    return std::nullopt;
  }
  const std::size_t close = text.find(']', open);
  if (close == std::string_view::npos) return std::nullopt;
  return Authority{text.substr(0, open), text.substr(open + 1, close - open - 1), close + 1};
}

// The host in front of the first colon that comes before any slash; nothing for a local path.
std::optional<Authority> scp_authority(std::string_view text) {
  if (auto found = bracketed(text); found && text.substr(found->length).starts_with(':')) return found;
  const std::size_t end = text.find_first_of(":/");
  if (end == std::string_view::npos || text[end] == '/') return std::nullopt;
  const std::string_view user_at = user_part(text.substr(0, end));
  return Authority{user_at, text.substr(user_at.size(), end - user_at.size()), end};
}

bool ends_in_dots(std::string_view path) {
  const std::string_view last = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
  return last == "." || last == "..";
}

void set_path(Location& location, std::string_view path) {
  const bool slash = path.ends_with('/') || ends_in_dots(path);
  while (path.size() > 1 && (path.ends_with('/') || path.ends_with("/."))) {
    path.remove_suffix(path.ends_with('/') ? 1 : 2);
    if (path.empty()) path = "/";
  }
  location.path = std::string(path);
  location.trailing_slash = slash ? TrailingSlash::present : TrailingSlash::absent;
}

// A remote path as the remote end takes it: it starts in the home directory, so "~/" says nothing new.
Status set_remote_path(Location& location, std::string_view path, std::string_view whole) {
  if (path.starts_with('~')) {
    if (path.size() > 1 && path[1] != '/') {
      return fail(Errc::unsupported,
                  "'" + std::string(whole) + "': another user's home directory; give its path instead");
    }
    path.remove_prefix(1);
    path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
  }
  if (path.empty()) path = "./";
  set_path(location, path);
  return {};
}

tl::unexpected<Error> daemon_error(std::string_view whole) {
  return fail(Errc::unsupported, "'" + std::string(whole) +
                                     "': rsync daemons are not supported; use [user@]host:path or "
                                     "ssh://[user@]host[:port]/path, with nbackup installed on the host");
}

Result<std::uint16_t> parse_port(std::string_view text, std::string_view whole) {
  const auto number = parse_u64(text);
  if (!number || *number == 0 || *number > 65535) return fail(Errc::usage, "bad port in '" + std::string(whole) + "'");
  return static_cast<std::uint16_t>(*number);
}

// What stands between "ssh://" and the next slash.
Result<Host> parse_authority(std::string_view text, std::string_view whole) {
  Authority parts;
  if (const auto found = bracketed(text)) {
    parts = *found;
  } else {
    parts.user_at = user_part(text);
    const std::string_view rest = text.substr(parts.user_at.size());
    parts.name = rest.substr(0, rest.find(':'));
    parts.length = parts.user_at.size() + parts.name.size();
  }
  NB_TRY_ASSIGN(Host host, make_host(parts.user_at, parts.name, whole));
  const std::string_view port = text.substr(parts.length);
  if (port.empty()) return host;
  if (port.front() != ':') return fail(Errc::usage, "bad host in '" + std::string(whole) + "'");
  NB_TRY_ASSIGN(host.port, parse_port(port.substr(1), whole));
  return host;
}

Result<Location> parse_url(std::string_view text) {
  const std::string_view rest = text.substr(k_ssh_scheme.size());
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  Location location;
  NB_TRY_ASSIGN(location.host, parse_authority(rest.substr(0, slash), text));
  std::string_view path = rest.substr(slash);
  if (path.starts_with("/~")) path.remove_prefix(1);
  NB_TRY(set_remote_path(location, path, text));
  return location;
}

}  // namespace

std::string Location::display() const {
  if (!host) return path;
  std::string text = host->user ? *host->user + "@" : "";
  const bool literal = host->name.find(':') != std::string::npos;
  text += literal ? "[" + host->name + "]" : host->name;
  // Behind "~" alone is the home directory.
  if (!host->port) return text + (path.starts_with('~') ? ":./" : ":") + path;
  text.insert(0, k_ssh_scheme);
  return text + ":" + std::to_string(*host->port) + (path.starts_with('/') ? "" : "/~/") + path;
}

Result<Location> parse_location(std::string_view text) {
  if (text.empty()) return fail(Errc::usage, "empty path");
  if (text.find('\0') != std::string_view::npos) return fail(Errc::path, "NUL in '" + std::string(text) + "'");
  if (starts_with_scheme(text, k_rsync_scheme)) return daemon_error(text);
  if (starts_with_scheme(text, k_ssh_scheme)) return parse_url(text);
  Location location;
  const auto authority = scp_authority(text);
  if (!authority) {
    set_path(location, text);
    return location;
  }
  const std::string_view path = text.substr(authority->length + 1);
  if (path.starts_with(':')) return daemon_error(text);
  NB_TRY_ASSIGN(location.host, make_host(authority->user_at, authority->name, text));
  NB_TRY(set_remote_path(location, path, text));
  return location;
}

Result<Host> parse_host(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) return fail(Errc::usage, "NUL in '" + std::string(text) + "'");
  if (starts_with_scheme(text, k_ssh_scheme)) {
    const std::string_view rest = text.substr(k_ssh_scheme.size());
    return parse_authority(rest.ends_with('/') ? rest.substr(0, rest.size() - 1) : rest, text);
  }
  if (const auto found = bracketed(text); found && found->length == text.size()) {
    return make_host(found->user_at, found->name, text);
  }
  const std::string_view user_at = user_part(text);
  const std::string_view name = text.substr(user_at.size());
  if (name.find(':') != std::string_view::npos && name.find(':') == name.rfind(':')) {
    return fail(Errc::usage, "'" + std::string(text) + "': a host only, or ssh://host:port");
  }
  return make_host(user_at, name, text);
}

}  // namespace nb::ssh
