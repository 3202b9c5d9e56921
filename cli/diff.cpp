// SPDX-License-Identifier: Apache-2.0
// diff: what changed between two generations of a file set.
#include "cli/json_events.hpp"
#include "cli/look.hpp"
#include "cli/look_places.hpp"
#include "cli/summary.hpp"
#include "session/tree_diff.hpp"

namespace nb::cli {

Result<int> run_diff(const HostJob& job, session::CommandOutput& output, Clock& clock) {
  const Settings& settings = job.settings;
  if (!settings.from) return fail(Errc::usage, "diff needs --from WHEN");
  NB_TRY_ASSIGN(session::SetReader reader, session::open_set(job.place, job.stay_within, job.client, clock));
  NB_TRY_ASSIGN(session::SetView from, open_view(reader, settings.from, clock));
  NB_TRY_ASSIGN(session::SetView to, open_view(reader, settings.to, clock));
  Problems problems(output);
  const session::DiffVisitor visitor{
      [&](const wire::Item& item) {
        return output.write((settings.json ? json_item(item) : item_line(item, ItemStyle::itemized)) + "\n");
      },
      [&](const Error& error) { return problems.tell(error); }};
  NB_TRY(named(session::diff_trees(from, to, reader.below.join(job.path), visitor)));
  return problems.exit_code();
}

}  // namespace nb::cli
