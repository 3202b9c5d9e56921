// SPDX-License-Identifier: Apache-2.0
// The parts of `drill`: the host chooses files, the client restores them by the machinery of every restore, reads what
// arrived on the disk, and compares it with what the set recorded and with the source.
#pragma once

#include <span>

#include "cli/drill_report.hpp"
#include "cli/drill_sample.hpp"
#include "cli/host_command.hpp"
#include "cli/pool_path.hpp"
#include "fs/directory.hpp"
#include "session/observer.hpp"

namespace nb::cli {

// On the host: chooses, and writes the encoded sample (drill_sample.hpp).
Result<int> run_drill_host(const HostJob& job, session::CommandOutput& output, Clock& clock);

// A tree that was pushed to the pool, as push names its sources: with a trailing slash its content.
class DrillSource {
 public:
  // `place` is where the pool lies in what was pushed to.
  explicit DrillSource(const std::string& named, RelPath place = {});
  // The source of `in_pool`, a path below the pool; null unless there is a regular file of that size and time.
  [[nodiscard]] std::unique_ptr<fs::File> open(const RelPath& in_pool, const SampledFile& expected) const;
  [[nodiscard]] std::string path_of(const RelPath& in_pool) const;

 private:
  [[nodiscard]] std::optional<RelPath> below(const RelPath& in_pool) const;
  std::string m_path;  // without a trailing slash, unless it is "/"
  std::string m_name;  // that the directory has where it was pushed to; empty: its content is there
  RelPath m_place;
};

// Sorts out what was restored.
class DrillJudge {
 public:
  // `above` is the place of the sample below the pool. `teller` outlives this.
  DrillJudge(const hash::Secret& secret, RelPath above, std::vector<DrillSource> sources, DrillTeller& teller)
      : m_secret(secret), m_above(std::move(above)), m_sources(std::move(sources)), m_teller(teller) {}

  // Reads `expected` below `restored` and compares it; counts and tells what comes of it. An error ends the drill.
  Status judge(fs::Directory& restored, const SampledFile& expected);
  [[nodiscard]] const DrillCounts& counts() const { return m_counts; }

 private:
  Status compare(fs::File& file, const SampledFile& expected);
  bool compare_with_source(const hash::Digest& digest, const SampledFile& expected);
  void differs(const SampledFile& expected, DifferenceFrom from, std::string where = {});

  const hash::Secret m_secret;
  const RelPath m_above;
  const std::vector<DrillSource> m_sources;
  DrillTeller& m_teller;
  DrillCounts m_counts;
};

// Restores `files`, which are of one generation, into a temporary directory, calls `look` with it, and takes it away.
// False if the generation is not kept any more.
Result<bool> restore_sample(const Settings& settings, const PoolPath& pool, std::span<const SampledFile> files,
                            DrillTeller& teller, const std::function<Status(fs::Directory&)>& look, Clock& clock);

}  // namespace nb::cli
