// SPDX-License-Identifier: Apache-2.0
// policy: shows or sets which generations a file set keeps.
#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/json_events.hpp"
#include "cli/look_places.hpp"
#include "cli/prune.hpp"
#include "session/set_reader.hpp"

namespace nb::cli {
namespace {

Status tell(const HostJob& job, const std::string& root_path, const std::optional<txn::RetentionPolicy>& stored,
            session::CommandOutput& output) {
  const txn::RetentionPolicy policy = stored.value_or(txn::default_policy());
  if (job.settings.json) return output.write(json_policy(policy, stored.has_value()) + "\n");
  if (job.settings.quiet) return {};
  return output.write(fmt::format("nbackup: {} keeps: {}{}\n", escape(root_path), txn::describe(policy),
                                  stored ? "" : " (the default)"));
}

Result<int> show(const HostJob& job, session::CommandOutput& output, Clock& clock) {
  NB_TRY_ASSIGN(const session::SetReader reader, session::open_set(job.place, job.stay_within, job.client, clock));
  NB_TRY(check_whole(job, reader.root_path, reader.below));
  NB_TRY_ASSIGN(const auto stored, txn::read_policy(reader.set()));
  NB_TRY(tell(job, reader.root_path, stored, output));
  return 0;
}

Result<int> set(const HostJob& job, session::CommandOutput& output, Clock& clock) {
  if (job.settings.keep && job.settings.default_policy) {
    return fail(Errc::usage, "--default and a --keep option exclude each other");
  }
  NB_TRY_ASSIGN(const session::SetWriter writer, open_to_write(job, output, clock));
  NB_TRY(txn::write_policy(*writer.set, *writer.lock, job.settings.keep));
  NB_TRY(tell(job, writer.root_path, job.settings.keep, output));
  return 0;
}

}  // namespace

bool policy_only_looks(const Settings& settings) { return !settings.keep && !settings.default_policy; }

Result<int> run_policy(const HostJob& job, session::CommandOutput& output, Clock& clock) {
  return policy_only_looks(job.settings) ? show(job, output, clock) : set(job, output, clock);
}

}  // namespace nb::cli
