// SPDX-License-Identifier: Apache-2.0
// Host key checking. The answers of a person or of StrictHostKeyChecking concern unknown keys only: a changed key is
// always refused, because nobody is asked in a nightly run and the data behind it is all there is.
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "ssh/carrier_choice.hpp"
#include "transport/libssh_session.hpp"

namespace nb::transport {
namespace {

constexpr std::size_t k_max_known_hosts_bytes = 64 << 20;

struct HostKey {
  std::string type;
  std::string fingerprint;  // "SHA256:..."
  std::string base64;       // as known_hosts has it
};

// Frees `text`.
std::string taken(char* text) {
  std::string copy = text != nullptr ? text : "";
  ssh_string_free_char(text);
  return copy;
}

Result<HostKey> read_host_key(ssh_session session) {
  ssh_key key = nullptr;
  if (ssh_get_server_publickey(session, &key) != SSH_OK) return session_error(session, Errc::host_key, "host key");
  unsigned char* hash = nullptr;
  std::size_t hash_bytes = 0;
  HostKey found;
  const char* type = ssh_key_type_to_char(ssh_key_type(key));
  found.type = type != nullptr ? type : "unknown type";
  char* base64 = nullptr;
  if (ssh_pki_export_pubkey_base64(key, &base64) == SSH_OK) found.base64 = taken(base64);
  const int rc = ssh_get_publickey_hash(key, SSH_PUBLICKEY_HASH_SHA256, &hash, &hash_bytes);
  ssh_key_free(key);
  if (rc != SSH_OK || found.base64.empty()) return fail(Errc::host_key, "host key cannot be hashed");
  char* text = ssh_get_fingerprint_hash(SSH_PUBLICKEY_HASH_SHA256, hash, hash_bytes);
  ssh_clean_pubkey_hash(&hash);
  if (text == nullptr) return fail(Errc::host_key, "no memory for a fingerprint");
  found.fingerprint = taken(text);
  return found;
}

std::optional<std::string> file_option(ssh_session session, ssh_options_e option) {
  char* value = nullptr;
  if (ssh_options_get(session, option, &value) != SSH_OK || value == nullptr) return std::nullopt;
  return taken(value);
}

std::string known_hosts_file(ssh_session session) {
  return file_option(session, SSH_OPTIONS_KNOWNHOSTS).value_or("known_hosts");
}

// What the user types to look at the host as ssh does: ssh's own options, so that it means the same host.
std::string ssh_command(const LibsshOptions& options) {
  std::string command = "ssh";
  if (options.config_file) command += " -F " + *options.config_file;
  if (options.host.port) command += " -p " + std::to_string(*options.host.port);
  command += " " + (options.host.user ? *options.host.user + "@" : "") + options.host.name;
  return command + " true";
}

std::string subject(ssh_session session, const LibsshOptions& options, const HostKey& key) {
  return host_and_port(session, options) + " shows the " + key.type + " key " + key.fingerprint;
}

Status remember(ssh_session session) {
  if (ssh_session_update_known_hosts(session) == SSH_OK) return {};
  return session_error(session, Errc::host_key, "write " + known_hosts_file(session));
}

Result<ssh::HostKeyTrust> check_unknown(ssh_session session, const LibsshOptions& options, const HostKey& key) {
  const std::string policy = setting(options, "stricthostkeychecking");
  if (policy == "accept-new" || policy == "false") {
    NB_TRY(remember(session));
    return ssh::HostKeyTrust::unverified;
  }
  const std::string what = subject(session, options, key);
  if (policy != "true" && may_prompt(options)) {
    const auto answer = options.prompt(PromptKind::confirm, what + ", which " + known_hosts_file(session) +
                                                                " does not know.\nConnect, and remember it (yes/no)? ");
    if (answer && *answer == "yes") {
      NB_TRY(remember(session));
      return ssh::HostKeyTrust::verified;
    }
  }
  return fail(Errc::host_key, what + ", which " + known_hosts_file(session) +
                                  " does not know. Compare the fingerprint with the host's own, then accept the key by "
                                  "'" +
                                  ssh_command(options) + "' (or add what ssh-keyscan prints)");
}

tl::unexpected<Error> changed_error(ssh_session session, const LibsshOptions& options, const HostKey& key) {
  return fail(Errc::host_key,
              "THE HOST KEY HAS CHANGED: " + subject(session, options, key) + ", but " + known_hosts_file(session) +
                  " (or the global file) has another one. Somebody may be in between, or the host was set up anew. "
                  "Nothing was sent. Only if the host's owner confirms the new key, remove the old one by "
                  "'ssh-keygen -f " +
                  known_hosts_file(session) + " -R HOST' and accept it by '" + ssh_command(options) + "'");
}

tl::unexpected<Error> other_type_error(ssh_session session, const LibsshOptions& options, const HostKey& key) {
  return fail(Errc::host_key, subject(session, options, key) + ", but " + known_hosts_file(session) +
                                  " has only keys of other types for it. Compare the fingerprint with the host's own "
                                  "and add this key too, by ssh-keyscan");
}

struct KnownHosts {
  std::string file;
  std::string text;
};

std::vector<KnownHosts> known_hosts(ssh_session session) {
  std::vector<KnownHosts> found;
  for (const ssh_options_e option : {SSH_OPTIONS_KNOWNHOSTS, SSH_OPTIONS_GLOBAL_KNOWNHOSTS}) {
    auto file = file_option(session, option);
    auto text = file ? read_file_prefix(*file, k_max_known_hosts_bytes) : std::nullopt;
    if (text) found.push_back({std::move(*file), std::move(*text)});
  }
  return found;
}

// What libssh passes over or reads otherwise than ssh. Where there is an ssh program such lines select it (ssh_select);
// else this is all there is.
Status refuse_lines(ssh_session session, const LibsshOptions& options, const HostKey& key) {
  const auto name = file_option(session, SSH_OPTIONS_HOST);
  unsigned int port = 22;
  const bool knows_name = name && ssh_options_get_port(session, &port) == SSH_OK;
  for (const KnownHosts& known : known_hosts(session)) {
    if (ssh::is_revoked(known.text, key.base64)) {
      return fail(Errc::host_key, subject(session, options, key) + ", which is marked @revoked in " + known.file);
    }
    if (!knows_name) continue;
    const auto line = ssh::odd_line_for_host(known.text, *name, static_cast<std::uint16_t>(port));
    if (!line) continue;
    return fail(Errc::host_key, host_and_port(session, options) + ": line " + std::to_string(*line) + " of " +
                                    known.file +
                                    " can be read by an ssh program alone, and there is none; remove that line, or "
                                    "install ssh");
  }
  return {};
}

}  // namespace

Result<ssh::HostKeyTrust> verify_host_key(ssh_session session, const LibsshOptions& options) {
  NB_TRY_ASSIGN(const HostKey key, read_host_key(session));
  NB_TRY(refuse_lines(session, options, key));
  switch (ssh_session_is_known_server(session)) {
    case SSH_KNOWN_HOSTS_OK: return ssh::HostKeyTrust::verified;
    case SSH_KNOWN_HOSTS_UNKNOWN:
    case SSH_KNOWN_HOSTS_NOT_FOUND: return check_unknown(session, options, key);
    case SSH_KNOWN_HOSTS_CHANGED: return changed_error(session, options, key);
    case SSH_KNOWN_HOSTS_OTHER: return other_type_error(session, options, key);
    case SSH_KNOWN_HOSTS_ERROR: break;
  }
  return session_error(session, Errc::host_key, "check the host key of " + host_and_port(session, options));
}

}  // namespace nb::transport
