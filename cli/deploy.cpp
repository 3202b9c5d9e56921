// SPDX-License-Identifier: Apache-2.0
// deploy: puts this nbackup, or another build of it, and nssh on a host that has no more than a login and a shell.
// Asks what is there, tells what will be done, does it. What is there stays whole until the new is complete.
#include <unistd.h>

#include <fmt/format.h>

#include <atomic>
#include <filesystem>

#include "base/text.hpp"
#include "base/version.hpp"
#include "cli/commands.hpp"
#include "cli/connect.hpp"
#include "cli/deploy_dialogue.hpp"
#include "cli/deploy_package.hpp"
#include "cli/deploy_plan.hpp"
#include "cli/terminal.hpp"
#include "hash/sha256.hpp"
#include "transport/process_stream.hpp"

namespace nb::cli {
namespace {

constexpr const char* k_self = "/proc/self/exe";  // this very program, even if its file has been replaced

struct Program {
  ProgramOffer offer;
  Bytes content;
};

Result<Program> load_program(const std::string& path, const std::string& shown, const std::string& version) {
  Program program;
  NB_TRY_ASSIGN(program.content, read_whole_file(path));
  const auto machine = machine_of_program(program.content);
  if (!machine) return wrap(machine.error(), shown);
  program.offer = {shown, *machine, program.content.size(), hash::sha256_hex(program.content), version};
  return program;
}

Result<Program> load_self() { return load_program(k_self, "this nbackup", std::string("nbackup ") + k_version); }

// This one; else, for another machine, the one beside it: nbackup-aarch64.
Result<Program> choose_program(const HostFacts& facts) {
  auto self = load_self();
  const auto wanted = machine_of_host(facts.machine, facts.bits);
  if (!self || !wanted || *wanted == self->offer.machine) return self;
  std::error_code error;
  const std::string beside = std::filesystem::read_symlink(k_self, error).string() + "-" + wanted->name();
  return std::filesystem::exists(beside, error) ? load_program(beside, beside, "") : self;
}

Result<std::optional<PackageOffer>> choose_package(const Settings& settings, const HostFacts& facts) {
  if (!settings.nssh && !settings.nssh_package) return std::nullopt;
  std::string file = settings.nssh_package.value_or("");
  if (file.empty() && !facts.package_architecture.empty()) {
    NB_TRY_ASSIGN(file, find_nssh_package(facts.package_architecture));
  }
  if (file.empty()) return fail(Errc::unsupported, "no dpkg there: run nssh/build on that host");
  NB_TRY_ASSIGN(PackageOffer offer, describe_nssh_package(file, facts.nssh_version));
  return std::optional(std::move(offer));
}

// The Debian packages that have these libraries here, as far as dpkg knows.
std::string packages_of(const std::vector<std::string>& libraries) {
  std::string packages;
  for (const std::string& library : libraries) {
    const auto found =
        transport::run_and_capture({"dpkg-query", "--search", "*/" + library}, 1 << 20, std::chrono::seconds(60));
    if (!found || !found->end.ended_well()) continue;
    packages += " " + found->output.substr(0, found->output.find_first_of(":\n"));
  }
  return packages;
}

Error does_not_run(const std::vector<std::string>& missing) {
  if (missing.empty()) return {Errc::unsupported, 0, "the program does not run there; nothing was changed"};
  std::string text = "libraries are missing there:";
  for (const std::string& library : missing) text += " " + library;
  if (const std::string packages = packages_of(missing); !packages.empty()) {
    text += "; on Debian: sudo apt-get install" + packages;
  }
  return {Errc::unsupported, 0, std::move(text)};
}

constexpr std::chrono::seconds k_first_answer{30};  // a login may be slow, even where nobody is asked for anything

class Deployment {
 public:
  // `named`: the program that the user named, if any.
  Deployment(const Settings& settings, ssh::Host host, std::optional<Program> named)
      : m_settings(settings),
        m_host(std::move(host)),
        m_named(std::move(named)),
        m_place(settings.sudo ? DeployPlace::system : DeployPlace::user) {}

  Status run() {
    NB_TRY_ASSIGN(const auto stream, open());
    const bool may_ask = ::isatty(STDIN_FILENO) == 1;
    const std::chrono::seconds timeout = m_settings.timeout;
    const bool is_longer = timeout == std::chrono::seconds(0) || timeout > k_first_answer;  // 0: for ever
    DeployDialogue dialogue(*stream, timeout, may_ask && is_longer ? timeout : k_first_answer);
    NB_TRY_ASSIGN(const auto lines, dialogue.facts());
    NB_TRY_ASSIGN(m_facts, parse_host_facts(lines));
    m_show_remote_lines = true;
    NB_TRY_ASSIGN(m_program, m_named ? Result<Program>(std::move(*m_named)) : choose_program(m_facts));
    NB_TRY_ASSIGN(auto package, choose_package(m_settings, m_facts));
    const DeployRequest request{m_host.name, m_place, m_settings.force, m_program.offer, std::move(package)};
    NB_TRY_ASSIGN(const DeployPlan plan, make_deploy_plan(m_facts, request));
    for (const std::string& line : plan.lines) tell(line);
    NB_TRY(carry_out(plan, request, dialogue));
    dialogue.end();
    tell_about_use(dialogue, plan, request);
    return {};
  }

