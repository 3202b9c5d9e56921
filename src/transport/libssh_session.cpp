// SPDX-License-Identifier: Apache-2.0
// Options and connecting. What libssh takes from where: LibsshOptions::settings (what OpenSSH made of the
// configuration) if there, else the files as libssh reads them; then what the caller gave explicitly.
#include "transport/libssh_session.hpp"

#include <fcntl.h>
#include <libssh/callbacks.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>

#include "base/text.hpp"
#include "transport/fd_stream.hpp"
#include "transport/tcp_connect.hpp"

namespace nb::transport {
namespace {

constexpr std::chrono::milliseconds k_default_connect_timeout{30000};

void log_line(int /*priority*/, const char* /*function*/, const char* buffer, void* userdata) {
  const auto* on_log = static_cast<const std::function<void(std::string_view)>*>(userdata);
  if (on_log != nullptr && *on_log) (*on_log)(buffer);
}

Status set_number(ssh_session session, ssh_options_e option, int value) {
  if (ssh_options_set(session, option, &value) == SSH_OK) return {};
  return session_error(session, Errc::unsupported, "ssh option");
}

struct Mapping {
  const char* directive;
  ssh_options_e option;
};

// Directives whose value libssh takes as it stands; identityfile alone may have several.
constexpr auto k_mappings = std::to_array<Mapping>({
    {"ciphers", SSH_OPTIONS_CIPHERS_C_S},
    {"ciphers", SSH_OPTIONS_CIPHERS_S_C},
    {"macs", SSH_OPTIONS_HMAC_C_S},
    {"macs", SSH_OPTIONS_HMAC_S_C},
    {"kexalgorithms", SSH_OPTIONS_KEY_EXCHANGE},
    {"hostkeyalgorithms", SSH_OPTIONS_HOSTKEYS},
    {"pubkeyacceptedalgorithms", SSH_OPTIONS_PUBLICKEY_ACCEPTED_TYPES},
    {"compression", SSH_OPTIONS_COMPRESSION},
    {"userknownhostsfile", SSH_OPTIONS_KNOWNHOSTS},
    {"globalknownhostsfile", SSH_OPTIONS_GLOBAL_KNOWNHOSTS},
    {"identityagent", SSH_OPTIONS_IDENTITY_AGENT},
    {"hostname", SSH_OPTIONS_HOST},
    {"port", SSH_OPTIONS_PORT_STR},
    {"user", SSH_OPTIONS_USER},
});

// libssh puts each added identity in front, so that the last one set is tried first.
Status add_identities(ssh_session session, const std::vector<std::string>& files) {
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    NB_TRY(set_option_text(session, SSH_OPTIONS_ADD_IDENTITY, *file));
  }
  return {};
}

Status apply_settings(ssh_session session, const ssh::EffectiveConfig& settings) {
  for (const Mapping& mapping : k_mappings) {
    const auto found = settings.find(mapping.directive);
    if (found == settings.end() || found->second.empty()) continue;
    NB_TRY(set_option_text(session, mapping.option, found->second.front()));
  }
  const auto identities = settings.find("identityfile");
  if (identities != settings.end()) NB_TRY(add_identities(session, identities->second));
  return {};
}

Status apply_configuration(ssh_session session, const LibsshOptions& options) {
  const bool process_files = false;
  if (ssh_options_set(session, SSH_OPTIONS_PROCESS_CONFIG, &process_files) != SSH_OK) {
    return session_error(session, Errc::internal, "ssh options");
  }
  if (options.settings) return apply_settings(session, *options.settings);
  const char* file = options.config_file ? options.config_file->c_str() : nullptr;
  if (ssh_options_parse_config(session, file) != SSH_OK) {
    const std::string name = file != nullptr ? file : "~/.ssh/config";
    return session_error(session, Errc::usage, "read the ssh configuration " + name);
  }
  return {};
}

Status apply_algorithms(ssh_session session, const ssh::AlgorithmLists& lists) {
  if (lists.ciphers) NB_TRY(set_ciphers(session, *lists.ciphers));
  if (lists.macs) NB_TRY(set_macs(session, *lists.macs));
  if (lists.kex) NB_TRY(set_option_text(session, SSH_OPTIONS_KEY_EXCHANGE, *lists.kex));
  if (lists.host_keys) NB_TRY(set_option_text(session, SSH_OPTIONS_HOSTKEYS, *lists.host_keys));
  return {};
}

// What gives way to the configuration: our order of what libssh has, and no compression, which nbackup does better.
Status apply_preferences(ssh_session session, const LibsshOptions& options) {
  const ssh::AlgorithmNames names = ssh::preferred_algorithms(options.cpus, options.measured);
  const ssh::AlgorithmNames& known = libssh_algorithms();
  ssh::AlgorithmLists lists;
  lists.ciphers = ssh::as_list(ssh::only_known(names.ciphers, known.ciphers));
  lists.macs = ssh::as_list(ssh::only_known(names.macs, known.macs));
  lists.kex = ssh::as_list(ssh::only_known(names.kex, known.kex));
  NB_TRY(apply_algorithms(session, lists));
  return set_option_text(session, SSH_OPTIONS_COMPRESSION, std::string(ssh::k_none));
}

std::chrono::milliseconds connect_timeout(const LibsshOptions& options) {
  if (options.connect_timeout) return *options.connect_timeout;
  const auto seconds = parse_u64(setting(options, "connecttimeout"));
  if (seconds && *seconds > 0 && *seconds < 86400) return std::chrono::seconds(*seconds);
  return k_default_connect_timeout;
}

Status apply_timeout(ssh_session session, std::chrono::milliseconds timeout) {
  const long seconds = static_cast<long>(timeout.count() / 1000);
  const long microseconds = static_cast<long>(timeout.count() % 1000) * 1000;
  if (ssh_options_set(session, SSH_OPTIONS_TIMEOUT, &seconds) != SSH_OK ||
      ssh_options_set(session, SSH_OPTIONS_TIMEOUT_USEC, &microseconds) != SSH_OK) {
    return session_error(session, Errc::internal, "ssh timeout");
  }
  return {};
}

// After the configuration: what the user said on the command line wins over it.
Status apply_explicit(ssh_session session, const LibsshOptions& options) {
  if (options.host.user) NB_TRY(set_option_text(session, SSH_OPTIONS_USER, *options.host.user));
  if (options.host.port) NB_TRY(set_option_text(session, SSH_OPTIONS_PORT_STR, std::to_string(*options.host.port)));
  NB_TRY(add_identities(session, options.identity_files));
  NB_TRY(apply_algorithms(session, options.demanded));
  NB_TRY(apply_timeout(session, connect_timeout(options)));
  NB_TRY(set_number(session, SSH_OPTIONS_NODELAY, 1));
  NB_TRY(set_number(session, SSH_OPTIONS_LOG_VERBOSITY, options.on_log ? options.verbosity : SSH_LOG_NOLOG));
  // With 0 libssh would take a changed key for a good one where a second known_hosts file does not know the host.
  return set_number(session, SSH_OPTIONS_STRICTHOSTKEYCHECK, 1);
}

// Where nobody sends for long, only this finds out that the other host has gone: after three minutes. What is no TCP
// connection refuses it, and does without.
void keep_alive(int socket) {
  const auto set = [socket](int level, int name, int value) {
    static_cast<void>(::setsockopt(socket, level, name, &value, sizeof value));
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 60);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 20);
  set(IPPROTO_TCP, TCP_KEEPCNT, 6);
}

