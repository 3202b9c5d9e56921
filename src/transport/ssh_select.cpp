// SPDX-License-Identifier: Apache-2.0
// Asking `ssh -G`, and opening what it led to.
#include "transport/ssh_select.hpp"

#include <fcntl.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/fd.hpp"
#include "base/text.hpp"
#include "ssh/quote.hpp"

namespace nb::transport {
namespace {

constexpr std::size_t k_max_config_bytes = 1 << 20;
constexpr std::size_t k_max_known_hosts_bytes = 64 << 20;
constexpr std::uint16_t k_ssh_port = 22;
constexpr const char* k_system_config = "/etc/ssh/ssh_config";

// The home directory as ssh determines it: by the user database, not by $HOME.
std::string home_directory() {
  std::array<char, 16384> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(::getuid(), &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) return {};
  return entry.pw_dir;
}

// The whole file, or nothing where it cannot be read: ssh and libssh pass over such files too.
std::optional<std::string> read_file(const std::string& path, std::size_t max_bytes) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd.valid()) return std::nullopt;
  std::string text;
  std::vector<std::byte> piece(65536);
  while (text.size() < max_bytes) {
    const auto got = read_full(fd.get(), piece);
    if (!got) return std::nullopt;
    text.append(as_text(ByteView(piece).first(*got)));
    if (*got < piece.size()) break;
  }
  return text;
}

void add_destination(std::vector<std::string>& argv, const ssh::Host& host) {
  if (host.port) argv.insert(argv.end(), {"-p", std::to_string(*host.port)});
  if (host.user) argv.insert(argv.end(), {"-l", *host.user});
  argv.push_back(host.name);
}

Result<ssh::EffectiveConfig> ask_ssh(const SelectOptions& options, const std::optional<std::string>& config_file) {
  std::vector<std::string> argv{options.ssh_program, "-T", "-G"};
  if (config_file) argv.insert(argv.end(), {"-F", *config_file});
  add_destination(argv, options.host);
  NB_TRY_ASSIGN(const Captured captured, run_and_capture(argv, k_max_config_bytes, options.limit));
  if (captured.end.ended_well()) return ssh::parse_effective_config(captured.output);
  return fail(Errc::usage, "ssh -G " + escape(options.host.name) + ": " + escape(captured.end.stderr_tail));
}

std::optional<std::string> find_marker(const ssh::EffectiveConfig& config) {
  const auto name = config.find("hostname");
  const auto port = config.find("port");
  if (name == config.end() || name->second.empty()) return std::nullopt;
  std::uint64_t number = k_ssh_port;
  if (port != config.end() && !port->second.empty()) number = parse_u64(port->second.front()).value_or(k_ssh_port);
  for (const std::string& file : ssh::known_hosts_files(config, home_directory())) {
    const auto text = read_file(file, k_max_known_hosts_bytes);
    if (!text) continue;
    const auto marker = ssh::marker_for_host(*text, name->second.front(), static_cast<std::uint16_t>(number));
    if (marker) return *marker + " in " + escape(file);
  }
  return std::nullopt;
}

// Without an ssh program there is nobody to ask: libssh reads the files, and what it does not know is named.
ssh::CarrierChoice choose_without_program(const SelectOptions& options) {
  std::vector<std::string> files{home_directory() + "/.ssh/config", k_system_config};
  if (options.config_file) files = {*options.config_file};
  std::vector<std::string> ignored;
  for (const std::string& file : files) {
    const auto text = read_file(file, k_max_config_bytes);
    if (!text) continue;
    for (std::string& name : ssh::unsupported_directives(*text)) ignored.push_back(std::move(name));
  }
  ssh::CarrierChoice choice;
  if (ignored.empty()) return choice;
  std::sort(ignored.begin(), ignored.end());
  ignored.erase(std::unique(ignored.begin(), ignored.end()), ignored.end());
  for (const std::string& name : ignored) choice.reason += (choice.reason.empty() ? "" : ", ") + escape(name);
  choice.reason = "there is no ssh program; libssh ignores what the configuration says about " + choice.reason;
  return choice;
}

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// Our own options for a program that we chose: whatever the configuration says about terminals, forwarding and
// commands would disturb the session.
std::vector<std::string> chosen_program(const LibsshOptions& options) {
  std::vector<std::string> words{"ssh", "-T", "-x", "-a", "-oRemoteCommand=none", "-oClearAllForwardings=yes"};
  if (!options.prompt) words.emplace_back("-oBatchMode=yes");
  if (options.connect_timeout) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(*options.connect_timeout).count();
    words.push_back("-oConnectTimeout=" + std::to_string(std::max<long>(seconds, 1)));
  }
  for (const std::string& file : options.identity_files) words.insert(words.end(), {"-i", file});
  if (options.algorithm_rank == AlgorithmRank::below_config) return words;  // ssh has no weaker place for them
  const SshAlgorithms& algorithms = options.algorithms;
  if (algorithms.ciphers) words.push_back("-oCiphers=" + *algorithms.ciphers);
  if (algorithms.macs) words.push_back("-oMACs=" + *algorithms.macs);
  if (algorithms.kex) words.push_back("-oKexAlgorithms=" + *algorithms.kex);
  if (algorithms.host_keys) words.push_back("-oHostKeyAlgorithms=" + *algorithms.host_keys);
  return words;
}

