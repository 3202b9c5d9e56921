// SPDX-License-Identifier: Apache-2.0
// Comparing `ssh -G` outputs and reading known_hosts markers.
#include "ssh/carrier_choice.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.hpp"
#include "ssh/directives.hpp"
#include "ssh/host_pattern.hpp"

namespace nb::ssh {
namespace {

constexpr std::string_view k_blanks = " \t\r";

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

struct Pair {
  std::string_view first;
  std::string_view rest;
};

Pair cut_word(std::string_view text, std::string_view separators) {
  const std::size_t end = std::min(text.find_first_of(separators), text.size());
  const std::size_t next = std::min(text.find_first_not_of(separators, end), text.size());
  return {text.substr(0, end), text.substr(next)};
}

// The spelling of the manual, for the directives that people meet most.
constexpr auto k_spellings = std::to_array<std::string_view>({"AddressFamily",
                                                              "BindAddress",
                                                              "BindInterface",
                                                              "CanonicalizeHostname",
                                                              "CertificateFile",
                                                              "CheckHostIP",
                                                              "ConnectionAttempts",
                                                              "GSSAPIKeyExchange",
                                                              "GlobalKnownHostsFile",
                                                              "HostKeyAlias",
                                                              "IPQoS",
                                                              "IdentitiesOnly",
                                                              "IdentityAgent",
                                                              "IdentityFile",
                                                              "KnownHostsCommand",
                                                              "LocalCommand",
                                                              "NoHostAuthenticationForLocalhost",
                                                              "PKCS11Provider",
                                                              "PermitLocalCommand",
                                                              "PreferredAuthentications",
                                                              "ProxyCommand",
                                                              "ProxyJump",
                                                              "ProxyUseFdpass",
                                                              "PubkeyAuthentication",
                                                              "RekeyLimit",
                                                              "RequiredRSASize",
                                                              "RevokedHostKeys",
                                                              "SecurityKeyProvider",
                                                              "SetEnv",
                                                              "UserKnownHostsFile",
                                                              "VerifyHostKeyDNS"});

std::string spelling(const std::string& name) {
  const auto* found = std::find_if(k_spellings.begin(), k_spellings.end(),
                                   [&](std::string_view spelled) { return lower(spelled) == name; });
  return found == k_spellings.end() ? name : std::string(*found);
}

bool is_plain_path(std::string_view value) {
  return (value.starts_with('/') || value.starts_with("~/")) && value.find_first_of("%$\"") == std::string_view::npos;
}

bool is_single_path(const std::vector<std::string>& values) {
  return values.size() == 1 && is_plain_path(values.front()) &&
         values.front().find_first_of(k_blanks) == std::string::npos;
}

// Whether libssh can do what these values, which differ from the default, ask for.
bool is_covered(const std::string& name, const std::vector<std::string>& values) {
  const DirectiveRule* rule = find_directive(name);
  if (rule == nullptr) return false;
  switch (rule->handling) {
    case Handling::honoured:
    case Handling::irrelevant: return true;
    case Handling::honoured_once: return is_single_path(values);
    case Handling::honoured_path: return std::all_of(values.begin(), values.end(), is_plain_path);
  }
  return false;
}

const std::vector<std::string>& values_of(const EffectiveConfig& config, const std::string& name) {
  static const std::vector<std::string> k_none;
  const auto found = config.find(name);
  return found == config.end() ? k_none : found->second;
}

std::vector<std::string> differing(const EffectiveConfig& host, const EffectiveConfig& empty) {
  std::vector<std::string> names;
  for (const auto& entry : host) {
    if (values_of(empty, entry.first) != entry.second) names.push_back(entry.first);
  }
  for (const auto& entry : empty) {
    if (host.find(entry.first) == host.end()) names.push_back(entry.first);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string join(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

EffectiveConfig settings_from(const EffectiveConfig& host, const std::vector<std::string>& changed) {
  EffectiveConfig settings;
  for (const char* name : {"hostname", "port", "user"}) {
    if (const auto& values = values_of(host, name); !values.empty()) settings[name] = values;
  }
  for (const std::string& name : changed) {
    const DirectiveRule* rule = find_directive(name);
    const auto& values = values_of(host, name);
    if (rule != nullptr && rule->handling != Handling::irrelevant && !values.empty()) settings[name] = values;
  }
  return settings;
}

constexpr std::size_t k_max_line_bytes = 8000;  // libssh reads a little more at once

struct KeyForm {
  std::string_view type;
  std::string_view begin;  // of the key in base64: the type once more
};
constexpr std::array k_key_forms{
    KeyForm{"ssh-ed25519", "AAAAC3NzaC1lZDI1NTE5"},
    KeyForm{"ssh-rsa", "AAAAB3NzaC1yc2E"},
    KeyForm{"ecdsa-sha2-nistp256", "AAAAE2VjZHNhLXNoYTItbmlzdHAyNTY"},
    KeyForm{"ecdsa-sha2-nistp384", "AAAAE2VjZHNhLXNoYTItbmlzdHAzODQ"},
    KeyForm{"ecdsa-sha2-nistp521", "AAAAE2VjZHNhLXNoYTItbmlzdHA1MjE"},
};

// A line of known_hosts without anything that libssh and ssh could differ about.
bool is_plain_line(std::string_view raw) {
  if (raw.find_first_of("\t\r") != std::string_view::npos) return false;
  const Pair type = cut_word(cut_word(trim(raw), k_blanks).rest, k_blanks);
  const std::string_view key = cut_word(type.rest, k_blanks).first;
  const bool is_base64 = key.size() % 4 == 0 &&
                         key.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=") ==
                             std::string_view::npos;
  return is_base64 && std::any_of(k_key_forms.begin(), k_key_forms.end(), [&](const KeyForm& form) {
           return type.first == form.type && key.starts_with(form.begin);
         });
}

std::string known_hosts_name(std::string_view name, std::uint16_t port) {
  const std::string text(name);
  return port == 22 ? text : "[" + text + "]:" + std::to_string(port);
}

// sshd(8), SSH_KNOWN_HOSTS FILE FORMAT. A hashed name is taken to match.
bool patterns_match(std::string_view patterns, const std::string& name) {
  return patterns.starts_with('|') || matches_any(split(patterns, ','), name);
}

}  // namespace

EffectiveConfig parse_effective_config(std::string_view text) {
  EffectiveConfig config;
  for (const std::string_view line : split(text, '\n')) {
    const Pair pair = cut_word(trim(line), k_blanks);
    if (!pair.first.empty()) config[lower(pair.first)].emplace_back(pair.rest);
  }
  return config;
}

std::string first_value(const EffectiveConfig& config, std::string_view name) {
  const auto found = config.find(name);
  return found == config.end() || found->second.empty() ? "" : found->second.front();
}

CarrierChoice choose_carrier(const EffectiveConfig& host, const EffectiveConfig& empty, std::string_view host_label) {
  const std::vector<std::string> changed = differing(host, empty);
  std::vector<std::string> ignored;
  for (const std::string& name : changed) {
    if (!is_covered(name, values_of(host, name))) ignored.push_back(spelling(name));
  }
  CarrierChoice choice;
  choice.effective = host;
  choice.names_ciphers = std::find(changed.begin(), changed.end(), "ciphers") != changed.end();
  if (ignored.empty()) {
    choice.settings = settings_from(host, changed);
    return choice;
  }
  choice.carrier = Carrier::ssh_program;
  choice.reason = join(ignored) + (ignored.size() == 1 ? " is" : " are") + " set for " + std::string(host_label) +
                  ": using the ssh program";
  return choice;
}

std::vector<std::string> unsupported_directives(std::string_view config_text) {
  std::vector<std::string> names;
  for (const std::string_view raw : split(config_text, '\n')) {
    const std::string_view line = trim(raw);
    if (line.empty() || line.front() == '#') continue;
    const std::string name = lower(cut_word(line, " \t=").first);
    if (name == "match" || name == "include" || name == "ignoreunknown" || find_directive(name) != nullptr) continue;
    names.push_back(spelling(name));
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::vector<std::string> included_patterns(std::string_view config_text) {
  std::vector<std::string> patterns;
  for (const std::string_view line : split(config_text, '\n')) {
    Pair pair = cut_word(trim(line), " \t=");
    if (lower(pair.first) != "include") continue;
    while (!pair.rest.empty() && pair.rest.front() != '#') {
      pair = cut_word(pair.rest, k_blanks);
      std::string_view word = pair.first;
      if (word.size() > 1 && word.front() == '"' && word.back() == '"') word = word.substr(1, word.size() - 2);
      patterns.emplace_back(word);
    }
  }
  return patterns;
}

std::vector<std::string> known_hosts_files(const EffectiveConfig& config, std::string_view home) {
  std::vector<std::string> files;
  for (const char* directive : {"userknownhostsfile", "globalknownhostsfile"}) {
    for (const std::string& line : values_of(config, directive)) {
      for (const std::string_view file : split(line, ' ')) {
        if (file.empty() || file == "none") continue;
        files.push_back(file.starts_with("~/") ? std::string(home) + std::string(file.substr(1)) : std::string(file));
      }
    }
  }
  return files;
}

std::optional<std::string> marker_for_host(std::string_view known_hosts_text, std::string_view name,
                                           std::uint16_t port) {
  const std::string wanted = known_hosts_name(name, port);
  for (const std::string_view raw : split(known_hosts_text, '\n')) {
    const std::string_view line = trim(raw);
    if (!line.starts_with('@')) continue;
    const Pair marker = cut_word(line, k_blanks);
    if (patterns_match(cut_word(marker.rest, k_blanks).first, wanted)) return std::string(marker.first);
  }
  return std::nullopt;
}

std::optional<std::size_t> odd_line_for_host(std::string_view known_hosts_text, std::string_view name,
                                             std::uint16_t port) {
  const std::string wanted = known_hosts_name(name, port);
  std::size_t number = 0;
  for (const std::string_view raw : split(known_hosts_text, '\n')) {
    ++number;
    if (raw.size() > k_max_line_bytes) return number;
    const std::string_view line = trim(raw);
    if (line.empty() || line.front() == '#' || line.front() == '@') continue;
    const std::string_view patterns = cut_word(line, k_blanks).first;
    std::vector<std::string_view> positive = split(patterns, ',');
    const bool is_negated = std::erase_if(positive, [](std::string_view each) { return each.starts_with('!'); }) > 0;
    const bool may_match = patterns.starts_with('|') || matches_any(positive, wanted);
    if (may_match && (is_negated || !is_plain_line(raw))) return number;
  }
  return std::nullopt;
}

bool is_revoked(std::string_view known_hosts_text, std::string_view key_base64) {
  for (const std::string_view line : split(known_hosts_text, '\n')) {
    const Pair marker = cut_word(trim(line), k_blanks);
    if (marker.first != "@revoked") continue;
    const Pair type = cut_word(cut_word(marker.rest, k_blanks).rest, k_blanks);
    if (cut_word(type.rest, k_blanks).first == key_base64) return true;
  }
  return false;
}

}  // namespace nb::ssh
