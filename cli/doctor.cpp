// SPDX-License-Identifier: Apache-2.0
// doctor: looks at a host and a destination as a push would meet them, quickly, and says what would stop it or slow it
// down.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cli/bench_link.hpp"
#include "cli/commands.hpp"
#include "cli/doctor_checks.hpp"
#include "cli/memory.hpp"
#include "cli/print.hpp"
#include "cli/terminal.hpp"
#include "cli/transfer.hpp"

namespace nb::cli {
namespace {

constexpr std::chrono::seconds k_connect_timeout{8};
constexpr int k_pings = 5;
constexpr int k_problem_exit = 1;

void ask_server(const BenchLinks& links, DoctorFindings& found) {
  found.ours = links.our_algorithms();
  const auto offer = links.probe();
  if (!offer) return;  // the connection will say it better
  found.server_version = offer->version;
  found.tcp_connect_seconds = std::chrono::duration<double>(offer->tcp_connect).count();
  found.offered = offer->algorithms;
}

Result<double> round_trip(FarBench& far) {
  double least = 0;
  for (int i = 0; i < k_pings; ++i) {
    NB_TRY_ASSIGN(const double seconds, far.ping());
    least = i == 0 ? seconds : std::min(least, seconds);
  }
  return least;
}

Status ask_far_end(BenchLinks& links, const std::optional<std::string>& directory, const Clock& clock,
                   DoctorFindings& found) {
  LinkRequest request;
  request.words = Words::kept;
  request.on_login = [&](const ssh::Negotiated& made) { found.negotiated = made; };
  NB_TRY_ASSIGN(const BenchLink link, links.meet(request));
  found.fallback = link.fallback;
  found.carrier = link.description;
  found.negotiated = link.negotiated;
  found.connect_seconds = link.seconds;
  NB_TRY_ASSIGN(found.round_trip_seconds, round_trip(*link.far));
  NB_TRY_ASSIGN(found.there, link.far->facts());
  found.here = facts_of_this_machine(-1, clock);
  if (directory) found.place = link.far->place(*directory);
  return {};
}

Result<std::vector<Check>> examine(Settings settings, const Clock& clock) {
  NB_TRY_ASSIGN(const BenchPlace place, parse_bench_place(settings.arguments.front()));
  if (!settings.connect_timeout) settings.connect_timeout = k_connect_timeout;
  const auto memory = open_memory([](const std::string& text) { print_message(escape(text)); });
  const FarHost host = remembered_host(place.host, memory);
  NB_TRY_ASSIGN(BenchLinks links, BenchLinks::choose(settings, host, printed_messages(), clock));
  DoctorFindings found;
  found.measured = host.measured;
  ask_server(links, found);
  const auto asked = ask_far_end(links, place.directory, clock, found);
  if (!asked && asked.error().code == Errc::interrupted) return tl::make_unexpected(asked.error());
  if (!asked) found.failure = asked.error();
  if (asked) remember_host(memory, place.host, *found.there, found.negotiated, clock);
  return judge(found);
}

std::size_t count_of(const std::vector<Check>& checks, CheckLevel level) {
  return static_cast<std::size_t>(
      std::count_if(checks.begin(), checks.end(), [&](const Check& check) { return check.level == level; }));
}

// Lines of the third column on a terminal; one line anywhere else.
std::string wrap(const std::string& text) {
  constexpr std::size_t k_column = 22;
  if (::isatty(STDOUT_FILENO) != 1) return text;
  const std::size_t width = std::max<std::size_t>(terminal_columns(stdout), k_column + 20) - k_column;
  std::string lines;
  std::size_t used = 0;
  for (const std::string_view word : split(text, ' ')) {
    const bool fits = used == 0 || used + 1 + word.size() <= width;
    if (!fits) lines += "\n" + std::string(k_column, ' ');
    if (fits && used > 0) lines += " ";
    used = fits && used > 0 ? used + 1 + word.size() : word.size();
    lines += word;
  }
  return lines;
}

void print_text(const Settings& settings, const std::vector<Check>& checks) {
  for (const Check& check : checks) {
    if (settings.quiet && check.level == CheckLevel::ok) continue;
    print_out("{:<8} {:<12} {}\n", level_name(check.level), check.name, wrap(escape(check.text)));
    if (!check.advice.empty()) print_out("{:<21} {}\n", "", wrap(escape(check.advice)));
  }
}

void print_json(const Settings& settings, const std::vector<Check>& checks) {
  nlohmann::ordered_json document{{"host", escape(settings.arguments.front())},
                                  {"problems", count_of(checks, CheckLevel::problem)},
                                  {"hints", count_of(checks, CheckLevel::hint)},
                                  {"checks", nlohmann::ordered_json::array()}};
  for (const Check& check : checks) {
    document["checks"].push_back({{"name", check.name},
                                  {"level", level_name(check.level)},
                                  {"text", escape(check.text)},
                                  {"advice", escape(check.advice)}});
  }
  print_out("{}\n", document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

}  // namespace

int run_doctor(const Settings& settings, Clock& clock) {
  const auto checks = examine(settings, clock);
  if (!checks) return report_early_error(settings, checks.error());
  if (settings.json) {
    print_json(settings, *checks);
  } else {
    print_text(settings, *checks);
  }
  return count_of(*checks, CheckLevel::problem) > 0 ? k_problem_exit : 0;
}

}  // namespace nb::cli
