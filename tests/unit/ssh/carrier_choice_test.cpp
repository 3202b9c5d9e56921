// SPDX-License-Identifier: Apache-2.0
#include "ssh/carrier_choice.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "ssh/directives.hpp"

namespace nb::ssh {
namespace {

// What Debian's OpenSSH 9.2 prints for an empty configuration, shortened.
constexpr const char* k_empty =
    "host rpi4\nuser me\nhostname rpi4\nport 22\naddressfamily any\nbatchmode no\ncheckhostip no\n"
    "gssapiauthentication no\nhashknownhosts no\nstricthostkeychecking ask\nupdatehostkeys true\n"
    "identityfile ~/.ssh/id_rsa\nidentityfile ~/.ssh/id_ed25519\n"
    "canonicalizePermittedcnames none\n"
    "globalknownhostsfile /etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2\n"
    "userknownhostsfile /home/me/.ssh/known_hosts /home/me/.ssh/known_hosts2\n";

std::string replaced(std::string text, const std::string& line, const std::string& by) {
  const std::size_t at = text.find(line);
  REQUIRE(at != std::string::npos);
  return text.replace(at, line.size(), by);
}

CarrierChoice choose(const std::string& host) {
  return choose_carrier(parse_effective_config(host), parse_effective_config(k_empty), "rpi4");
}

}  // namespace

TEST_CASE("ssh -G is read line by line", "[ssh]") {
  const EffectiveConfig config = parse_effective_config("A x y\nb\n\nidentityfile 1\r\nIdentityFile 2\n");
  CHECK(config.at("a") == std::vector<std::string>{"x y"});
  CHECK(config.at("b") == std::vector<std::string>{""});
  CHECK(config.at("identityfile") == std::vector<std::string>{"1", "2"});
  CHECK(config.size() == 3);
}

TEST_CASE("an empty configuration and Debian's own stay with libssh", "[ssh]") {
  CHECK(choose(k_empty).carrier == Carrier::libssh);
  std::string debian = replaced(k_empty, "gssapiauthentication no", "gssapiauthentication yes");
  debian = replaced(debian, "hashknownhosts no", "hashknownhosts yes") + "sendenv LANG\nsendenv LC_*\n";
  const CarrierChoice choice = choose(debian);
  CHECK(choice.carrier == Carrier::libssh);
  CHECK(choice.reason.empty());
  CHECK(choice.settings == EffectiveConfig{{"hostname", {"rpi4"}}, {"port", {"22"}}, {"user", {"me"}}});
}

TEST_CASE("honoured directives become settings", "[ssh]") {
  std::string text = replaced(k_empty, "hostname rpi4", "hostname 10.0.0.4");
  text = replaced(text, "port 22", "port 2222");
  text = replaced(text, "identityfile ~/.ssh/id_rsa\nidentityfile ~/.ssh/id_ed25519\n", "identityfile ~/.ssh/pi\n");
  text = replaced(text, "stricthostkeychecking ask", "stricthostkeychecking accept-new");
  text = replaced(text, "/home/me/.ssh/known_hosts /home/me/.ssh/known_hosts2", "/home/me/pi_hosts");
  text = replaced(text, "updatehostkeys true", "updatehostkeys false");
  const CarrierChoice choice = choose(text);
  CHECK(choice.carrier == Carrier::libssh);
  CHECK(choice.settings == EffectiveConfig{{"hostname", {"10.0.0.4"}},
                                           {"port", {"2222"}},
                                           {"user", {"me"}},
                                           {"identityfile", {"~/.ssh/pi"}},
                                           {"stricthostkeychecking", {"accept-new"}},
                                           {"userknownhostsfile", {"/home/me/pi_hosts"}}});
}

TEST_CASE("what libssh would ignore selects the program, and all of it is named", "[ssh]") {
  const CarrierChoice one = choose(std::string(k_empty) + "proxyjump gate\n");
  CHECK(one.carrier == Carrier::ssh_program);
  CHECK(one.reason == "ProxyJump is set for rpi4: using the ssh program");
  CHECK_FALSE(one.settings.has_value());
  const CarrierChoice two =
      choose(replaced(k_empty, "addressfamily any", "addressfamily inet6") + "somethingnew yes\n");
  CHECK(two.reason == "AddressFamily, somethingnew are set for rpi4: using the ssh program");
}

TEST_CASE("a directive that only the empty configuration has counts as different", "[ssh]") {
  CHECK(choose(replaced(k_empty, "checkhostip no\n", "")).carrier == Carrier::ssh_program);
}

TEST_CASE("values that libssh would read differently select the program", "[ssh]") {
  const std::string files = "/home/me/.ssh/known_hosts /home/me/.ssh/known_hosts2";
  for (const char* value : {"/a /b", "none", "/a/%h", "relative"}) {
    CAPTURE(value);
    CHECK(choose(replaced(k_empty, files, value)).carrier == Carrier::ssh_program);
  }
  for (const char* value : {"identityfile none", "identityfile %d/.ssh/x", "identityfile ${HOME}/x",
                            "identityagent none", "identityagent SSH_AUTH_SOCK", "identityagent $SOCK"}) {
    CAPTURE(value);
    CHECK(choose(std::string(k_empty) + value + "\n").carrier == Carrier::ssh_program);
  }
  CHECK(choose(std::string(k_empty) + "identityagent ~/agent.sock\n").carrier == Carrier::libssh);
}

TEST_CASE("the table of directives is in lower case, without doubles, with a reason each", "[ssh]") {
  std::vector<std::string_view> names;
  for (const DirectiveRule& rule : directive_rules()) {
    names.push_back(rule.name);
    CHECK_FALSE(rule.why.empty());
    CHECK(std::none_of(rule.name.begin(), rule.name.end(), [](char c) { return c >= 'A' && c <= 'Z'; }));
  }
  std::sort(names.begin(), names.end());
  CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
  // The ones that would be dangerous to pass over.
  for (const char* name : {"proxyjump", "proxycommand", "hostkeyalias", "knownhostscommand", "verifyhostkeydns",
                           "revokedhostkeys", "identitiesonly", "setenv", "bindaddress", "checkhostip"}) {
    CAPTURE(name);
    CHECK(find_directive(name) == nullptr);
  }
}

TEST_CASE("directives in a configuration file that libssh does not know", "[ssh]") {
  CHECK(unsupported_directives("# ProxyJump x\nHost a\n  HostName=b\n\tproxyjump c\n Match all\nHostKeyAlias=d\n"
                               "ProxyJump e\nInclude f\n") == std::vector<std::string>{"HostKeyAlias", "ProxyJump"});
}

TEST_CASE("files that a configuration includes", "[ssh]") {
  CHECK(included_patterns("# Include a\nInclude b c/*  # d\nHost x\n\tinclude=\"e\"\nIncluded f\nInclude\n") ==
        std::vector<std::string>{"b", "c/*", "e"});
}

TEST_CASE("a key that is marked as revoked", "[ssh]") {
  CHECK(is_revoked("h ssh-rsa AAAA\n @revoked\t* ssh-rsa  AAAA comment\n", "AAAA"));
  CHECK(is_revoked("@revoked |1|abc=|def= ssh-rsa AAAA", "AAAA"));
  CHECK_FALSE(is_revoked("h ssh-rsa AAAA\n#@revoked * ssh-rsa AAAA\n@cert-authority * ssh-rsa AAAA\n", "AAAA"));
  CHECK_FALSE(is_revoked("@revoked * ssh-rsa AAAB\n@revoked AAAA\n@revoked", "AAAA"));
}

TEST_CASE("known_hosts files of a configuration", "[ssh]") {
  const EffectiveConfig config = parse_effective_config("userknownhostsfile ~/a /b\nglobalknownhostsfile /c none\n");
  CHECK(known_hosts_files(config, "/home/me") == std::vector<std::string>{"/home/me/a", "/b", "/c"});
}

TEST_CASE("markers in known_hosts", "[ssh]") {
  const auto marker = [](const char* text, std::uint16_t port = 22) {
    return marker_for_host(text, "Pi.Example.com", port);
  };
  CHECK_FALSE(marker("pi.example.com ssh-ed25519 AAAA\n# @revoked *\n").has_value());
  CHECK(marker("x y z\n@cert-authority *.example.com ssh-rsa AAAA\n") == "@cert-authority");
  CHECK(marker("@revoked\tpi.EXAMPLE.com ssh-rsa AAAA") == "@revoked");
  CHECK(marker("  @revoked a,p?.example.com k").has_value());
  CHECK_FALSE(marker("@revoked *.example.com,!pi.* k").has_value());
  CHECK_FALSE(marker("@revoked *.example.org k").has_value());
  CHECK(marker("@revoked |1|abc=|def= k").has_value());
  CHECK_FALSE(marker("@revoked pi.example.com k", 2222).has_value());
  CHECK(marker("@revoked [pi.example.com]:2222 k", 2222).has_value());
  CHECK(marker("@revoked * k", 2222).has_value());
}

TEST_CASE("lines of known_hosts that libssh reads otherwise", "[ssh]") {
  const std::string key = "AAAAC3NzaC1lZDI1NTE5AAAAIGxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
  const std::string good = "pi ssh-ed25519 " + key + " a comment\n";
  const auto odd = [](const std::string& text) { return odd_line_for_host(text, "pi", 22); };
  CHECK_FALSE(odd(good));
  CHECK_FALSE(odd("# c\n\n" + good + "other ssh-dss AAAA\nother\tssh-rsa AAAA\n@revoked pi x\n"));
  CHECK(odd(good + "pi ssh-dss AAAAB3NzaC1kc3MA\n") == 2);
  CHECK(odd("\npi\tssh-ed25519 " + key + "\n") == 2);
  CHECK(odd("pi ssh-ed25519 " + key + "\tcomment\n") == 1);
  CHECK(odd("pi ssh-ed25519 " + key + "\r\n") == 1);
  CHECK(odd("pi ssh-ed25519 " + key.substr(0, 30) + "-" + key.substr(31)) == 1);
  CHECK(odd("pi ssh-ed25519 " + key.substr(0, 31)) == 1);
  CHECK(odd("pi 1024 35 12345678") == 1);
  CHECK(odd("|1|abc=|def= sk-ssh-ed25519@openssh.com AAAA") == 1);
  CHECK(odd("*,!pi ssh-ed25519 " + key) == 1);
  CHECK_FALSE(odd("*.corp,!db.corp ssh-ed25519 " + key));
  CHECK(odd("other ssh-rsa " + std::string(9000, 'A')) == 1);
}

}  // namespace nb::ssh
