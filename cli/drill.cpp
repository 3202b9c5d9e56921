// SPDX-License-Identifier: Apache-2.0
// drill: whether a restore would work, found out by restoring a sample into a temporary directory.
#include "cli/drill.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "cache/client_state.hpp"
#include "cache/set_reports.hpp"
#include "cli/commands.hpp"
#include "cli/endpoints.hpp"
#include "cli/memory.hpp"
#include "cli/outcome.hpp"
#include "cli/terminal.hpp"
#include "cli/transfer.hpp"
#include "fs/posix_directory.hpp"
#include "session/source_setup.hpp"

namespace nb::cli {
namespace {

// Takes the host's answer instead of standard output.
class SampleReader final : public session::CommandOutput {
 public:
  explicit SampleReader(DrillTeller& teller) : m_teller(teller) {}
  Status write(std::string_view bytes) override {
    if (bytes.size() > k_most_sample_bytes - m_bytes.size()) return fail(Errc::protocol, "sample: too long");
    const ByteView view = as_bytes(bytes);
    m_bytes.insert(m_bytes.end(), view.begin(), view.end());
    return {};
  }
  Status problem(const Error& error) override {
    m_teller.on_problem(error);
    return {};
  }
  Status notice(const std::string& text) override {
    print_message(escape(text));
    return {};
  }
  [[nodiscard]] const Bytes& bytes() const { return m_bytes; }

 private:
  DrillTeller& m_teller;
  Bytes m_bytes;
};

Result<DrillSample> ask_for_sample(const Settings& settings, DrillTeller& teller, Clock& clock) {
  SampleReader answer(teller);
  NB_TRY(have_host_command_run(settings, answer, clock));
  return decode_drill_sample(answer.bytes(), {settings.sample, settings.limit_bytes});
}

// The path of a place below a destination, which may be the place itself; both as keys.
std::optional<RelPath> path_below(const std::string& destination, const std::string& place) {
  if (place == destination) return RelPath();
  if (!place.starts_with(destination + "/")) return std::nullopt;
  auto path = RelPath::parse(std::string_view(place).substr(destination.size() + 1));
  return path ? std::optional(std::move(*path)) : std::nullopt;
}

// What the user names, or what this client remembers of its pushes to that place or to what it lies in.
Result<std::vector<DrillSource>> sources_for(const Settings& settings, const PoolPath& pool) {
  std::vector<DrillSource> sources;
  for (const std::string& named : settings.drill_sources) {
    // A slip of the hand would have nothing compared with the source.
    const auto root = fs::open_user_directory(named);
    if (!root) return fail(Errc::path, "--source " + named, root.error().sys_errno);
    sources.emplace_back(named);
  }
  if (!sources.empty()) return sources;
  NB_TRY_ASSIGN(const std::string place, destination_key(pool.place));
  cache::ClientState memory(open_memory([](const std::string& text) { print_message(escape(text)); }));
  for (const cache::KnownSet& known : memory.list_sets()) {
    const auto below = path_below(known.destination, place);
    if (!below) continue;
    for (const std::string_view named : split(known.source, '\n')) sources.emplace_back(std::string(named), *below);
  }
  return sources;
}

Status restore_and_judge(const Settings& settings, const PoolPath& pool, const DrillSample& sample, DrillJudge& judge,
                         DrillTeller& teller, Clock& clock) {
  std::span<const SampledFile> left(sample.chosen);
  while (!left.empty()) {
    const std::uint64_t generation = left.front().generation;
    const auto end = std::find_if(left.begin(), left.end(),
                                  [generation](const SampledFile& file) { return file.generation != generation; });
    const auto files = left.first(static_cast<std::size_t>(end - left.begin()));
    const auto look = [&](fs::Directory& restored) -> Status {
      for (const SampledFile& file : files) {
        if (!session::may_go_on()) return fail(Errc::interrupted, "");
        NB_TRY(judge.judge(restored, file));
      }
      return {};
    };
    NB_TRY_ASSIGN(const bool restored, restore_sample(settings, pool, files, teller, look, clock));
    if (!restored) teller.on_dropped(generation, files.size());
    left = left.subspan(files.size());
  }
  if (judge.counts().files != 0 || sample.chosen.empty() || teller.problems() != 0) return {};
  return fail(Errc::path, "nothing was restored: all generations that files were chosen from were dropped");
}

Result<DrillResult> drill(const Settings& settings, const PoolPath& pool, DrillTeller& teller, Clock& clock) {
  const SteadyTime began = clock.steady();
  NB_TRY_ASSIGN(const DrillSample sample, ask_for_sample(settings, teller, clock));
  NB_TRY_ASSIGN(const hash::Secret secret, hash::Secret::from_bytes(sample.secret, Errc::protocol));
  NB_TRY_ASSIGN(std::vector<DrillSource> sources, sources_for(settings, pool));
  DrillJudge judge(secret, pool.path, std::move(sources), teller);
  NB_TRY(restore_and_judge(settings, pool, sample, judge, teller, clock));
  DrillResult result;
  result.pool = pool.display();
  result.counts = judge.counts();
  result.problems = teller.problems();
  result.left_out = sample.left_out;
  result.left_out_bytes = sample.left_out_bytes;
  result.elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(clock.steady() - began);
  return result;
}

// Under which name `status` shows it: that of the push that comes nearest.
std::string pushed_to(const std::string& place, const std::vector<cache::KnownSet>& sets) {
  std::string nearest;
  for (const cache::KnownSet& set : sets) {
    if (path_below(set.destination, place) && set.destination.size() > nearest.size()) nearest = set.destination;
  }
  return nearest.empty() ? place : nearest;
}

// For `status`.
Status remember(const PoolPath& pool, int exit_code, std::uint64_t files, Clock& clock) {
  NB_TRY_ASSIGN(const std::string place, destination_key(pool.place));
  const auto store = open_memory([](const std::string& text) { print_message(escape(text)); });
  cache::SetReports reports(store);
  reports.record_drill(pushed_to(place, cache::ClientState(store).list_sets()),
                       {clock.wall().time_since_epoch().count(), exit_code, files});
  return {};
}

bool is_the_sets(Errc code) { return code == Errc::bad_set || code == Errc::recovery_failed || code == Errc::damaged; }

Result<int> run(const Settings& settings, Clock& clock) {
  NB_TRY_ASSIGN(const PoolPath pool, parse_pool_path(settings.arguments.front()));
  DrillTeller teller(settings);
  const auto result = drill(settings, pool, teller, clock);
  if (!result) {
    const Error& error = result.error();
    // A set that cannot be drilled any more is no well drilled one.
    if (is_the_sets(error.code)) NB_TRY(remember(pool, exit_code_of(error.code), 0, clock));
    return tl::make_unexpected(error);
  }
  teller.on_result(*result);
  if (settings.outcome != nullptr) settings.outcome->summary = summary_line(*result);
  NB_TRY(remember(pool, drill_exit_code(*result), result->counts.files, clock));
  return drill_exit_code(*result);
}

}  // namespace

int run_drill(const Settings& settings, Clock& clock) {
  const auto exit_code = run(settings, clock);
  return exit_code ? *exit_code : report_early_error(settings, exit_code.error());
}

}  // namespace nb::cli
