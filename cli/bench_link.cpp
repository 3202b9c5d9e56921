// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_link.hpp"

#include <memory>

#include "base/cpu.hpp"
#include "base/text.hpp"
#include "cache/client_hosts.hpp"
#include "cli/peer_watch.hpp"
#include "cli/signals.hpp"
#include "ssh/program_options.hpp"
#include "ssh/quote.hpp"

namespace nb::cli {
namespace {

using Stream = std::unique_ptr<transport::ByteStream>;

constexpr std::uint64_t k_ssh_port = 22;
constexpr std::chrono::seconds k_greeting_limit{20};

bool is_set(const ssh::EffectiveConfig& config, std::string_view name) {
  const std::string value = ssh::first_value(config, name);
  return !value.empty() && value != "none";
}

}  // namespace

Result<BenchPlace> parse_bench_place(const std::string& text) {
  auto host = ssh::parse_host(text);
  if (host) return BenchPlace{std::move(*host), std::nullopt};
  auto place = ssh::parse_location(text);
  if (place && place->host) return BenchPlace{std::move(*place->host), std::move(place->path)};
  return tl::make_unexpected(place ? host.error() : place.error());
}

Result<BenchLinks> BenchLinks::choose(const Settings& settings, const FarHost& host, const ConnectionMessages& messages,
                                      const Clock& clock) {
  const std::string command = remote_command_line(settings, far_bench_words());
  BenchLinks links(remote_options(settings, host, command, messages), clock);
  if (settings.rsh) return links;
  transport::SelectOptions select;
  select.host = host.address;
  select.config_file = links.m_options.libssh.config_file;
  NB_TRY_ASSIGN(auto choice, transport::select_carrier(select));
  if (!choice.reason.empty()) messages.on_notice(choice.reason);
  links.m_carrier = choice.carrier;
  links.m_has_program = choice.settings.has_value();
  links.m_config = std::move(choice.effective);
  links.m_options.libssh.settings = std::move(choice.settings);
  links.m_options.on_notice = nullptr;  // said once
  return links;
}

// A program asks for passwords until it has a login, and nothing tells when.
std::chrono::milliseconds BenchLinks::greeting_limit() const {
  const transport::LibsshOptions& options = m_options.libssh;
  const bool may_ask = m_carrier != ssh::Carrier::libssh && options.prompt;
  return may_ask ? options.write_inactivity : options.connect_timeout.value_or(k_greeting_limit);
}

// A connection like a run's: libssh's own, or what open_remote_stream finds again (-e, or the chosen program).
Result<BenchLink> BenchLinks::open_stream(transport::RemoteOptions options, const LinkRequest& request) const {
  const ExitOnSignal exit_on_signal;
  BenchLink link;
  Stream stream;
  const auto made = std::make_shared<std::optional<ssh::Negotiated>>();  // by a program, with its first answer
  if (m_carrier == ssh::Carrier::libssh) {
    NB_TRY_ASSIGN(auto opened, transport::open_libssh_stream(std::move(options.libssh)));
    link.negotiated = opened->negotiated();
    if (request.on_login) request.on_login(*link.negotiated);
    stream = std::move(opened);
  } else {
    options.libssh.settings.reset();
    options.on_link = [made](const transport::RemoteLink& found) { *made = found.negotiated; };
    NB_TRY_ASSIGN(stream, transport::open_remote_stream(options));
  }
  link.description = stream->describe();
  const FarEnd far_end = m_carrier == ssh::Carrier::libssh ? FarEnd::libssh : FarEnd::shell_program;
  stream = watch_peer(std::move(stream), {m_options.libssh.host.name, m_options.libssh.command, far_end});
  NB_TRY_ASSIGN(link.far, FarBench::greet(std::move(stream), greeting_limit(), *m_clock));
  if (*made) link.negotiated = *made;
  return link;
}

Result<BenchLink> BenchLinks::open(const LinkRequest& request) const {
  transport::RemoteOptions options = m_options;
  const auto replace = [](std::optional<std::string>& old, const std::optional<std::string>& wanted) {
    if (wanted) old = wanted;
  };
  replace(options.libssh.demanded.ciphers, request.demanded.ciphers);
  replace(options.libssh.demanded.macs, request.demanded.macs);
  replace(options.libssh.demanded.kex, request.demanded.kex);
  options.libssh.security = request.security.value_or(options.libssh.security);
  if (request.words == Words::kept) {
    options.libssh.on_stderr = nullptr;
    options.libssh.on_warning = nullptr;
  }
  const SteadyTime begin = m_clock->steady();
  NB_TRY_ASSIGN(BenchLink link, open_stream(std::move(options), request));
  link.seconds = std::chrono::duration<double>(m_clock->steady() - begin).count();
  return link;
}

Result<BenchLink> BenchLinks::meet(const LinkRequest& request) {
  auto link = open(request);
  const bool try_program =
      !link && m_carrier == ssh::Carrier::libssh && m_has_program && transport::program_may_do_better(link.error());
  if (!try_program) return link;
  m_carrier = ssh::Carrier::ssh_program;
  m_options.skip_libssh = true;
  const std::string why = link.error().message();
  link = open(request);
  if (link) link->fallback = why;
  return link;
}

void remember_host(const std::shared_ptr<cache::Store>& memory, const ssh::Host& host, const MachineFacts& there,
                   const std::optional<ssh::Negotiated>& negotiated, const Clock& clock) {
  const std::uint64_t cpu_flags = there.has_aes ? std::uint64_t{k_cpu_aes} : 0;
  cache::ClientHosts(memory).record(host_key(host), {cpu_flags, negotiated, clock.wall()});
}

std::optional<ssh::AlgorithmNames> BenchLinks::our_algorithms() const {
  if (m_carrier == ssh::Carrier::libssh) return transport::libssh_algorithms();
  const auto words = ssh::split_command(m_options.rsh.value_or("ssh"));
  if (!words || !ssh::is_ssh_program(*words)) return ssh::AlgorithmNames{};
  const auto names = transport::program_algorithms(words->front());
  return names ? std::optional(*names) : std::nullopt;
}

Result<transport::ServerOffer> BenchLinks::probe() const {
  if (m_options.rsh) return fail(Errc::unsupported, "the server is reached by -e");
  for (const char* name : {"proxyjump", "proxycommand"}) {
    if (is_set(m_config, name)) return fail(Errc::unsupported, std::string("the server is reached by ") + name);
  }
  transport::ProbeOptions options;
  options.address = ssh::first_value(m_config, "hostname");
  if (options.address.empty()) options.address = m_options.libssh.host.name;
  const auto port =
      parse_u64(ssh::first_value(m_config, "port")).value_or(m_options.libssh.host.port.value_or(k_ssh_port));
  options.port = static_cast<std::uint16_t>(port);
  if (m_options.libssh.connect_timeout) options.limit = *m_options.libssh.connect_timeout;
  const ExitOnSignal exit_on_signal;
  return transport::probe_server(options);
}

}  // namespace nb::cli
