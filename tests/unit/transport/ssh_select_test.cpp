// SPDX-License-Identifier: Apache-2.0
// Choosing a carrier with the real ssh program, and opening what was chosen.
#include "transport/ssh_select.hpp"

#include <sys/stat.h>

#include <catch2/catch.hpp>

#include "base/cpu.hpp"
#include "stream_rig.hpp"

namespace nb::test {
namespace {

using namespace std::chrono_literals;
using transport::RemoteOptions;
using transport::SelectOptions;

SelectOptions select_options(const std::string& config_file) {
  SelectOptions options;
  options.host.name = "backup-host";
  options.config_file = config_file;
  return options;
}

RemoteOptions remote_options(const std::string& config_file, std::vector<std::string>& notices) {
  RemoteOptions options;
  options.libssh = libssh_options(shared_sshd(), "echo here");
  options.libssh.config_file = config_file;
  options.on_notice = [&notices](const std::string& text) { notices.push_back(text); };
  return options;
}

std::string output_of(const RemoteOptions& options, std::string* description = nullptr) {
  auto stream = transport::open_remote_stream(options);
  INFO((stream ? std::string() : stream.error().message()));
  REQUIRE(stream.has_value());
  if (description != nullptr) *description = (*stream)->describe();
  const auto said = read_all(**stream);
  REQUIRE(said.has_value());
  CHECK((*stream)->wait_end(20s).ended_well());
  return std::string(as_text(*said));
}

}  // namespace

TEST_CASE("a plain configuration stays with libssh and hands its settings over", "[transport]") {
  const auto choice = transport::select_carrier(select_options(shared_sshd().client_config("SendEnv LANG")));
  REQUIRE(choice.has_value());
  CHECK(choice->carrier == ssh::Carrier::libssh);
  CHECK(choice->reason.empty());
  REQUIRE(choice->settings.has_value());
  CHECK(choice->settings->at("port").front() == std::to_string(shared_sshd().port()));
  CHECK(choice->settings->at("hostname").front() == "127.0.0.1");
  CHECK(choice->settings->at("identityfile").front() == shared_sshd().user_key());
}

TEST_CASE("what libssh would ignore selects the ssh program", "[transport]") {
  const auto choice = transport::select_carrier(select_options(shared_sshd().client_config("ProxyJump other")));
  REQUIRE(choice.has_value());
  CHECK(choice->carrier == ssh::Carrier::ssh_program);
  CHECK(choice->reason == "ProxyJump is set for backup-host: using the ssh program");
}

TEST_CASE("a marker in known_hosts selects the ssh program", "[transport]") {
  const TempDir dir;
  write_text_file(dir.path("known_hosts"), "@cert-authority *.example.com ssh-ed25519 AAAA\n");
  const std::string lines = "UserKnownHostsFile " + dir.path("known_hosts") + "\n";
  CHECK(transport::select_carrier(select_options(shared_sshd().bare_client_config(lines)))->carrier ==
        ssh::Carrier::libssh);
  write_text_file(dir.path("known_hosts"), "@revoked [127.0.0.1]:" + std::to_string(shared_sshd().port()) + " x y\n");
  const auto choice = transport::select_carrier(select_options(shared_sshd().bare_client_config(lines)));
  REQUIRE(choice.has_value());
  CHECK(choice->carrier == ssh::Carrier::ssh_program);
  CHECK(choice->reason.starts_with("@revoked in " + dir.path("known_hosts")));
}

TEST_CASE("a configuration that ssh refuses is a usage error with ssh's words", "[transport]") {
  const TempDir dir;
  write_text_file(dir.path("config"), "NoSuchDirective yes\n");
  const auto choice = transport::select_carrier(select_options(dir.path("config")));
  REQUIRE_FALSE(choice.has_value());
  CHECK(choice.error().code == Errc::usage);
  CHECK(choice.error().message().find("nosuchdirective") != std::string::npos);
}

TEST_CASE("without an ssh program libssh is used, and what it ignores is named", "[transport]") {
  const TempDir dir;
  write_text_file(dir.path("config"), "Host *\n Port 22\n ProxyJump other\n");
  SelectOptions options = select_options(dir.path("config"));
  options.ssh_program = "/no/such/ssh";
  const auto choice = transport::select_carrier(options);
  REQUIRE(choice.has_value());
  CHECK(choice->carrier == ssh::Carrier::libssh);
  CHECK(choice->reason == "there is no ssh program; libssh ignores what the configuration says about ProxyJump");
  CHECK_FALSE(choice->settings.has_value());
}

TEST_CASE("without an ssh program what an included file asks for is named too", "[transport]") {
  const TempDir dir;
  write_text_file(dir.path("config"), "Include = \"" + dir.path("more*") + "\" /no/such\n");
  write_text_file(dir.path("more1"), "ProxyJump other\n");
  write_text_file(dir.path("more2"), "Include " + dir.path("config") + "\nHostKeyAlias x\n");
  SelectOptions options = select_options(dir.path("config"));
  options.ssh_program = "/no/such/ssh";
  const auto choice = transport::select_carrier(options);
  REQUIRE(choice.has_value());
  CHECK(choice->reason ==
        "there is no ssh program; libssh ignores what the configuration says about HostKeyAlias, ProxyJump");
}

TEST_CASE("open_remote_stream by libssh", "[transport]") {
  std::vector<std::string> notices;
  std::string description;
  CHECK(output_of(remote_options(shared_sshd().client_config(), notices), &description) == "here\n");
  CHECK(description.starts_with("libssh backup-host:"));
  CHECK(notices.empty());
}

TEST_CASE("settings mean for libssh what they mean for ssh", "[transport]") {
  // Match originalhost, which libssh's own parser does not know.
  const TempDir dir;
  const std::string inner = read_text_file(shared_sshd().client_config());
  write_text_file(dir.path("config"),
                  "Match originalhost backup-host\n" + inner.substr(inner.find('\n')) + "\nHost *\nPort 1\n");
  std::vector<std::string> notices;
  std::string description;
  CHECK(output_of(remote_options(dir.path("config"), notices), &description) == "here\n");
  CHECK(description.starts_with("libssh "));
}

TEST_CASE("open_remote_stream by the ssh program that it chose", "[transport]") {
  std::vector<std::string> notices;
  std::string description;
  const std::string config = shared_sshd().client_config("IdentitiesOnly yes\nRemoteCommand false\nRequestTTY force");
  CHECK(output_of(remote_options(config, notices), &description) == "here\n");
  CHECK(description.starts_with("ssh program: ssh "));
  REQUIRE(notices.size() == 1);
  CHECK(notices.front() == "IdentitiesOnly is set for backup-host: using the ssh program");
}

TEST_CASE("open_remote_stream by a remote shell of the user's choice", "[transport]") {
  std::vector<std::string> notices;
  RemoteOptions options = remote_options(shared_sshd().client_config(), notices);
  options.rsh = "ssh -o 'BatchMode yes'";
  options.libssh.connect_timeout.reset();
  std::string description;
  CHECK(output_of(options, &description) == "here\n");
  // Debian's ssh has a ServerAliveInterval of its own under BatchMode.
  CHECK(description.starts_with("ssh program: ssh -o BatchMode yes -o"));
  CHECK(description.find(" -oLogVerbose=kex.c:*choose* -F ") != std::string::npos);
  CHECK(notices.empty());
  options.rsh = "'open";
  CHECK(transport::open_remote_stream(options).error().code == Errc::usage);
}

TEST_CASE("what was connected is told", "[transport]") {
  std::vector<std::string> notices;
  std::vector<transport::RemoteLink> links;
  RemoteOptions options = remote_options(shared_sshd().client_config(), notices);
  options.on_link = [&](const transport::RemoteLink& link) { links.push_back(link); };
  output_of(options);
  options.rsh = "ssh";
  output_of(options);
  REQUIRE(links.size() == 2);
  CHECK(links[0].carrier == ssh::Carrier::libssh);
  REQUIRE(links[0].negotiated.has_value());
  CHECK(links[0].negotiated->kex == "curve25519-sha256");
  CHECK(links[0].negotiated->compression == "none");
  CHECK(links[1].carrier == ssh::Carrier::ssh_program);
  CHECK(links[1].description.starts_with("ssh program: ssh "));
  REQUIRE(links[1].negotiated.has_value());
  CHECK(links[1].negotiated->host_key_type == "ssh-ed25519");
  CHECK(links[1].negotiated->compression == "none");
}

TEST_CASE("what an ssh program says of its key exchange is nobody's standard error", "[transport]") {
  std::vector<std::string> notices;
  std::vector<std::string> lines;
  std::optional<ssh::Negotiated> made;
  RemoteOptions options = remote_options(shared_sshd().client_config(), notices);
  options.libssh.command = "echo told >&2; echo here; exit 3";
  options.libssh.demanded.ciphers = "aes256-ctr";
  options.libssh.demanded.macs = "hmac-sha2-512";
  options.libssh.on_stderr = [&](std::string_view line) { lines.emplace_back(line); };
  options.on_link = [&](const transport::RemoteLink& link) { made = link.negotiated; };
  options.rsh = "ssh";
  auto stream = transport::open_remote_stream(options);
  REQUIRE(stream.has_value());
  CHECK(as_text(*read_all(**stream)) == "here\n");
  const transport::PeerEnd end = (*stream)->wait_end(20s);
  CHECK(end.exit_status == 3);
  CHECK(end.stderr_tail == "told\n");
  stream->reset();
  CHECK(lines == std::vector<std::string>{"told"});
  REQUIRE(made.has_value());
  CHECK(made->cipher_in == "aes256-ctr");
  CHECK(made->cipher_out == "aes256-ctr");
  CHECK(made->mac_out == "hmac-sha2-512");
}

TEST_CASE("demanded algorithms and the policy reach an ssh program of the user's choice", "[transport]") {
  std::vector<std::string> notices;
  std::vector<std::string> warnings;
  RemoteOptions options = remote_options(shared_sshd().client_config(), notices);
  options.rsh = "ssh";
  options.libssh.demanded.ciphers = "aes256-ctr";
  options.libssh.security = ssh::Security::integrity;
  options.libssh.on_warning = [&](const std::string& text) { warnings.push_back(text); };
  std::string description;
  CHECK(output_of(options, &description) == "here\n");
  CHECK(description.find(" -oCiphers=aes256-ctr ") != std::string::npos);
  // The machine's own ssh, which has no such option.
  CHECK(description.find("PostAuthNone") == std::string::npos);
  CHECK(warnings == std::vector<std::string>{"--ssh-security=integrity for backup-host: this ssh program has no option "
                                             "PostAuthNone (that of nssh has: -e /opt/nssh/bin/ssh); the connection "
                                             "stays encrypted"});
}

TEST_CASE("an ssh program that has PostAuthNone is given it", "[transport]") {
  const TempDir dir;
  write_text_file(dir.path("ssh"),
                  "#!/bin/sh\ncase \" $* \" in *\" -G \"*) echo 'postauthnone no'; echo 'stricthostkeychecking ask';; "
                  "*) echo \"$@\";; esac\n");
  REQUIRE(::chmod(dir.path("ssh").c_str(), 0755) == 0);
  std::vector<std::string> notices;
  RemoteOptions options = remote_options(shared_sshd().client_config(), notices);
  options.rsh = dir.path("ssh");
  options.libssh.security = ssh::Security::off;
  CHECK(output_of(options).find("-oPostAuthNone=cipher-and-mac") == 0);
}

TEST_CASE("time limits reach an ssh program of the user's choice, behind the user's words", "[transport]") {
  std::vector<std::string> notices;
  RemoteOptions options = remote_options(shared_sshd().client_config(), notices);
  options.rsh = "ssh -oConnectTimeout=7";
  options.libssh.connect_timeout = 1500ms;
  std::string description;
  CHECK(output_of(options, &description) == "here\n");
  CHECK(description.find("ssh -oConnectTimeout=7 -oConnectTimeout=2 -oServerAliveInterval=100 ") != std::string::npos);
  options = remote_options(shared_sshd().client_config("ServerAliveInterval 9"), notices);
  options.rsh = "ssh";
  options.libssh.connect_timeout.reset();
  CHECK(output_of(options, &description) == "here\n");
  CHECK(description.find("ServerAliveInterval") == std::string::npos);
  CHECK(description.find("ConnectTimeout") == std::string::npos);
}

TEST_CASE("with a second ssh behind a gateway only the first is asked, about the gateway", "[transport]") {
  const TempDir dir;
  write_text_file(dir.path("ssh"), "#!/bin/sh\ncase \" $* \" in *\" -G \"*) echo \"$@\" >>" + dir.path("asked") +
                                       "; echo 'postauthnone no'; echo 'stricthostkeychecking ask';; "
                                       "*) echo \"$@\";; esac\n");
  REQUIRE(::chmod(dir.path("ssh").c_str(), 0755) == 0);
  std::vector<std::string> notices;
  std::vector<std::string> warnings;
  RemoteOptions options = remote_options("/c", notices);
  options.rsh = dir.path("ssh") + " -p 7 gateway ssh -4";
  options.libssh.security = ssh::Security::integrity;
  options.libssh.on_warning = [&](const std::string& text) { warnings.push_back(text); };
  CHECK(output_of(options).starts_with("-oPostAuthNone=no -p 7 -F /c gateway ssh -4 "));
  CHECK(read_text_file(dir.path("asked")) == "-T -G -p 7 -F /c gateway\n");
  CHECK(warnings ==
        std::vector<std::string>{"--ssh-security=integrity for backup-host: -e leads over another host; the "
                                 "connection stays encrypted"});
}

TEST_CASE("what is no ssh gets no option of ours, and the user is told", "[transport]") {
  const TempDir dir;
  write_text_file(dir.path("shell"), "#!/bin/sh\necho \"$1\"\n");
  REQUIRE(::chmod(dir.path("shell").c_str(), 0755) == 0);
  std::vector<std::string> notices;
  std::vector<std::string> warnings;
  RemoteOptions options = remote_options(shared_sshd().client_config(), notices);
  options.rsh = dir.path("shell");
  options.libssh.demanded.macs = "hmac-sha2-256";
  options.libssh.on_warning = [&](const std::string& text) { warnings.push_back(text); };
  CHECK(output_of(options) == "backup-host\n");
  REQUIRE(warnings.size() == 1);
  CHECK(warnings.front().ends_with("is no ssh: --ssh-security, --ciphers, --macs and --kex do not reach it"));
}

TEST_CASE("the ssh program that was chosen knows of AES instructions on both ends", "[transport]") {
  std::vector<std::string> notices;
  RemoteOptions options = remote_options(shared_sshd().client_config("IdentitiesOnly yes"), notices);
  options.libssh.cpus = {k_cpu_aes, k_cpu_aes};
  std::string description;
  CHECK(output_of(options, &description) == "here\n");
  CHECK(description.find(" -oCiphers=^aes128-gcm@openssh.com") != std::string::npos);
  options.libssh.config_file = shared_sshd().client_config("IdentitiesOnly yes\nCiphers aes256-ctr");
  CHECK(output_of(options, &description) == "here\n");
  CHECK(description.find("Ciphers") == std::string::npos);
}

TEST_CASE("where libssh cannot log in, the ssh program gets a try and says why it failed", "[transport]") {
  const TempDir dir;
  make_key(dir.path("stranger"));
  std::vector<std::string> notices;
  const auto options =
      remote_options(shared_sshd().bare_client_config("IdentityFile " + dir.path("stranger") + "\nUserKnownHostsFile " +
                                                      shared_sshd().known_hosts()),
                     notices);
  auto stream = transport::open_remote_stream(options);
  REQUIRE(stream.has_value());
  CHECK(read_all(**stream)->empty());
  const transport::PeerEnd end = (*stream)->wait_end(20s);
  CHECK(end.exit_status == 255);
  CHECK(end.stderr_tail.find("Permission denied") != std::string::npos);
  REQUIRE(notices.size() == 1);
  CHECK(notices.front().ends_with("; trying the ssh program"));
}

TEST_CASE("a host key that is not known is not handed on to the ssh program", "[transport]") {
  const TempDir dir;
  std::vector<std::string> notices;
  const auto options =
      remote_options(shared_sshd().bare_client_config("IdentityFile " + shared_sshd().user_key() +
                                                      "\nUserKnownHostsFile " + dir.path("known_hosts")),
                     notices);
  const auto stream = transport::open_remote_stream(options);
  REQUIRE_FALSE(stream.has_value());
  CHECK(stream.error().code == Errc::host_key);
  CHECK(notices.empty());
}

TEST_CASE("the command line of a remote shell", "[transport]") {
  using Words = std::vector<std::string>;
  const ssh::Host full{"h", "u", static_cast<std::uint16_t>(2222)};
  CHECK(transport::remote_shell_argv({"ssh", "-x"}, full, "/c", "nbackup serve") ==
        Words{"ssh", "-x", "-F", "/c", "-p", "2222", "-l", "u", "h", "nbackup serve"});
  CHECK(transport::remote_shell_argv({"ssh", "gateway", "ssh", "-F/there"}, {"h", {}, {}}, "/c", "x") ==
        Words{"ssh", "-F", "/c", "gateway", "ssh", "-F/there", "h", "x"});
  CHECK(transport::remote_shell_argv({"/opt/wrap"}, {"h", {}, {}}, "/c", "x") == Words{"/opt/wrap", "h", "x"});
}

}  // namespace nb::test
