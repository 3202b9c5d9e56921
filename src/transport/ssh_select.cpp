// SPDX-License-Identifier: Apache-2.0
// Asking `ssh -G`, and opening what it led to.
#include "transport/ssh_select.hpp"

#include <glob.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <mutex>

#include "base/fd.hpp"
#include "base/text.hpp"
#include "ssh/kex_log.hpp"
#include "ssh/program_options.hpp"
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

void add_destination(std::vector<std::string>& argv, const ssh::Host& host) {
  if (host.port) argv.insert(argv.end(), {"-p", std::to_string(*host.port)});
  if (host.user) argv.insert(argv.end(), {"-l", *host.user});
  argv.push_back(host.name);
}

// -F for a command line that has none of its own, which is the user's last word. Before a host that it names: what
// follows that is another machine's, and so are its files.
void add_config_file(std::vector<std::string>& argv, const std::optional<std::string>& config_file) {
  auto end = argv.begin() + static_cast<std::ptrdiff_t>(ssh::host_word(argv));
  if (*(end - 1) == "--") --end;
  const auto names_file = [](const std::string& word) { return word.starts_with("-F"); };
  const bool has_own = std::any_of(argv.begin(), end, names_file);
  if (config_file && !has_own) argv.insert(end, {"-F", *config_file});
}

// What the ssh program of this command line would do for the host; for the one that it names itself, if it does. Nothing
// that it would start there is asked: that would be a login.
Result<ssh::EffectiveConfig> ask_ssh(std::vector<std::string> argv, const ssh::Host& host,
                                     const std::optional<std::string>& config_file, std::chrono::milliseconds limit) {
  const bool names_host = ssh::names_host(argv);
  if (names_host) argv.resize(ssh::host_word(argv) + 1);
  add_config_file(argv, config_file);
  argv.insert(argv.begin() + 1, {"-T", "-G"});
  if (!names_host) add_destination(argv, host);
  NB_TRY_ASSIGN(const Captured captured, run_and_capture(argv, k_max_config_bytes, limit));
  if (captured.end.ended_well()) return ssh::parse_effective_config(captured.output);
  return fail(Errc::usage, "ssh -G " + (names_host ? argv.back() : host.name) + ": " + captured.end.stderr_tail);
}

// Why ssh is needed: the first line that can concern the host and that libssh passes over or reads otherwise than ssh.
std::optional<std::string> line_for_ssh(const ssh::EffectiveConfig& config) {
  const auto name = config.find("hostname");
  const auto port = config.find("port");
  if (name == config.end() || name->second.empty()) return std::nullopt;
  std::uint64_t number = k_ssh_port;
  if (port != config.end() && !port->second.empty()) number = parse_u64(port->second.front()).value_or(k_ssh_port);
  for (const std::string& file : ssh::known_hosts_files(config, home_directory())) {
    const auto text = read_file_prefix(file, k_max_known_hosts_bytes);
    if (!text) continue;
    const auto marker = ssh::marker_for_host(*text, name->second.front(), static_cast<std::uint16_t>(number));
    if (marker) return *marker + " in " + file + " concerns " + name->second.front();
    const auto line = ssh::odd_line_for_host(*text, name->second.front(), static_cast<std::uint16_t>(number));
    if (line) return "libssh cannot read line " + std::to_string(*line) + " of " + file + " as ssh does";
  }
  return std::nullopt;
}

// ssh_config(5), Include: a relative name is one in ~/.ssh, or in /etc/ssh for the system's file.
std::vector<std::string> files_matching(std::string pattern, const std::string& from) {
  const std::string home = home_directory();
  const std::string folder = from.starts_with("/etc/ssh/") ? "/etc/ssh/" : home + "/.ssh/";
  if (pattern.starts_with("~/")) {
    pattern.replace(0, 1, home);
  } else if (!pattern.starts_with('/')) {
    pattern.insert(0, folder);
  }
  glob_t found{};
  std::vector<std::string> files;
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  return files;
}

// Of a file and of those that it includes.
void add_ignored(const std::string& file, unsigned depth, std::vector<std::string>& ignored) {
  constexpr unsigned k_deepest = 16;  // as ssh
  const auto text = read_file_prefix(file, k_max_config_bytes);
  if (!text) return;  // ssh and libssh pass over such files too
  for (std::string& name : ssh::unsupported_directives(*text)) ignored.push_back(std::move(name));
  if (depth == k_deepest) return;
  for (const std::string& pattern : ssh::included_patterns(*text)) {
    for (const std::string& each : files_matching(pattern, file)) add_ignored(each, depth + 1, ignored);
  }
}