Result<std::unique_ptr<ByteStream>> open_program(const LibsshOptions& options, const std::vector<std::string>& rsh) {
  ProcessOptions process;
  process.argv = remote_shell_argv(rsh, options.host, options.config_file, options.command);
  process.description = "ssh program: " + join({process.argv.begin(), process.argv.end() - 1});
  process.write_inactivity = options.write_inactivity;
  process.on_stderr = options.on_stderr;
  return open_process_stream(std::move(process));
}

bool program_may_do_better(const Error& error) {
  return error.code == Errc::auth || error.code == Errc::unsupported;
}

}  // namespace

Result<ssh::CarrierChoice> select_carrier(const SelectOptions& options) {
  const auto host = ask_ssh(options, options.config_file);
  if (!host && host.error().code == Errc::not_found) return choose_without_program(options);
  if (!host) return tl::make_unexpected(host.error());
  NB_TRY_ASSIGN(const auto empty, ask_ssh(options, "none"));
  ssh::CarrierChoice choice = ssh::choose_carrier(*host, empty, options.host.name);
  if (choice.carrier == ssh::Carrier::ssh_program) return choice;
  if (const auto marker = find_marker(*host)) {
    return ssh::CarrierChoice{ssh::Carrier::ssh_program, *marker + " concerns " + escape(options.host.name) +
                                                             ": using the ssh program", std::nullopt};
  }
  return choice;
}

std::vector<std::string> remote_shell_argv(const std::vector<std::string>& rsh, const ssh::Host& host,
                                           const std::optional<std::string>& config_file, const std::string& command) {
  std::vector<std::string> argv = rsh;
  const std::string& program = argv.front();
  const bool is_ssh = program == "ssh" || program.ends_with("/ssh");
  // The command's own -F is the user's last word.
  const auto names_file = [](const std::string& word) { return word.starts_with("-F"); };
  const bool has_own = std::any_of(argv.begin(), argv.end(), names_file);
  if (config_file && is_ssh && !has_own) argv.insert(argv.end(), {"-F", *config_file});
  add_destination(argv, host);
  argv.push_back(command);
  return argv;
}

Result<std::unique_ptr<ByteStream>> open_remote_stream(const RemoteOptions& options) {
  if (options.rsh) {
    NB_TRY_ASSIGN(const auto words, ssh::split_command(*options.rsh));
    return open_program(options.libssh, words);
  }
  SelectOptions select;
  select.host = options.libssh.host;
  select.config_file = options.libssh.config_file;
  NB_TRY_ASSIGN(const auto choice, select_carrier(select));
  const auto notice = [&](const std::string& text) {
    if (options.on_notice && !text.empty()) options.on_notice(text);
  };
  notice(choice.reason);
  if (choice.carrier == ssh::Carrier::ssh_program) return open_program(options.libssh, chosen_program(options.libssh));
  LibsshOptions libssh = options.libssh;
  libssh.settings = choice.settings;
  auto stream = open_libssh_stream(std::move(libssh));
  if (stream) return std::unique_ptr<ByteStream>(std::move(stream).value());
  if (!choice.settings || !program_may_do_better(stream.error())) return tl::make_unexpected(stream.error());
  notice(stream.error().message() + "; trying the ssh program");
  return open_program(options.libssh, chosen_program(options.libssh));
}

}  // namespace nb::transport
