// SPDX-License-Identifier: Apache-2.0
// What the linked libssh can do. It has no call that tells; but it refuses a list in which it knows no name, so each
// name is tried on a session that goes nowhere.
#include <mutex>

#include "transport/libssh_session.hpp"

namespace nb::transport {
namespace {

std::vector<std::string> known_to(ssh_session session, ssh_options_e option, std::vector<std::string> names) {
  std::erase_if(names,
                [&](const std::string& name) { return ssh_options_set(session, option, name.c_str()) != SSH_OK; });
  return names;
}

ssh::AlgorithmNames ask_libssh() {
  const std::function<void(std::string_view)> nobody;
  const LogScope silent(nobody, 0);
  const SessionPtr session(init_libssh() ? ssh_new() : nullptr);
  if (!session) return {};
  ssh::AlgorithmNames names = ssh::preferred_algorithms({});
  names.ciphers.emplace_back(ssh::k_none);
  names.macs.emplace_back(ssh::k_none);
  return {known_to(session.get(), SSH_OPTIONS_CIPHERS_C_S, names.ciphers),
          known_to(session.get(), SSH_OPTIONS_HMAC_C_S, names.macs),
          known_to(session.get(), SSH_OPTIONS_KEY_EXCHANGE, names.kex)};
}

}  // namespace

Status init_libssh() {
  static std::once_flag once;
  static int result = SSH_ERROR;
  std::call_once(once, [] { result = ssh_init(); });
  if (result != SSH_OK) return fail(Errc::internal, "libssh does not initialize");
  return {};
}

const ssh::AlgorithmNames& libssh_algorithms() {
  static const ssh::AlgorithmNames k_names = ask_libssh();
  return k_names;
}

}  // namespace nb::transport