// Without an ssh program there is nobody to ask: libssh reads the files, and what it does not know is named. Markers in
// known_hosts are its host key check's (libssh_host_key.cpp).
ssh::CarrierChoice choose_without_program(const SelectOptions& options) {
  std::vector<std::string> files{home_directory() + "/.ssh/config", k_system_config};
  if (options.config_file) files = {*options.config_file};
  std::vector<std::string> ignored;
  for (const std::string& file : files) add_ignored(file, 0, ignored);
  ssh::CarrierChoice choice;
  if (ignored.empty()) return choice;
  std::sort(ignored.begin(), ignored.end());
  ignored.erase(std::unique(ignored.begin(), ignored.end()), ignored.end());
  for (const std::string& name : ignored) choice.reason += (choice.reason.empty() ? "" : ", ") + name;
  choice.reason = "there is no ssh program; libssh ignores what the configuration says about " + choice.reason;
  return choice;
}

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

void add_connect_timeout(std::vector<std::string>& words, const LibsshOptions& options) {
  if (!options.connect_timeout) return;
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(*options.connect_timeout).count();
  words.push_back("-oConnectTimeout=" + std::to_string(std::max<long>(seconds, 1)));
}

// What runs there may be silent for long, and then nothing else shows that the line is dead: ssh gives up after three
// questions without an answer. What the configuration says of it holds.
void add_alive_interval(std::vector<std::string>& words, const ssh::EffectiveConfig& effective) {
  const std::string configured = ssh::first_value(effective, "serveraliveinterval");
  if (configured.empty() || configured == "0") words.emplace_back("-oServerAliveInterval=100");
}

// Our own options for a program that we chose: whatever the configuration says about terminals, forwarding and
// commands would disturb the session.
std::vector<std::string> chosen_program(const LibsshOptions& options) {
  std::vector<std::string> words{"ssh", "-T", "-x", "-a", "-oRemoteCommand=none", "-oClearAllForwardings=yes"};
  if (!options.prompt) words.emplace_back("-oBatchMode=yes");
  add_connect_timeout(words, options);
  for (const std::string& file : options.identity_files) words.insert(words.end(), {"-i", file});
  return words;
}

// A program to start, before host and command are added.
struct ProgramCall {
  std::vector<std::string> words;
  ssh::Security granted = ssh::Security::encrypted;  // what it was told of --ssh-security
  bool tells = false;                                // what it negotiates (ssh/kex_log.hpp)
};

// The words of `rsh` with what the command line says about algorithms and --ssh-security, which no later word undoes.
ProgramCall with_requests(std::vector<std::string> rsh, const LibsshOptions& options, ssh::EffectiveConfig effective) {
  const bool leads_on = ssh::names_host(rsh);
  const bool tells = ssh::can_log_kex(effective) && !leads_on;
  const ssh::ProgramOptions asked =
      ssh::program_options({options.security, options.demanded, std::move(effective), leads_on});
  if (!asked.obstacle.empty()) warn_of_security(options, asked.obstacle + "; the connection stays encrypted");
  rsh.insert(rsh.begin() + 1, asked.words.begin(), asked.words.end());
  ProgramCall call{std::move(rsh), asked.granted, tells};
  if (call.tells) call.words.emplace_back(ssh::k_kex_log_option);
  return call;
}

// What a program says of its key exchanges, and whom that is told.
class LinkReport {
 public:
  LinkReport(const RemoteOptions& options, ssh::Security granted, std::string description)
      : m_options(options), m_granted(granted), m_description(std::move(description)) {}

  bool take(std::string_view line) {
    const std::lock_guard lock(m_mutex);
    return m_log.take(line);
  }
  void tell() {
    const std::optional<ssh::Negotiated> made = latest();
    if (m_options.on_link) m_options.on_link({ssh::Carrier::ssh_program, m_description, made});
    const std::string shortfall = made ? ssh::shortfall(*made, m_granted) : "";
    if (!shortfall.empty()) warn_of_security(m_options.libssh, shortfall);
  }

 private:
  std::optional<ssh::Negotiated> latest() {
    const std::lock_guard lock(m_mutex);
    return m_log.latest();
  }

  const RemoteOptions m_options;
  const ssh::Security m_granted;
  const std::string m_description;
  std::mutex m_mutex;  // lines of a later key exchange come on another thread
  ssh::KexLog m_log;
};

Result<std::unique_ptr<ByteStream>> open_program(const RemoteOptions& options, const ProgramCall& call) {
  const LibsshOptions& asked = options.libssh;
  ProcessOptions process;
  process.argv = remote_shell_argv(call.words, asked.host, asked.config_file, asked.command);
  process.description = "ssh program: " + join({process.argv.begin(), process.argv.end() - 1});
  process.write_inactivity = asked.write_inactivity;
  process.on_stderr = asked.on_stderr;
  const auto report = std::make_shared<LinkReport>(options, call.granted, process.description);
  if (call.tells) process.takes_stderr = [report](std::string_view line) { return report->take(line); };
  process.on_answer = [report] { report->tell(); };
  return open_process_stream(std::move(process));
}

// The program that nbackup chose, with the user's configuration.
Result<std::unique_ptr<ByteStream>> open_chosen_program(const RemoteOptions& options,
                                                        const ssh::CarrierChoice& choice) {
  const LibsshOptions& asked = options.libssh;
  std::vector<std::string> words = chosen_program(asked);
  add_alive_interval(words, choice.effective);
  ProgramCall call = with_requests(std::move(words), asked, choice.effective);
  if (!choice.names_ciphers && !asked.demanded.ciphers) {
    const auto preferences = ssh::program_preferences(asked.cpus, asked.measured);
    call.words.insert(call.words.end(), preferences.begin(), preferences.end());
  }
  return open_program(options, call);
}

