// SPDX-License-Identifier: Apache-2.0
// The client's half of host_command.hpp: from the command line to where the set lies, and its output back.
#include <unistd.h>

#include <algorithm>

#include "base/text.hpp"
#include "cli/connect.hpp"
#include "cli/host_command.hpp"
#include "cli/memory.hpp"
#include "cli/pool_path.hpp"
#include "cli/standard_output.hpp"
#include "cli/terminal.hpp"
#include "cli/transfer.hpp"
#include "cli/zone.hpp"

namespace nb::cli {
namespace {

const HostCommandRow& row_of(CommandId id) {
  const auto rows = host_command_table();
  return *std::find_if(rows.begin(), rows.end(), [id](const HostCommandRow& row) { return row.id == id; });
}

std::uint64_t columns() {
  if (::isatty(STDOUT_FILENO) != 1) return 0;
  return std::min<std::uint64_t>(terminal_columns(stdout), wire::k_max_columns);
}

wire::Command message_of(const Settings& settings, std::vector<std::string> words) {
  wire::Command command;
  command.words = std::move(words);
  command.client = client_name();
  command.columns = columns();
  command.zone = zone_rule();
  command.compression = codec::encode(settings.compression.value_or(codec::Compression{}));
  return command;
}

Result<int> run_there(const Settings& settings, const HostCommandRow& row, const ssh::Host& host,
                      const wire::Command& command, session::CommandOutput& output, Clock& clock) {
  const auto memory = open_memory([](const std::string& text) { print_message(escape(text)); });
  // The other end gets no more than the command needs: a mistake there cannot write where nothing is to be written.
  const FarRights rights = row.right_for(settings) == Right::read ? FarRights::read_only : FarRights::read_write;
  const auto connector = make_connector(settings, remembered_host(host, memory), rights, printed_messages(), clock);
  return session::run_command(command, connector, {settings.timeout}, output);
}

// Through the same words as on another machine, so that both do the same.
Result<int> run_here(const wire::Command& command, session::CommandOutput& output, Clock& clock) {
  NB_TRY_ASSIGN(HostRequest request, parse_host_words(command.words));
  request.job.client = command.client;
  request.job.columns = command.columns;
  return request.row->run(request.job, output, clock);
}

}  // namespace

Result<int> have_host_command_run(const Settings& settings, session::CommandOutput& output, Clock& clock) {
  const HostCommandRow& row = row_of(settings.command);
  NB_TRY_ASSIGN(const PoolPath pool, parse_pool_path(settings.arguments.front()));
  NB_TRY_ASSIGN(auto words, host_command_words(row, settings.given, pool.place.path, pool.path, clock.wall()));
  const wire::Command command = message_of(settings, std::move(words));
  return pool.place.host ? run_there(settings, row, *pool.place.host, command, output, clock)
                         : run_here(command, output, clock);
}

int run_host_command(const Settings& settings, Clock& clock) {
  StandardOutput output(settings.json ? OutputForm::json : OutputForm::text, settings.outcome);
  const auto exit_code = have_host_command_run(settings, output, clock);
  // What was written before an error is part of the output.
  const Status finished = output.finish();
  if (!exit_code) return report_early_error(settings, exit_code.error());
  return finished ? *exit_code : report_early_error(settings, finished.error());
}

}  // namespace nb::cli
