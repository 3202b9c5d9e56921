// SPDX-License-Identifier: Apache-2.0
#include "cli/scrub_json.hpp"

#include "base/text.hpp"
#include "cli/json_parts.hpp"

namespace nb::cli {
namespace {

void put_place(Json& event, const std::optional<std::uint64_t>& generation, const RelPath& path) {
  event["path"] = escape(path.str());
  event["generation"] = generation ? Json(*generation) : Json(nullptr);
}

std::string_view outcome_name(session::Healing outcome) {
  switch (outcome) {
    case session::Healing::done: return "healed";
    case session::Healing::possible: return "possible";
    case session::Healing::no_source: return "no_source";
    case session::Healing::failed: return "failed";
  }
  return "unknown";
}

}  // namespace

std::string json_damaged(const txn::Damaged& file, std::string_view reason) {
  Json event = event_of("damaged");
  put_place(event, file.generation, file.path);
  event["reason"] = reason;
  event["size"] = file.size;
  event["found_bytes"] = file.found_bytes;
  event["ranges"] = Json::array();
  for (const fs::Extent& range : file.ranges) {
    event["ranges"].push_back(Json{{"offset", range.offset}, {"length", range.length}});
  }
  return dump(event);
}

std::string json_edited(const txn::ScrubPlace& place) {
  Json event = event_of("edited");
  put_place(event, place.generation, place.path);
  return dump(event);
}

std::string json_healed_file(const txn::Damaged& file, session::Healing outcome, const std::string& source) {
  Json event = event_of("heal");
  put_place(event, file.generation, file.path);
  event["outcome"] = outcome_name(outcome);
  const bool is_failure = outcome == session::Healing::failed;
  event[is_failure ? "message" : "from"] = escape(source);
  return dump(event);
}

std::string json_healed(const HealSummary& summary) {
  Json event = event_of("healed");
  event["set"] = escape(summary.root_path);
  event["healed"] = summary.report.healed;
  event["left"] = summary.report.left;
  event["dry_run"] = summary.dry_run;
  return dump(event);
}

std::string json_scrubbed(const std::string& root_path, const session::ScrubReport& report) {
  Json event = event_of("scrubbed");
  event["set"] = escape(root_path);
  event["part"] = report.pass.part.number;
  event["parts"] = report.pass.part.count;
  event["ended"] = report.ended;
  event["resumed"] = report.resumed;
  event["began_ns"] = report.pass.began_ns;
  event["files"] = report.pass.counts.files;
  event["bytes"] = report.pass.counts.bytes;
  event["damaged"] = report.pass.counts.damaged;
  event["edited"] = report.pass.counts.edited;
  event["unknown"] = report.pass.counts.unknown;
  event["unreadable"] = report.pass.counts.unreadable;
  event["bad_records"] = report.bad_records;
  event["damaged_in_all"] = report.damaged_in_all;
  return dump(event);
}

}  // namespace nb::cli
