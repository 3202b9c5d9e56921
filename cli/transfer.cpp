// SPDX-License-Identifier: Apache-2.0
#include "cli/transfer.hpp"

#include <sys/stat.h>

#include <filesystem>

#include "cache/client_hosts.hpp"
#include "cli/apart.hpp"
#include "cli/filters.hpp"
#include "cli/json_events.hpp"
#include "cli/log_reporter.hpp"
#include "cli/memory.hpp"
#include "cli/open_reporters.hpp"
#include "cli/outcome.hpp"
#include "cli/remembered_digests.hpp"
#include "cli/summary.hpp"
#include "cli/terminal.hpp"
#include "cli/when.hpp"
#include "session/remembered_bare.hpp"
#include "session/user_path.hpp"

namespace nb::cli {
namespace {

// The client's memory, its journal and its index, where it has a file.
std::optional<scan::OwnFiles> own_files(const cache::Store& memory) {
  const std::filesystem::path path = memory.path();
  struct stat directory {};
  if (path.empty() || ::stat(path.parent_path().c_str(), &directory) != 0) return std::nullopt;
  return scan::OwnFiles{directory.st_dev, directory.st_ino, path.filename().string()};
}

// An earlier generation gets no larger by what is copied now.
bool copies_live_tree(const Settings& settings) {
  return !settings.at && (settings.command == CommandId::push || settings.command == CommandId::pull);
}

enum class Ends : std::uint8_t { one_machine, two_machines };

std::uint64_t job_flags(const Settings& settings, Ends ends) {
  std::uint64_t flags = settings.flags;
  // Where no link is saved, reading both files would only cost time.
  const bool unsaid_whole = settings.deltas == Deltas::automatic && ends == Ends::one_machine;
  if (unsaid_whole || settings.deltas == Deltas::never) flags |= wire::k_flag_whole_file;
  if (settings.paranoid) flags |= wire::k_flag_paranoid;
  const bool verify = settings.command == CommandId::verify;
  if (verify) flags |= wire::k_flag_verify;
  if (verify || settings.itemize || settings.verbosity > 0) flags |= wire::k_flag_itemize;
  return flags;
}

}  // namespace

Result<std::unique_ptr<Transfer>> Transfer::prepare(const Settings& settings, Clock& clock) {
  std::unique_ptr<Transfer> transfer(new Transfer(settings, clock));
  const SourceTime time = settings.at ? SourceTime::past : SourceTime::live;
  NB_TRY_ASSIGN(transfer->m_ends, resolve_endpoints(settings.command, settings.arguments, time));
  NB_TRY(transfer->make_job());
  NB_TRY(open_reporters(settings, clock, transfer->m_reporters));
  if (copies_live_tree(settings)) NB_TRY(check_apart(transfer->m_ends, transfer->m_job.options));
  RunStart& start = transfer->m_start;
  start.command = settings.command;
  start.sources = transfer->m_ends.shown_sources;
  start.destination = transfer->m_ends.shown_destination;
  start.dry_run = settings.has(wire::k_flag_dry_run);
  return transfer;
}

Status Transfer::make_job() {
  m_job.operation = m_ends.operation;
  m_job.sources = m_ends.sources;
  m_job.destination = m_ends.destination;
  m_job.client = client_name();
  if (m_settings.at) {
    auto at = parse_when(*m_settings.at, m_clock.wall());
    if (!at) return wrap(std::move(at).error(), "--at");
    m_job.at = *at;
  }
  m_job.allow_unmounted = m_settings.allow_unmounted;
  session::Options& options = m_job.options;
  options.flags = job_flags(m_settings, m_ends.host ? Ends::two_machines : Ends::one_machine);
  options.max_delete = m_settings.max_delete;
  NB_TRY_ASSIGN(options.filter_rules, job_filter_rules(m_settings.filters));
  options.inactivity = m_settings.timeout;
  // Between two processes of one machine there is no link that could be the slow part.
  const auto unsaid = m_ends.host ? codec::CompressionMode::automatic : codec::CompressionMode::off;
  options.compression = m_settings.compression.value_or(codec::Compression{unsaid, 0});
  options.wait = m_settings.wait;
  options.wait_readers = m_settings.wait_readers;
  return {};
}

ConnectionMessages Transfer::messages() {
  return {[this](const std::string& text) { m_reporters.on_notice(text); },
          [this](const std::string& text) { m_reporters.on_warning(text); },
          [this](const transport::RemoteLink& link) { on_link(link); },
          [this](std::string_view line) { m_reporters.on_remote_line(line); }};
}

void Transfer::on_link(const transport::RemoteLink& link) {
  m_link = link;
  m_reporters.on_link(link);
}

std::optional<FarHost> Transfer::far_host() {
  if (!m_ends.host) return std::nullopt;
  return remembered_host(*m_ends.host, memory());
}

// For the order of algorithms next time.
void Transfer::remember_host(const wire::Hello& hello) {
  if (!m_ends.host) return;
  cache::ClientHosts(memory()).record(m_ends.host_key,
                                      {hello.cpu_flags, m_link ? m_link->negotiated : std::nullopt, m_clock.wall()});
}

// The other end gets no more than the run needs: a mistake on its side cannot write where nothing is to be written.
FarRights Transfer::far_rights() const {
  const bool changes_far_side = m_ends.operation == wire::Operation::push && m_settings.command == CommandId::push &&
                                !m_settings.has(wire::k_flag_dry_run);
  return changes_far_side ? FarRights::read_write : FarRights::read_only;
}

const std::shared_ptr<cache::Store>& Transfer::memory() {
  if (!m_memory) m_memory = open_memory([this](const std::string& text) { m_reporters.on_warning(text); });
  return m_memory;
}

// The sink knows a source by its place in the transfer alone.
Error Transfer::as_user_knows_it(Error error) const {
  if (error.code != Errc::guard_empty_source) return error;
  std::string shown;
  for (std::size_t i = 0; i < m_ends.sources.size(); ++i) {
    const std::string place = "/" + session::entry_named_by(m_ends.sources[i]).value_or(std::string());
    if (place == error.context) shown += (shown.empty() ? "" : ", ") + m_ends.shown_sources[i];
  }
  if (!shown.empty()) error.context = shown;
  return error;
}

Result<session::RunReport> Transfer::run() {
  m_reporters.on_start(m_start);
  RememberedDigests digests(memory(), m_settings.paranoid ? Belief::nothing : Belief::stored, m_clock);
  m_job.digests = &digests;
  m_job.own_files = own_files(*memory());
  session::RememberedBare bare([this] { return memory(); }, m_clock);
  if (!m_settings.paranoid) m_job.bare = &bare;
  cache::SignatureMemory signatures(memory(), m_clock);
  m_job.signatures = &signatures;
  const SteadyTime began = m_clock.steady();
  m_job.on_hello = [this](const wire::Hello& hello) { remember_host(hello); };
  const auto connector = make_connector(m_settings, far_host(), far_rights(), messages(), m_clock);
  session::RetryPolicy retry;
  retry.attempts = m_settings.retries;
  auto result = session::run(m_job, connector, retry, m_reporters, m_clock);
  m_job.digests = nullptr;
  m_job.bare = nullptr;
  m_job.signatures = nullptr;
  if (result) {
    const auto elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(m_clock.steady() - began);
    m_reporters.on_summary({m_start, *result, elapsed, m_link});
  } else {
    m_reporters.on_error(as_user_knows_it(result.error()), exit_code(result));
  }
  return result;
}

int Transfer::exit_code(const Result<session::RunReport>& result) {
  return result ? result->exit_code : exit_code_of(result.error().code);
}

int run_plain_transfer(const Settings& settings, Clock& clock) {
  auto transfer = Transfer::prepare(settings, clock);
  if (!transfer) return report_early_error(settings, transfer.error());
  return Transfer::exit_code((*transfer)->run());
}

int report_early_error(const Settings& settings, const Error& error) {
  const int code = exit_code_of(error.code);
  if (settings.json) JsonReporter(stdout, JsonProgress::off).on_error(error, code);
  if (settings.outcome != nullptr) settings.outcome->error = error_line(error);
  if (settings.log_file) {
    // One that cannot be opened is the error itself, or nobody could be told of this one there.
    const auto log = open_log_reporter(*settings.log_file);
    if (log) (*log)->on_error(error, code);
  }
  print_error(error);
  return code;
}

}  // namespace nb::cli