 private:
  void tell(const std::string& text) const {
    if (!m_settings.quiet) std::printf("nbackup: %s: %s\n", escape(m_host.name).c_str(), escape(text).c_str());
    std::fflush(stdout);
  }

  Result<std::unique_ptr<transport::ByteStream>> open() {
    ConnectionMessages messages = printed_messages();
    // What is said before there is a shell belongs to the error, if there is one.
    messages.on_remote_line = [this](std::string_view line) {
      if (m_show_remote_lines) print_message("remote: " + escape(line));
    };
    return open_remote(m_settings, {m_host, std::nullopt, {}}, deploy_command(m_place), messages);
  }

  Status carry_out(const DeployPlan& plan, const DeployRequest& request, DeployDialogue& dialogue) {
    m_found = m_facts.found;
    if (m_settings.has(wire::k_flag_dry_run) || (!plan.send_program && !plan.send_package)) return {};
    NB_TRY(dialogue.begin_receiving());
    if (plan.send_program) NB_TRY(put_program(dialogue));
    if (plan.send_package) NB_TRY(put_package(dialogue, *request.package));
    return {};
  }

  Status put_program(DeployDialogue& dialogue) {
    NB_TRY_ASSIGN(const ProgramTrial trial, dialogue.send_program(m_program.content, m_program.offer.sum));
    if (!trial.runs) return tl::make_unexpected(does_not_run(trial.missing_libraries));
    if (!speaks_our_protocol(trial.protocol)) {
      return fail(Errc::protocol_version, fmt::format("{}, {}; nothing was changed", trial.version, trial.protocol));
    }
    NB_TRY(check_not_older(trial.version, m_facts.target_version, m_settings.force));
    NB_TRY_ASSIGN(m_found, dialogue.keep_program());
    tell("done: " + trial.version + " is at " + m_facts.directory + "/nbackup");
    return {};
  }

  Status put_package(DeployDialogue& dialogue, const PackageOffer& package) {
    NB_TRY_ASSIGN(const Bytes content, read_whole_file(package.file));
    NB_TRY(dialogue.send_package(content, hash::sha256_hex(content)));
    tell("done: nssh " + package.version + " is installed");
    return {};
  }

  void tell_about_use(const DeployDialogue& dialogue, const DeployPlan& plan, const DeployRequest& request) const {
    if (dialogue.login_prints()) {
      print_message(escape(m_host.name) + ": its login prints text, over which nbackup's protocol breaks: 'ssh " +
                    escape(m_host.name) + " true' must print nothing");
    }
    if (m_settings.has(wire::k_flag_dry_run)) return tell("dry run: nothing was changed");
    const bool is_at_target = plan.send_program || m_facts.target_sum == m_program.offer.sum;
    const std::string note = is_at_target ? path_note(m_facts, m_place, m_found) : "";
    if (!note.empty()) tell(note);
    if (!request.package) return;
    tell("start nssh there (port 2222; the system's sshd stays as it is): sudo systemctl enable --now nssh");
    tell(
        "--ssh-security=integrity then sends without encryption, readable and not forgeable; "
        "/opt/nssh/etc/sshd_config (PostAuthNone) says who may");
  }

  const Settings& m_settings;
  ssh::Host m_host;
  std::optional<Program> m_named;
  DeployPlace m_place;
  std::atomic<bool> m_show_remote_lines{false};
  HostFacts m_facts;
  Program m_program;
  std::string m_found;
};

Status deploy(const Settings& settings) {
  NB_TRY_ASSIGN(ssh::Host host, ssh::parse_host(settings.arguments.front()));
  std::optional<Program> named;
  if (settings.binary) {  // what is wrong with it is known before there is a connection
    NB_TRY_ASSIGN(named, load_program(*settings.binary, *settings.binary, ""));
  }
  const std::string name = host.name;
  auto done = Deployment(settings, std::move(host), std::move(named)).run();
  return done ? done : wrap(std::move(done).error(), name);
}

}  // namespace

int run_deploy(const Settings& settings, Clock&) {
  const auto done = deploy(settings);
  return done ? 0 : report_failure(done.error());
}

}  // namespace nb::cli
