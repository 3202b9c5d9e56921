// SPDX-License-Identifier: Apache-2.0
// pull: a transfer whose source is the other end. The client remembers contents, no set.
#include "cli/apart.hpp"
#include "cli/commands.hpp"
#include "cli/transfer.hpp"

namespace nb::cli {

int run_pull(const Settings& settings, Clock& clock) {
  auto transfer = Transfer::prepare(settings, clock);
  if (!transfer) return report_early_error(settings, transfer.error());
  // An earlier generation gets no larger by what is copied now.
  const Status apart = settings.at ? Status() : check_apart((*transfer)->ends(), (*transfer)->job().options);
  if (!apart) return report_early_error(settings, apart.error());
  return Transfer::exit_code((*transfer)->run());
}

}  // namespace nb::cli