// libssh tries a host's first address alone. Without settings that is so, as a ProxyCommand may come before it.
Status connect_socket(ssh_session session, const LibsshOptions& options, const std::string& what) {
  const std::string name = setting(options, "hostname");
  unsigned int port = 22;
  if (ssh_options_get_port(session, &port) != SSH_OK) return session_error(session, Errc::internal, what);
  auto connection =
      connect_tcp(name.empty() ? options.host.name : name, static_cast<std::uint16_t>(port), connect_timeout(options));
  if (!connection) return wrap(std::move(connection).error(), what);
  const socket_t socket = connection->fd.get();
  if (ssh_options_set(session, SSH_OPTIONS_FD, &socket) != SSH_OK) {
    return session_error(session, Errc::internal, what);
  }
  static_cast<void>(connection->fd.release());  // libssh's from here on
  return {};
}

Errc connect_code(std::string_view text) {
  if (text.find("imeout") != std::string_view::npos) return Errc::connect_timeout;
  if (text.find("no match for method") != std::string_view::npos) return Errc::unsupported;
  return Errc::connect;
}

std::string text_or_empty(const char* text) { return text == nullptr ? "" : text; }

// libssh does not tell what was negotiated: it is known where only one thing was offered.
std::string compression_of(const LibsshOptions& options) {
  if (!options.settings) return {};
  return setting(options, "compression") == "yes" ? "zlib@openssh.com or none" : std::string(ssh::k_none);
}

}  // namespace

void SessionDeleter::operator()(ssh_session session) const {
  // Also without a connection; otherwise it says goodbye first, without waiting.
  ssh_disconnect(session);
  ssh_free(session);
}

