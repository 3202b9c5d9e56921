// SPDX-License-Identifier: Apache-2.0
#include "cli/connect.hpp"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "base/cpu.hpp"
#include "base/text.hpp"
#include "cache/client_hosts.hpp"
#include "cli/peer_watch.hpp"
#include "cli/prompt.hpp"
#include "cli/terminal.hpp"
#include "session/interrupt.hpp"
#include "ssh/quote.hpp"
#include "transport/abandonable_open.hpp"
#include "transport/process_stream.hpp"
#include "transport/throttle.hpp"

namespace nb::cli {
namespace {

using Stream = std::unique_ptr<transport::ByteStream>;

std::vector<std::string> serve_words(const Settings& settings, FarRights rights) {
  std::vector<std::string> words{"serve"};
  if (rights == FarRights::read_only) words.emplace_back("--read-only");
  if (settings.root) words.push_back("--root=" + *settings.root);
  if (settings.bytes_per_second != 0) words.push_back(fmt::format("--bwlimit={}B", settings.bytes_per_second));
  if (settings.timeout != k_default_timeout) words.push_back(fmt::format("--timeout={}", settings.timeout.count()));
  return words;
}

std::optional<std::string> ssh_config_file(const Settings& settings) {
  if (settings.ssh_config) return settings.ssh_config;
  const char* named = std::getenv("NBACKUP_SSH_CONFIG");
  return named == nullptr || *named == '\0' ? std::nullopt : std::optional<std::string>(named);
}

Result<Stream> open_local(const Settings& settings, FarRights rights, const ConnectionMessages& messages) {
  transport::ProcessOptions options;
  // This very program, even if the file on disk has been replaced in the meantime.
  options.argv = serve_words(settings, rights);
  options.argv.insert(options.argv.begin(), "/proc/self/exe");
  options.write_inactivity = settings.timeout;
  options.on_stderr = messages.on_remote_line;
  NB_TRY_ASSIGN(Stream stream, transport::open_process_stream(std::move(options)));
  return watch_peer(std::move(stream), {"this machine", "nbackup serve", FarEnd::local_process});
}

// The words a description begins with are the carrier's name (transport/byte_stream.hpp).
FarEnd far_end_of(const transport::ByteStream& stream) {
  return stream.describe().starts_with("libssh") ? FarEnd::libssh : FarEnd::shell_program;
}

}  // namespace

transport::RemoteOptions remote_options(const Settings& settings, const FarHost& host, const std::string& command,
                                        const ConnectionMessages& messages) {
  transport::RemoteOptions options;
  options.libssh.host = host.address;
  options.libssh.command = command;
  options.libssh.config_file = ssh_config_file(settings);
  // 0 is as if it was not said.
  const auto limit = settings.connect_timeout.value_or(std::chrono::seconds(0));
  if (limit.count() != 0) options.libssh.connect_timeout = limit;
  options.libssh.write_inactivity = settings.timeout;
  options.libssh.cpus = {cpu_flags(), host.cpu_flags};
  options.libssh.measured = host.measured;
  options.libssh.demanded = settings.algorithms;
  options.libssh.security = settings.security;
  options.libssh.on_warning = messages.on_warning;
  options.libssh.on_stderr = messages.on_remote_line;
  options.libssh.prompt = terminal_prompt();
  options.rsh = settings.rsh;
  options.on_notice = messages.on_notice;
  options.on_link = messages.on_link;
  return options;
}

FarHost remembered_host(const ssh::Host& address, const std::shared_ptr<cache::Store>& memory) {
  cache::ClientHosts hosts(memory);
  const std::string key = host_key(address);
  const auto known = hosts.find(key);
  return {address, known ? std::optional(known->cpu_flags) : std::nullopt, hosts.measured_order(key)};
}

ConnectionMessages printed_messages() {
  const auto print = [](const std::string& text) { print_message(escape(text)); };
  return {print, print, [](const transport::RemoteLink&) {},
          [](std::string_view line) { print_message("remote: " + escape(line)); }};
}

std::string remote_command_line(const Settings& settings, const std::vector<std::string>& words) {
  const std::string quoted = ssh::shell_command(words);
  if (settings.remote_path) return *settings.remote_path + " " + quoted;
  return fmt::format("/bin/sh -c 'PATH=\"{}\"; export PATH; exec nbackup \"$@\"' nbackup {}", k_far_path, quoted);
}

std::string serve_command(const Settings& settings, FarRights rights) {
  return remote_command_line(settings, serve_words(settings, rights));
}

Result<Stream> open_remote(const Settings& settings, const FarHost& host, const std::string& command,
                           const ConnectionMessages& messages) {
  if (settings.security == ssh::Security::off) {
    messages.on_warning("--ssh-security=off: whoever can change packets on the way to " + host.address.name +
                        " can change what is copied and run commands there as you");
  }
  // After a signal the run ends as every other does, with all that is told of its end.
  NB_TRY_ASSIGN(Stream stream, transport::open_unless_given_up(remote_options(settings, host, command, messages),
                                                               session::interrupt_requested));
  const FarEnd far_end = far_end_of(*stream);
  return watch_peer(std::move(stream), {host.address.name, settings.remote_path.value_or("nbackup"), far_end});
}

session::Connector make_connector(const Settings& settings, const std::optional<FarHost>& host, FarRights rights,
                                  ConnectionMessages messages, Clock& clock) {
  return [settings, host, rights, messages = std::move(messages), &clock]() -> Result<Stream> {
    auto opened = host ? open_remote(settings, *host, serve_command(settings, rights), messages)
                       : open_local(settings, rights, messages);
    if (!opened) return opened;
    return transport::make_throttle(std::move(*opened), {settings.bytes_per_second}, clock);
  };
}

std::string client_name() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
  std::array<char, 16384> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  const bool known = ::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr;
  return (known ? std::string(entry.pw_name) : std::to_string(::geteuid())) + "@" + host.data();
}

}  // namespace nb::cli
