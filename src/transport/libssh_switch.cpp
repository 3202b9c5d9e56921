// SPDX-License-Identifier: Apache-2.0
// The change to `none` after the login, with nothing but libssh's public calls. libssh exchanges keys anew once a limit
// of data is passed, which it fixes when keys come into use, but never before the login: so a limit that the login
// passes makes the second exchange begin with the server's "success".
#include "base/text.hpp"
#include "transport/libssh_session.hpp"

namespace nb::transport {
namespace {

constexpr std::uint64_t k_passed_by_any_login = 64;
constexpr std::uint64_t k_libssh_default = 0;

bool is_armed(const LibsshOptions& options) {
  return options.security != ssh::Security::encrypted && ssh::has(libssh_algorithms().ciphers, ssh::k_none);
}

Status set_rekey_limit(ssh_session session, std::uint64_t bytes) {
  if (ssh_options_set(session, SSH_OPTIONS_REKEY_DATA, &bytes) == SSH_OK) return {};
  return session_error(session, Errc::internal, "ssh rekey limit");
}

// As ranked for the first exchange.
std::vector<std::string> wanted_macs(const LibsshOptions& options) {
  if (options.demanded.macs) return ssh::as_names(*options.demanded.macs);
  const std::string configured = setting(options, "macs");
  return configured.empty() ? ssh::preferred_algorithms(options.cpus, options.measured).macs
                            : ssh::as_names(configured);
}

// A key exchange that comes later finds nothing else on the lists: a configuration may name `none` itself.
Status keep_algorithms(ssh_session session, const ssh::Negotiated& used) {
  NB_TRY(set_option_text(session, SSH_OPTIONS_CIPHERS_S_C, used.cipher_in));
  NB_TRY(set_option_text(session, SSH_OPTIONS_CIPHERS_C_S, used.cipher_out));
  if (!used.mac_in.empty()) NB_TRY(set_option_text(session, SSH_OPTIONS_HMAC_S_C, used.mac_in));
  return used.mac_out.empty() ? Status() : set_option_text(session, SSH_OPTIONS_HMAC_C_S, used.mac_out);
}

}  // namespace

Status arm_switch(ssh_session session, const LibsshOptions& options) {
  return is_armed(options) ? set_rekey_limit(session, k_passed_by_any_login) : Status();
}

Result<ssh::Security> request_switch(ssh_session session, const LibsshOptions& options, ssh::HostKeyTrust trust) {
  const ssh::Negotiated used = read_negotiated(session, options);
  NB_TRY(keep_algorithms(session, used));
  if (options.security == ssh::Security::encrypted) return ssh::Security::encrypted;
  // The keys that are in use keep the limit; those of the second exchange get libssh's own.
  if (is_armed(options)) NB_TRY(set_rekey_limit(session, k_libssh_default));
  const ssh::SwitchRequest request{options.security, trust, used, wanted_macs(options)};
  const ssh::SwitchPlan plan = ssh::plan_switch(request, libssh_algorithms());
  if (!plan.lists) {
    warn_of_security(options, plan.obstacle + "; the connection stays encrypted");
    return ssh::Security::encrypted;
  }
  NB_TRY(set_option_text(session, SSH_OPTIONS_CIPHERS_S_C, plan.lists->ciphers_in));
  NB_TRY(set_option_text(session, SSH_OPTIONS_CIPHERS_C_S, plan.lists->ciphers_out));
  NB_TRY(set_macs(session, plan.lists->macs));
  return options.security;
}

}  // namespace nb::transport
