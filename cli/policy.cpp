// SPDX-License-Identifier: Apache-2.0
// policy: shows or sets which generations a file set keeps, and what a push may delete.
#include "cli/policy.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/json_events.hpp"
#include "cli/look_places.hpp"
#include "cli/quantities.hpp"
#include "session/set_reader.hpp"
#include "txn/prune.hpp"

namespace nb::cli {
namespace {

std::string limit_text(const std::optional<std::uint64_t>& max_delete) {
  if (!max_delete) return {};
  if (*max_delete == txn::k_keep_all) return "; a push may delete any number of entries";
  return fmt::format("; a push may delete {}", format_counted(*max_delete, "entry", "entries"));
}

Status tell(const HostJob& job, const std::string& root_path, const std::optional<txn::SetPolicy>& stored,
            session::CommandOutput& output) {
  const txn::SetPolicy policy = stored.value_or(txn::SetPolicy());
  if (job.settings.json) return output.write(json_policy(policy, stored.has_value()) + "\n");
  if (job.settings.quiet) return {};
  return output.write(fmt::format("nbackup: {} keeps: {}{}{}\n", escape(root_path), txn::describe(policy.keep),
                                  stored ? "" : " (the default)", limit_text(policy.max_delete)));
}

Result<int> show(const HostJob& job, session::CommandOutput& output, Clock& clock) {
  NB_TRY_ASSIGN(const session::SetReader reader, session::open_set(job.place, job.stay_within, job.client, clock));
  NB_TRY(check_whole(job, reader.root_path, reader.below));
  NB_TRY_ASSIGN(const auto stored, txn::read_policy(reader.set()));
  NB_TRY(tell(job, reader.root_path, stored, output));
  return 0;
}

// What the set is to say from now on. A damaged policy is no obstacle to one that says which generations stay.
Result<std::optional<txn::SetPolicy>> wanted_policy(const Settings& settings, txn::FileSet& set,
                                                    session::CommandOutput& output) {
  if (settings.default_policy) return std::optional<txn::SetPolicy>();
  const Result<txn::SetPolicy> before = txn::policy_of(set);
  if (before) return std::optional(changed_policy(*before, settings));
  if (before.error().code != Errc::bad_set || !settings.keep) return tl::make_unexpected(before.error());
  NB_TRY(output.notice("the policy was damaged; if it had a limit on deletions (--max-delete), that is gone"));
  return std::optional(changed_policy({}, settings));
}

Result<int> set(const HostJob& job, session::CommandOutput& output, Clock& clock) {
  if (names_policy(job.settings) && job.settings.default_policy) {
    return fail(Errc::usage, "--default excludes every other option of a policy");
  }
  NB_TRY_ASSIGN(const session::SetWriter writer, open_to_write(job, output, clock));
  NB_TRY_ASSIGN(const auto policy, wanted_policy(job.settings, *writer.set, output));
  NB_TRY(txn::write_policy(*writer.set, *writer.lock, policy));
  NB_TRY(tell(job, writer.root_path, policy, output));
  return 0;
}

}  // namespace

bool policy_only_looks(const Settings& settings) { return !names_policy(settings) && !settings.default_policy; }

bool names_policy(const Settings& settings) {
  return settings.keep || settings.max_delete != session::k_usual_max_delete;
}

txn::SetPolicy changed_policy(txn::SetPolicy before, const Settings& settings) {
  if (settings.keep) before.keep = *settings.keep;
  if (settings.max_delete == session::k_no_max_delete) {
    before.max_delete = txn::k_keep_all;
  } else if (settings.max_delete != session::k_usual_max_delete) {
    before.max_delete = static_cast<std::uint64_t>(settings.max_delete);
  }
  return before;
}

std::vector<std::string> policy_words(const std::vector<std::string>& given) {
  std::vector<std::string> words;
  for (const std::string& each : given) {
    if (each.starts_with("--keep-") || each.starts_with("--max-delete")) words.push_back(each);
  }
  return words;
}

Result<int> run_policy(const HostJob& job, session::CommandOutput& output, Clock& clock) {
  return policy_only_looks(job.settings) ? show(job, output, clock) : set(job, output, clock);
}

}  // namespace nb::cli