LogScope::LogScope(const std::function<void(std::string_view)>& on_log, int verbosity)
    : m_outer_userdata(ssh_get_log_userdata()), m_outer_level(ssh_get_log_level()) {
  ssh_set_log_callback(log_line);
  // The callback takes it back as const.
  ssh_set_log_userdata(const_cast<std::function<void(std::string_view)>*>(&on_log));
  ssh_set_log_level(on_log ? verbosity : SSH_LOG_NOLOG);
}

LogScope::~LogScope() {
  ssh_set_log_userdata(m_outer_userdata);
  ssh_set_log_level(m_outer_level);
}

Status set_option_text(ssh_session session, ssh_options_e option, const std::string& value) {
  if (ssh_options_set(session, option, value.c_str()) == SSH_OK) return {};
  return session_error(session, Errc::unsupported, "ssh option '" + std::string(value) + "'");
}

Status set_ciphers(ssh_session session, const std::string& list) {
  NB_TRY(set_option_text(session, SSH_OPTIONS_CIPHERS_C_S, list));
  return set_option_text(session, SSH_OPTIONS_CIPHERS_S_C, list);
}

Status set_macs(ssh_session session, const std::string& list) {
  NB_TRY(set_option_text(session, SSH_OPTIONS_HMAC_C_S, list));
  return set_option_text(session, SSH_OPTIONS_HMAC_S_C, list);
}

tl::unexpected<Error> session_error(ssh_session session, Errc code, const std::string& what) {
  const std::string reason = ssh_get_error(session);
  return fail(code, reason.empty() ? what : what + ": " + reason);
}

std::string setting(const LibsshOptions& options, std::string_view name) {
  return options.settings ? ssh::first_value(*options.settings, name) : "";
}

bool may_prompt(const LibsshOptions& options) { return options.prompt && setting(options, "batchmode") != "yes"; }

std::string host_and_port(ssh_session session, const LibsshOptions& options) {
  unsigned int port = 22;
  if (ssh_options_get_port(session, &port) != SSH_OK) port = 22;
  const bool literal = options.host.name.find(':') != std::string::npos;
  return (literal ? "[" + options.host.name + "]" : options.host.name) + ":" + std::to_string(port);
}

Result<SessionPtr> configure_session(const LibsshOptions& options) {
  ignore_sigpipe();
  NB_TRY(init_libssh());
  SessionPtr session(ssh_new());
  if (!session) return fail(Errc::internal, "no memory for an ssh session");
  // Before any file is read: Host and Match look at it.
  NB_TRY(set_option_text(session.get(), SSH_OPTIONS_HOST, options.host.name));
  if (options.host.user) NB_TRY(set_option_text(session.get(), SSH_OPTIONS_USER, *options.host.user));
  NB_TRY(apply_preferences(session.get(), options));
  NB_TRY(apply_configuration(session.get(), options));
  NB_TRY(apply_explicit(session.get(), options));
  NB_TRY(arm_switch(session.get(), options));
  return session;
}

Status connect_session(ssh_session session, const LibsshOptions& options) {
  const std::string what = "connect to " + host_and_port(session, options);
  if (options.settings) NB_TRY(connect_socket(session, options, what));
  Status connected;
  if (ssh_connect(session) != SSH_OK) connected = session_error(session, connect_code(ssh_get_error(session)), what);
  // As if it had connected by itself: the connection is libssh's to close. That says "invalid" of the null.
  if (options.settings) static_cast<void>(ssh_options_set(session, SSH_OPTIONS_FD, nullptr));
  NB_TRY(connected);
  // libssh does not: a program that we start later would keep the connection open behind our back.
  if (::fcntl(ssh_get_fd(session), F_SETFD, FD_CLOEXEC) != 0) return fail_errno("fcntl");
  keep_alive(ssh_get_fd(session));
  return {};
}

ssh::Negotiated read_negotiated(ssh_session session, const LibsshOptions& options) {
  ssh::Negotiated found;
  found.kex = text_or_empty(ssh_get_kex_algo(session));
  found.cipher_in = text_or_empty(ssh_get_cipher_in(session));
  found.cipher_out = text_or_empty(ssh_get_cipher_out(session));
  if (!ssh::authenticates_itself(found.cipher_in)) found.mac_in = text_or_empty(ssh_get_hmac_in(session));
  if (!ssh::authenticates_itself(found.cipher_out)) found.mac_out = text_or_empty(ssh_get_hmac_out(session));
  found.compression = compression_of(options);
  found.server_version = text_or_empty(ssh_get_serverbanner(session));
  ssh_key key = nullptr;
  if (ssh_get_server_publickey(session, &key) == SSH_OK) {
    found.host_key_type = text_or_empty(ssh_key_type_to_char(ssh_key_type(key)));
    ssh_key_free(key);
  }
  return found;
}

}  // namespace nb::transport
