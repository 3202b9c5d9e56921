// SPDX-License-Identifier: Apache-2.0
#include "ssh/program_options.hpp"

#include <catch2/catch.hpp>

#include "base/cpu.hpp"

namespace nb::test {
namespace {

using ssh::Security;
using Words = std::vector<std::string>;

ssh::EffectiveConfig patched(const std::string& checking) {
  return {{"hostname", {"h"}}, {"postauthnone", {"no"}}, {"stricthostkeychecking", {checking}}};
}

}  // namespace

TEST_CASE("demanded algorithms become options of an ssh program", "[ssh]") {
  ssh::AlgorithmLists lists;
  lists.ciphers = "a,b";
  lists.macs = "c";
  lists.kex = "d";
  lists.host_keys = "e";
  const auto options = ssh::program_options({Security::encrypted, lists, {}});
  CHECK(options.words == Words{"-oCiphers=a,b", "-oMACs=c", "-oKexAlgorithms=d", "-oHostKeyAlgorithms=e"});
  CHECK(options.obstacle.empty());
  CHECK(ssh::program_options({}).words.empty());
}

TEST_CASE("a command line that has a host of its own is known", "[ssh]") {
  for (const Words& words : {Words{"ssh"},
                             {"ssh", "-p", "22"},
                             {"ssh", "-p22"},
                             {"ssh", "-vp", "22"},
                             {"ssh", "-o", "a b"},
                             {"ssh", "-oport=1", "-4", "-i", "f"},
                             {"ssh", "-T", "--"}}) {
    CHECK_FALSE(ssh::names_host(words));
  }
  for (const Words& words : {Words{"ssh", "gateway", "ssh"},
                             {"ssh", "-p", "22", "g"},
                             {"ssh", "-p22", "g", "-4"},
                             {"ssh", "-v", "--", "g"},
                             {"ssh", "-"}}) {
    CHECK(ssh::names_host(words));
  }
  CHECK(ssh::host_word({"ssh", "-p", "22", "gateway", "ssh"}) == 3);
  CHECK(ssh::host_word({"ssh", "-v", "--", "g", "ssh"}) == 3);
}

TEST_CASE("over a second host the connection stays encrypted", "[ssh]") {
  const auto options = ssh::program_options({Security::off, {}, patched("true"), true});
  CHECK(options.words == Words{"-oPostAuthNone=no"});
  CHECK(options.granted == Security::encrypted);
  CHECK(options.obstacle == "-e leads over another host");
}

TEST_CASE("PostAuthNone is asked of a program that has it, with host keys that are checked", "[ssh]") {
  for (const char* checking : {"true", "ask"}) {
    const Words words = ssh::program_options({Security::integrity, {}, patched(checking)}).words;
    CHECK(words.front() == "-oPostAuthNone=cipher");
    CHECK(std::find(words.begin(), words.end(), "-oControlPath=none") != words.end());
    CHECK(ssh::program_options({Security::off, {}, patched(checking)}).words.front() ==
          "-oPostAuthNone=cipher-and-mac");
  }
  for (const char* checking : {"false", "accept-new", ""}) {
    const auto options = ssh::program_options({Security::off, {}, patched(checking)});
    CHECK(options.words == Words{"-oPostAuthNone=no"});
    CHECK(options.obstacle == "StrictHostKeyChecking lets unknown host keys pass");
  }
  const auto stock = ssh::program_options({Security::integrity, {}, {{"stricthostkeychecking", {"true"}}}});
  CHECK(stock.words.empty());
  CHECK(stock.obstacle == "this ssh program has no option PostAuthNone (that of nssh has: -e /opt/nssh/bin/ssh)");
  CHECK(ssh::program_options({Security::encrypted, {}, patched("true")}).words == Words{"-oPostAuthNone=no"});
}

TEST_CASE("an ssh program is told of AES instructions on both ends, and of nothing else", "[ssh]") {
  CHECK(ssh::program_preferences({k_cpu_aes, k_cpu_aes}, {}) == Words{"-oCiphers=^aes128-gcm@openssh.com"});
  CHECK(ssh::program_preferences({k_cpu_aes, 0}, {}).empty());
  CHECK(ssh::program_preferences({k_cpu_aes, {}}, {}).empty());
  ssh::AlgorithmLists measured;
  measured.ciphers = "aes256-ctr,aes128-ctr";
  CHECK(ssh::program_preferences({k_cpu_aes, k_cpu_aes}, measured) == Words{"-oCiphers=^aes256-ctr"});
}

TEST_CASE("which program is an ssh", "[ssh]") {
  CHECK(ssh::is_ssh_program({"ssh", "-x"}));
  CHECK(ssh::is_ssh_program({"/opt/nssh/bin/ssh"}));
  for (const Words& words : {Words{}, {"rsh"}, {"my-ssh"}, {"sudo", "ssh"}}) CHECK_FALSE(ssh::is_ssh_program(words));
}

}  // namespace nb::test
