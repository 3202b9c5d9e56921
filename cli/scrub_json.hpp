// SPDX-License-Identifier: Apache-2.0
// The --json events of scrub and heal (nbackup(1), "SCRUB AND HEAL"), as json_events.hpp has those of the others.
#pragma once

#include <string>

#include "session/heal.hpp"
#include "session/scrub.hpp"

namespace nb::cli {

std::string json_damaged(const txn::Damaged& file, std::string_view reason);
std::string json_edited(const txn::ScrubPlace& place);
std::string json_healed_file(const txn::Damaged& file, session::Healing outcome, const std::string& source);
// What a heal came to.
struct HealSummary {
  std::string root_path;
  session::HealReport report;
  bool dry_run = false;
};
std::string json_healed(const HealSummary& summary);
std::string json_scrubbed(const std::string& root_path, const session::ScrubReport& report);

}  // namespace nb::cli