// The user's own (-e). What it cannot be told is said.
Result<std::unique_ptr<ByteStream>> open_users_program(const RemoteOptions& options, const std::string& rsh) {
  const LibsshOptions& asked = options.libssh;
  NB_TRY_ASSIGN(std::vector<std::string> words, ssh::split_command(rsh));
  const ssh::AlgorithmLists& demanded = asked.demanded;
  const bool asks = asked.security != ssh::Security::encrypted || demanded.ciphers || demanded.macs || demanded.kex;
  if (!ssh::is_ssh_program(words)) {
    if (asks && asked.on_warning) {
      asked.on_warning("'" + words.front() +
                       "' is no ssh: --ssh-security, --ciphers, --macs and --kex do not reach it");
    }
    return open_program(options, {std::move(words)});
  }
  auto effective = ask_ssh(words, asked.host, asked.config_file, SelectOptions{}.limit);
  // One that cannot be asked has no PostAuthNone.
  if (!effective && asks) return tl::make_unexpected(effective.error());
  // Behind the user's words: what they say of it holds.
  if (effective && !ssh::names_host(words)) {
    add_connect_timeout(words, asked);
    add_alive_interval(words, *effective);
  }
  return open_program(options, with_requests(std::move(words), asked, effective.value_or(ssh::EffectiveConfig())));
}

}  // namespace

Result<ssh::CarrierChoice> select_carrier(const SelectOptions& options) {
  const std::vector<std::string> program{options.ssh_program};
  const auto host = ask_ssh(program, options.host, options.config_file, options.limit);
  if (!host && host.error().code == Errc::not_found) return choose_without_program(options);
  if (!host) return tl::make_unexpected(host.error());
  NB_TRY_ASSIGN(const auto empty, ask_ssh(program, options.host, "none", options.limit));
  ssh::CarrierChoice choice = ssh::choose_carrier(*host, empty, options.host.name);
  if (choice.carrier == ssh::Carrier::ssh_program) return choice;
  if (const auto line = line_for_ssh(*host)) {
    choice.carrier = ssh::Carrier::ssh_program;
    choice.reason = *line + ": using the ssh program";
    choice.settings.reset();
  }
  return choice;
}

Result<ssh::AlgorithmNames> program_algorithms(const std::string& ssh_program) {
  const auto ask = [&](const char* what) -> Result<std::vector<std::string>> {
    NB_TRY_ASSIGN(const Captured captured,
                  run_and_capture({ssh_program, "-Q", what}, k_max_config_bytes, SelectOptions{}.limit));
    if (!captured.end.ended_well()) return fail(Errc::unsupported, ssh_program + " -Q " + what);
    std::vector<std::string> names;
    for (const std::string_view name : split(captured.output, '\n')) names.emplace_back(name);
    return names;
  };
  ssh::AlgorithmNames names;
  NB_TRY_ASSIGN(names.ciphers, ask("cipher"));
  NB_TRY_ASSIGN(names.macs, ask("mac"));
  NB_TRY_ASSIGN(names.kex, ask("kex"));
  return names;
}

std::vector<std::string> remote_shell_argv(const std::vector<std::string>& rsh, const ssh::Host& host,
                                           const std::optional<std::string>& config_file, const std::string& command) {
  std::vector<std::string> argv = rsh;
  if (ssh::is_ssh_program(argv)) add_config_file(argv, config_file);
  add_destination(argv, host);
  argv.push_back(command);
  return argv;
}

bool program_may_do_better(const Error& error) { return error.code == Errc::auth || error.code == Errc::unsupported; }

Result<std::unique_ptr<ByteStream>> open_remote_stream(const RemoteOptions& options) {
  if (options.rsh) return open_users_program(options, *options.rsh);
  SelectOptions select;
  select.host = options.libssh.host;
  select.config_file = options.libssh.config_file;
  NB_TRY_ASSIGN(const auto choice, select_carrier(select));
  const auto notice = [&](const std::string& text) {
    if (options.on_notice && !text.empty()) options.on_notice(text);
  };
  notice(choice.reason);
  const bool program = choice.carrier == ssh::Carrier::ssh_program || options.skip_libssh;
  if (program) return open_chosen_program(options, choice);
  LibsshOptions libssh = options.libssh;
  libssh.settings = choice.settings;
  auto stream = open_libssh_stream(std::move(libssh));
  if (stream) {
    if (options.on_link) options.on_link({choice.carrier, (*stream)->describe(), (*stream)->negotiated()});
    return std::unique_ptr<ByteStream>(std::move(stream).value());
  }
  if (!choice.settings || !program_may_do_better(stream.error())) return tl::make_unexpected(stream.error());
  notice(stream.error().message() + "; trying the ssh program");
  return open_chosen_program(options, choice);
}

}  // namespace nb::transport
