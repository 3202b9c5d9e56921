// SPDX-License-Identifier: Apache-2.0
// BenchLinks: connections to `nbackup bench --far-end` on one host, made like those of a run but with algorithms of the
// caller's choice. The carrier is chosen once.
#pragma once

#include <functional>

#include "cli/connect.hpp"
#include "cli/far_bench.hpp"
#include "transport/ssh_probe.hpp"

namespace nb::cli {

// Whether the user sees what is said about the connection; an error has its last words anyway.
enum class Words : std::uint8_t { passed_on, kept };

struct LinkRequest {
  ssh::AlgorithmLists demanded;
  std::optional<ssh::Security> security;  // unset: as the settings say
  Words words = Words::passed_on;
  // Once libssh has logged in, whatever comes after; may be empty. A program tells with its first answer only.
  std::function<void(const ssh::Negotiated&)> on_login;
};

struct BenchLink {
  std::unique_ptr<FarBench> far;
  std::string description;                    // ByteStream::describe()
  std::optional<ssh::Negotiated> negotiated;  // unset: a program that does not tell
  double seconds = 0;                         // from nothing to the greeting
  std::string fallback;                       // of meet(): why libssh did not do it; empty where it did
};

// "HOST", "HOST:DIR", with a user before it, or an ssh:// address.
struct BenchPlace {
  ssh::Host host;
  std::optional<std::string> directory;
};
Result<BenchPlace> parse_bench_place(const std::string& text);

// Keeps what was learned of the host for the next connection, as a run does.
void remember_host(const std::shared_ptr<cache::Store>& memory, const ssh::Host& host, const MachineFacts& there,
                   const std::optional<ssh::Negotiated>& negotiated, const Clock& clock);

class BenchLinks {
 public:
  // Asks `ssh -G` for the host, unless -e names a program.
  static Result<BenchLinks> choose(const Settings& settings, const FarHost& host, const ConnectionMessages& messages,
                                   const Clock& clock);

  Result<BenchLink> open(const LinkRequest& request) const;
  // The first one: like a run's, it goes on to the ssh program where libssh cannot log in or agree on algorithms. That
  // is the carrier of all that follow.
  Result<BenchLink> meet(const LinkRequest& request);

  [[nodiscard]] ssh::Carrier carrier() const { return m_carrier; }
  // What our end of the connection can be told to use: libssh, or the ssh program. Nothing for a program of -e that is
  // no ssh; unset for an ssh that does not say.
  [[nodiscard]] std::optional<ssh::AlgorithmNames> our_algorithms() const;
  // Asks the server what it offers. Errc::unsupported where it is not reached by a plain TCP connection (ProxyJump,
  // ProxyCommand, -e).
  [[nodiscard]] Result<transport::ServerOffer> probe() const;

 private:
  BenchLinks(transport::RemoteOptions options, const Clock& clock) : m_options(std::move(options)), m_clock(&clock) {}
  [[nodiscard]] std::chrono::milliseconds greeting_limit() const;
  [[nodiscard]] Result<BenchLink> open_stream(transport::RemoteOptions options, const LinkRequest& request) const;

  transport::RemoteOptions m_options;
  const Clock* m_clock;
  ssh::Carrier m_carrier = ssh::Carrier::ssh_program;
  bool m_has_program = false;     // beside libssh
  ssh::EffectiveConfig m_config;  // all that `ssh -G` said
};

}  // namespace nb::cli
