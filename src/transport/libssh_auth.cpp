// SPDX-License-Identifier: Apache-2.0
// Logging in with keys: the agent's, then the key files that the configuration names or that have OpenSSH's default
// names. Passwords and other questions are the ssh program's business.
#include <libssh/callbacks.h>

#include <cstring>

#include "base/text.hpp"
#include "transport/libssh_session.hpp"

namespace nb::transport {
namespace {

// libssh asks here for a key file's passphrase; it does not say which file it is.
int ask_passphrase(const char* /*prompt*/, char* buffer, std::size_t size, int /*echo*/, int /*verify*/,
                   void* userdata) {
  const auto* options = static_cast<const LibsshOptions*>(userdata);
  auto answer = options->prompt(PromptKind::secret, "Passphrase of the key for " + escape(options->host.name) + ": ");
  if (!answer || size == 0 || answer->size() >= size) return -1;
  std::memcpy(buffer, answer->c_str(), answer->size() + 1);
  explicit_bzero(answer->data(), answer->size());
  return 0;
}

std::string offered_methods(ssh_session session) {
  const int methods = ssh_userauth_list(session, nullptr);
  struct Name {
    int bit;
    const char* name;
  };
  std::string text;
  for (const Name& method :
       {Name{SSH_AUTH_METHOD_PUBLICKEY, "publickey"}, Name{SSH_AUTH_METHOD_PASSWORD, "password"},
        Name{SSH_AUTH_METHOD_INTERACTIVE, "keyboard-interactive"}, Name{SSH_AUTH_METHOD_HOSTBASED, "hostbased"},
        Name{SSH_AUTH_METHOD_GSSAPI_MIC, "gssapi-with-mic"}}) {
    if ((methods & method.bit) != 0) text += (text.empty() ? "" : ",") + std::string(method.name);
  }
  return text.empty() ? "nothing that libssh knows" : text;
}

std::string login_name(ssh_session session) {
  char* value = nullptr;
  if (ssh_options_get(session, SSH_OPTIONS_USER, &value) != SSH_OK || value == nullptr) return "?";
  std::string name(value);
  ssh_string_free_char(value);
  return name;
}

tl::unexpected<Error> auth_error(ssh_session session, const LibsshOptions& options, int rc) {
  const std::string where = "log in to " + host_and_port(session, options) + " as " + login_name(session);
  if (ssh_is_connected(session) == 0) return session_error(session, Errc::connect, where);
  if (rc == SSH_AUTH_AGAIN) return fail(Errc::connect_timeout, where + ": no answer");
  if (rc == SSH_AUTH_PARTIAL) {
    return fail(Errc::auth, where + ": the server wants more than a key (" + offered_methods(session) + ")");
  }
  // A key file that libssh cannot read (a security key's).
  if (rc != SSH_AUTH_DENIED) return session_error(session, Errc::auth, where);
  return fail(Errc::auth, where + ": the server took no key of the agent or of the key files (it offers " +
                              offered_methods(session) + "). See that 'ssh " + options.host.name +
                              " true' works without a question");
}

// Lets libssh ask for passphrases while it lives. libssh keeps a pointer to the structure and takes no null; so one
// without callbacks takes its place afterwards.
class PassphraseScope {
 public:
  PassphraseScope(ssh_session session, const LibsshOptions& options) : m_session(session) {
    ssh_callbacks_init(&m_callbacks);
    m_callbacks.userdata = const_cast<LibsshOptions*>(&options);  // handed back as const
    if (may_prompt(options)) m_callbacks.auth_function = ask_passphrase;
    ssh_set_callbacks(session, &m_callbacks);
  }
  ~PassphraseScope() {
    static ssh_callbacks_struct none = [] {
      ssh_callbacks_struct empty{};
      ssh_callbacks_init(&empty);
      return empty;
    }();
    ssh_set_callbacks(m_session, &none);
  }
  PassphraseScope(const PassphraseScope&) = delete;
  PassphraseScope& operator=(const PassphraseScope&) = delete;

 private:
  ssh_session m_session;
  ssh_callbacks_struct m_callbacks{};
};

}  // namespace

Status authenticate(ssh_session session, const LibsshOptions& options) {
  const PassphraseScope scope(session, options);
  // Tells what the server offers; succeeds where the user name alone lets in.
  int rc = ssh_userauth_none(session, nullptr);
  if (rc == SSH_AUTH_SUCCESS) return {};
  const bool keys_offered = (ssh_userauth_list(session, nullptr) & static_cast<int>(SSH_AUTH_METHOD_PUBLICKEY)) != 0;
  if (rc != SSH_AUTH_ERROR && keys_offered) rc = ssh_userauth_publickey_auto(session, nullptr, nullptr);
  if (rc == SSH_AUTH_SUCCESS) return {};
  return auth_error(session, options, rc);
}

}  // namespace nb::transport
