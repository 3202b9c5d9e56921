// SPDX-License-Identifier: Apache-2.0
// The table of ssh_config directives. Facts about libssh are those of 0.10.6 (its option and configuration sources).
#include "ssh/directives.hpp"

#include <algorithm>
#include <array>

namespace nb::ssh {
namespace {

using enum Handling;

constexpr std::string_view k_no_forwarding = "the session forwards nothing";
constexpr std::string_view k_no_terminal = "the session has no terminal";
constexpr std::string_view k_login_only = "another way to log in: where keys do not suffice, the ssh program is used";
constexpr std::string_view k_sharing = "saves a login; where keys do not suffice, the ssh program is used";
constexpr std::string_view k_names_only = "says how names are canonicalized, which canonicalizehostname turns on";
constexpr std::string_view k_own_command = "nbackup gives its own command and streams";
constexpr std::string_view k_own_timeouts = "the protocol has its own keep-alive and timeout";
constexpr std::string_view k_messages = "concerns messages of the ssh program";

constexpr auto k_rules = std::to_array<DirectiveRule>({
    {"batchmode", honoured, "no prompts"},
    {"ciphers", honoured, "SSH_OPTIONS_CIPHERS_*"},
    {"compression", honoured, "SSH_OPTIONS_COMPRESSION"},
    {"connecttimeout", honoured, "SSH_OPTIONS_TIMEOUT, unless --contimeout is given"},
    {"globalknownhostsfile", honoured_once, "SSH_OPTIONS_GLOBAL_KNOWNHOSTS takes one file"},
    {"host", honoured, "the name it was asked for"},
    {"hostkeyalgorithms", honoured, "SSH_OPTIONS_HOSTKEYS"},
    {"hostname", honoured, "SSH_OPTIONS_HOST"},
    {"identityagent", honoured_path, "SSH_OPTIONS_IDENTITY_AGENT takes a path, no 'none' and no variable"},
    {"identityfile", honoured_path, "SSH_OPTIONS_ADD_IDENTITY; libssh's %d is another directory than OpenSSH's"},
    {"kexalgorithms", honoured, "SSH_OPTIONS_KEY_EXCHANGE"},
    {"macs", honoured, "SSH_OPTIONS_HMAC_*"},
    {"port", honoured, "SSH_OPTIONS_PORT"},
    {"pubkeyacceptedalgorithms", honoured, "SSH_OPTIONS_PUBLICKEY_ACCEPTED_TYPES"},
    {"stricthostkeychecking", honoured, "nbackup decides; a changed key is refused whatever it says"},
    {"user", honoured, "SSH_OPTIONS_USER"},
    {"userknownhostsfile", honoured_once, "SSH_OPTIONS_KNOWNHOSTS takes one file"},

    {"addkeystoagent", irrelevant, "concerns later sessions"},
    {"canonicaldomains", irrelevant, k_names_only},
    {"canonicalizefallbacklocal", irrelevant, k_names_only},
    {"canonicalizemaxdots", irrelevant, k_names_only},
    {"canonicalizepermittedcnames", irrelevant, k_names_only},
    {"clearallforwardings", irrelevant, k_no_forwarding},
    {"controlmaster", irrelevant, k_sharing},
    {"controlpath", irrelevant, k_sharing},
    {"controlpersist", irrelevant, k_sharing},
    {"dynamicforward", irrelevant, k_no_forwarding},
    {"enableescapecommandline", irrelevant, k_no_terminal},
    {"enablesshkeysign", irrelevant, k_login_only},
    {"escapechar", irrelevant, k_no_terminal},
    {"exitonforwardfailure", irrelevant, k_no_forwarding},
    {"fingerprinthash", irrelevant, k_messages},
    {"forkafterauthentication", irrelevant, k_own_command},
    {"forwardagent", irrelevant, k_no_forwarding},
    {"forwardx11", irrelevant, k_no_forwarding},
    {"forwardx11timeout", irrelevant, k_no_forwarding},
    {"forwardx11trusted", irrelevant, k_no_forwarding},
    {"gatewayports", irrelevant, k_no_forwarding},
    {"gssapiauthentication", irrelevant, k_login_only},
    {"gssapiclientidentity", irrelevant, k_login_only},
    {"gssapidelegatecredentials", irrelevant, k_login_only},
    {"gssapikexalgorithms", irrelevant, "gssapikeyexchange turns it on"},
    {"gssapirenewalforcesrekey", irrelevant, k_login_only},
    {"gssapiserveridentity", irrelevant, k_login_only},
    {"gssapitrustdns", irrelevant, k_login_only},
    {"hashknownhosts", irrelevant, "concerns only how an accepted key is written down"},
    {"hostbasedacceptedalgorithms", irrelevant, k_login_only},
    {"hostbasedauthentication", irrelevant, k_login_only},
    {"kbdinteractiveauthentication", irrelevant, k_login_only},
    {"kbdinteractivedevices", irrelevant, k_login_only},
    {"localforward", irrelevant, k_no_forwarding},
    {"loglevel", irrelevant, k_messages},
    {"logverbose", irrelevant, k_messages},
    {"numberofpasswordprompts", irrelevant, k_login_only},
    {"obscurekeystroketiming", irrelevant, k_no_terminal},
    {"passwordauthentication", irrelevant, k_login_only},
    {"permitremoteopen", irrelevant, k_no_forwarding},
    {"remotecommand", irrelevant, k_own_command},
    {"remoteforward", irrelevant, k_no_forwarding},
    {"requesttty", irrelevant, k_no_terminal},
    {"sendenv", irrelevant, "the remote end takes nothing from its caller's environment"},
    {"serveralivecountmax", irrelevant, k_own_timeouts},
    {"serveraliveinterval", irrelevant, k_own_timeouts},
    {"sessiontype", irrelevant, k_own_command},
    {"stdinnull", irrelevant, k_own_command},
    {"streamlocalbindmask", irrelevant, k_no_forwarding},
    {"streamlocalbindunlink", irrelevant, k_no_forwarding},
    {"syslogfacility", irrelevant, k_messages},
    {"tcpkeepalive", irrelevant, k_own_timeouts},
    {"tunnel", irrelevant, k_no_forwarding},
    {"tunneldevice", irrelevant, k_no_forwarding},
    {"updatehostkeys", irrelevant, "learning rotated host keys is left to the user's own logins"},
    {"visualhostkey", irrelevant, k_messages},
    {"xauthlocation", irrelevant, k_no_forwarding},
});

}  // namespace

std::span<const DirectiveRule> directive_rules() { return k_rules; }

const DirectiveRule* find_directive(std::string_view name) {
  const auto* found = std::find_if(k_rules.begin(), k_rules.end(), [&](const auto& rule) { return rule.name == name; });
  return found == k_rules.end() ? nullptr : found;
}

}  // namespace nb::ssh
