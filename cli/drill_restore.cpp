// SPDX-License-Identifier: Apache-2.0
// The restore of a drill is a pull of the place's content as it was, with filter rules that let the chosen files
// through and nothing else: one connection for all files of a generation, whatever their names.
#include <numeric>
#include <set>

#include "cli/connect.hpp"
#include "cli/drill.hpp"
#include "cli/endpoints.hpp"
#include "cli/memory.hpp"
#include "cli/scratch_directory.hpp"
#include "filter/rules.hpp"
#include "fs/posix_directory.hpp"
#include "session/client.hpp"

namespace nb::cli {
namespace {

// A rule that means this very name, as rsync reads it: a backslash counts only where there is a wildcard.
std::string anchored_pattern(const std::string& path) {
  if (path.find_first_of("*?[") == std::string::npos) return "/" + path;
  std::string pattern = "/";
  for (const char c : path) {
    if (c == '*' || c == '?' || c == '[' || c == '\\') pattern += '\\';
    pattern += c;
  }
  return pattern;
}

Result<std::vector<std::string>> rules_for(std::span<const SampledFile> files) {
  filter::Rules rules;
  std::set<RelPath> entered;
  for (const SampledFile& file : files) {
    for (RelPath above = file.path.parent(); !above.is_root() && entered.insert(above).second; above = above.parent()) {
      NB_TRY(rules.add_filter("+ " + anchored_pattern(above.str()) + "/"));
    }
    NB_TRY(rules.add_filter("+ " + anchored_pattern(file.path.str())));
  }
  NB_TRY(rules.add_filter("- *"));
  std::vector<std::string> encoded = rules.encoded();
  const auto bytes = std::accumulate(encoded.begin(), encoded.end(), std::size_t{0},
                                     [](std::size_t sum, const std::string& rule) { return sum + rule.size(); });
  // All of them travel in one message.
  if (encoded.size() <= wire::k_max_filter_rules && bytes <= wire::k_max_message_bytes / 2) return encoded;
  return fail(Errc::usage, "the sample lies in too many directories for one run; take a smaller --sample");
}

Result<session::Job> job_for(const Settings& settings, const PoolPath& pool, std::span<const SampledFile> files,
                             const std::string& destination) {
  session::Job job;
  job.operation = wire::Operation::pull;
  PoolPath content = pool;
  content.trailing_slash = ssh::TrailingSlash::present;
  NB_TRY_ASSIGN(std::string source, far_path(content));
  job.sources = {std::move(source)};
  job.destination = destination;
  job.client = client_name();
  job.at = wire::Moment{wire::MomentKind::generation, files.front().generation};
  NB_TRY_ASSIGN(job.options.filter_rules, rules_for(files));
  job.options.inactivity = settings.timeout;
  const auto unsaid = pool.place.host ? codec::CompressionMode::automatic : codec::CompressionMode::off;
  job.options.compression = settings.compression.value_or(codec::Compression{unsaid, 0});
  return job;
}

session::Connector connector_to(const Settings& settings, const PoolPath& pool, Clock& clock) {
  std::optional<FarHost> host;
  if (pool.place.host) {
    const auto memory = open_memory([](const std::string&) {});  // its trouble has been told when the files were chosen
    host = remembered_host(*pool.place.host, memory);
  }
  return make_connector(settings, host, FarRights::read_only, printed_messages(), clock);
}

}  // namespace

Result<bool> restore_sample(const Settings& settings, const PoolPath& pool, std::span<const SampledFile> files,
                            DrillTeller& teller, const std::function<Status(fs::Directory&)>& look, Clock& clock) {
  // Connecting comes first: a signal ends the process there at once, and nothing may be left behind.
  NB_TRY_ASSIGN(auto stream, connector_to(settings, pool, clock)());
  NB_TRY_ASSIGN(const ScratchDirectory scratch, ScratchDirectory::make("drill"));
  // Below it: the restored tree gets the set's modes, and nobody else is to see it.
  const std::string tree = scratch.path() + "/tree";
  NB_TRY_ASSIGN(const session::Job job, job_for(settings, pool, files, tree));
  const auto connected = [&stream]() -> Result<std::unique_ptr<transport::ByteStream>> { return std::move(stream); };
  const auto report = session::run(job, connected, {}, teller, clock);
  if (!report && report.error().code == Errc::usage) return false;
  NB_TRY(report);
  NB_TRY_ASSIGN(const auto restored, fs::open_user_directory(tree));
  NB_TRY(look(*restored));
  return true;
}

}  // namespace nb::cli
