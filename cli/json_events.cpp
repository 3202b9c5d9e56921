// SPDX-License-Identifier: Apache-2.0
#include "cli/json_events.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/hints.hpp"
#include "cli/json_parts.hpp"
#include "cli/option_table.hpp"
#include "cli/version.hpp"

namespace nb::cli {
namespace {

Json error_fields(std::string_view event_name, const Error& error) {
  Json event = event_of(event_name);
  event["code"] = info(error.code).name;
  event["errno"] = error.sys_errno;
  event["context"] = escape(error.context);
  event["message"] = escape(error.message());
  if (const auto hint = hint_for(error); !hint.empty()) event["hint"] = hint;
  return event;
}

std::string_view type_name(fs::FileType type) {
  switch (type) {
    case fs::FileType::regular: return "regular";
    case fs::FileType::directory: return "directory";
    case fs::FileType::symlink: return "symlink";
    case fs::FileType::fifo: return "fifo";
    case fs::FileType::socket: return "socket";
    case fs::FileType::char_device: return "char_device";
    case fs::FileType::block_device: return "block_device";
  }
  return "unknown";
}

std::string hex(const std::array<std::byte, 16>& id) { return to_hex(ByteView(id)); }

Json changes_of(const wire::RunResult& result) {
  return Json{{"new", result.files_new},
              {"changed", result.files_changed},
              {"attributes", result.metadata_changed},
              {"deleted", result.deleted},
              {"differences", result.differences},
              {"kept_aside", result.kept_aside},
              {"resumed_bytes", result.resumed_bytes},
              {"moved", result.files_moved},
              {"moved_bytes", result.moved_bytes}};
}

Json counts_of(const session::Counts& counts) {
  return Json{{"directories", counts.directories},
              {"entries", counts.entries},
              {"total_bytes", counts.total_bytes},
              {"content_bytes", counts.content_bytes},
              {"sent_bytes", counts.sent_bytes},
              {"received_bytes", counts.received_bytes},
              {"sent_plain_bytes", counts.sent_plain_bytes},
              {"received_plain_bytes", counts.received_plain_bytes}};
}

}  // namespace

std::string json_start(const RunStart& start) {
  Json event = event_of("start");
  event["version"] = k_version;
  event["command"] = command_row(start.command).name;
  event["sources"] = Json::array();
  for (const std::string& source : start.sources) event["sources"].push_back(escape(source));
  event["destination"] = escape(start.destination);
  event["dry_run"] = start.dry_run;
  return dump(event);
}

std::string json_connection(const transport::RemoteLink& link) {
  Json event = event_of("connection");
  const bool libssh = link.carrier == ssh::Carrier::libssh;
  event["carrier"] = libssh ? "libssh" : "program";
  event["description"] = escape(link.description);
  if (!link.negotiated) return dump(event);
  const ssh::Negotiated& made = *link.negotiated;
  event["security"] = security_name(ssh::security_of(made));
  event["kex"] = escape(made.kex);
  event["host_key"] = escape(made.host_key_type);
  event["cipher_out"] = escape(made.cipher_out);
  event["cipher_in"] = escape(made.cipher_in);
  event["mac_out"] = escape(made.mac_out);
  event["mac_in"] = escape(made.mac_in);
  event["compression"] = escape(made.compression);
  if (!made.server_version.empty()) event["server"] = escape(made.server_version);
  return dump(event);
}

std::string json_phase(wire::PhaseKind phase) {
  Json event = event_of("phase");
  event["phase"] = phase_name(phase);
  return dump(event);
}

std::string json_progress(const session::Counts& so_far) {
  Json event = event_of("progress");
  event.update(counts_of(so_far));
  return dump(event);
}

std::string json_item(const wire::Item& item) {
  Json event = event_of("item");
  event["change"] = escape(item.change);
  event["path"] = escape(item.path.str());
  event["detail"] = escape(item.detail);
  return dump(event);
}

std::string json_problem(const Error& error) { return dump(error_fields("problem", error)); }

std::string json_notice(std::string_view text) {
  Json event = event_of("notice");
  event["text"] = escape(text);
  return dump(event);
}

std::string json_remote(std::string_view line) {
  Json event = event_of("remote");
  event["text"] = escape(line);
  return dump(event);
}

std::string json_summary(const RunSummary& summary) {
  const session::RunReport& report = summary.report;
  Json event = event_of("summary");
  event["exit_code"] = report.exit_code;
  event["committed"] = report.result.committed;
  event["generation"] = report.result.generation;
  if (report.read_generation) event["read_generation"] = *report.read_generation;
  if (report.set) event["set"] = hex(*report.set);
  event["changes"] = changes_of(report.result);
  event["counts"] = counts_of(report.counts);
  event["problems"] = report.problems;
  event["elapsed_ms"] = summary.elapsed.count();
  return dump(event);
}

std::string json_error(const Error& error, int exit_code) {
  Json event = error_fields("error", error);
  event["exit_code"] = exit_code;
  return dump(event);
}

std::string json_status_row(const StatusRow& row) {
  const cache::KnownSet& set = row.set;
  Json event = event_of("set");
  event["destination"] = escape(set.destination);
  event["source"] = escape(set.source);
  if (set.set) event["set"] = hex(*set.set);
  event["generation"] = set.generation;
  event["last_push_ns"] = set.last_push_ns;
  if (row.age) event["age_seconds"] = row.age->count();
  event["last_exit"] = set.last_exit;
  event["bytes"] = set.bytes;
  event["entries"] = set.files;
  event["stale"] = row.stale;
  if (const auto& facts = row.report.facts) {
    event["history_bytes"] = facts->history_bytes;
    event["history_generations"] = facts->history_generations;
    event["last_scrub_ns"] = facts->last_scrub_ns;
    event["damaged_files"] = facts->damaged_files;
  }
  if (row.scrub_age) event["scrub_age_seconds"] = row.scrub_age->count();
  if (const auto& drill = row.report.drill) {
    event["last_drill_ns"] = drill->time_ns;
    event["drill_age_seconds"] = row.drill_age->count();
    event["drill_exit"] = drill->exit_code;
    event["drill_files"] = drill->files;
  }
  return dump(event);
}

std::string json_decision(const txn::Decision& decision) {
  Json event = event_of("decision");
  event["generation"] = decision.generation.number;
  event["time_ns"] = decision.generation.time_ns;
  event["keep"] = decision.fate == txn::Fate::keep;
  event["reasons"] = decision.reasons;
  return dump(event);
}

std::string json_pruned(const PruneSummary& summary) {
  Json event = event_of("pruned");
  event["set"] = escape(summary.root_path);
  event["policy"] = summary.policy;
  event["dropped"] = summary.dropped;
  event["kept"] = summary.kept;
  event["dry_run"] = summary.dry_run;
  return dump(event);
}

std::string json_policy(const txn::SetPolicy& policy, bool is_own) {
  Json event = event_of("policy");
  event["default"] = !is_own;
  const auto add = [&event](const char* name, std::uint64_t count) {
    if (count == txn::k_keep_all) {
      event[name] = "all";
    } else {
      event[name] = count;
    }
  };
  add("last", policy.keep.last);
  add("hourly", policy.keep.hourly);
  add("daily", policy.keep.daily);
  add("weekly", policy.keep.weekly);
  add("monthly", policy.keep.monthly);
  add("yearly", policy.keep.yearly);
  event["within_seconds"] = policy.keep.within_seconds;
  if (policy.max_delete) add("max_delete", *policy.max_delete);
  return dump(event);
}

std::string json_generation(const txn::Generation& generation) {
  const txn::RunAccount& account = generation.account;
  Json event = event_of("generation");
  event["generation"] = generation.number;
  if (generation.previous) event["previous"] = *generation.previous;
  event["time_ns"] = generation.time_ns;
  event["client"] = escape(account.client);
  event["new"] = account.created;
  event["changed"] = account.changed;
  event["deleted"] = account.deleted;
  event["new_bytes"] = account.new_bytes;
  return dump(event);
}

std::string json_listed(const wire::Entry& entry, const RelPath& path, Attributes attributes) {
  Json event = event_of("entry");
  event["path"] = escape(path.str());
  event["type"] = type_name(entry.type);
  if (attributes == Attributes::unknown) return dump(event);
  event["mode"] = fmt::format("{:04o}", entry.meta.mode);
  event["uid"] = entry.meta.owner.uid;
  event["gid"] = entry.meta.owner.gid;
  event["mtime"] = entry.meta.mtime.sec;
  event["mtime_nsec"] = entry.meta.mtime.nsec;
  if (entry.type == fs::FileType::regular) event["size"] = entry.size;
  if (entry.type == fs::FileType::symlink) event["target"] = escape(entry.target);
  return dump(event);
}

std::string json_difference(const SampledFile& file, DifferenceFrom from, const std::string& where) {
  Json event = event_of("difference");
  event["path"] = escape(file.path.str());
  event["generation"] = file.generation;
  event["from"] = name_of(from);
  if (!where.empty()) event["source"] = escape(where);
  return dump(event);
}

std::string json_drill(const DrillResult& result) {
  Json event = event_of("drill");
  event["pool"] = escape(result.pool);
  event["files"] = result.counts.files;
  event["bytes"] = result.counts.bytes;
  event["with_record"] = result.counts.with_record;
  event["with_source"] = result.counts.with_source;
  event["with_nothing"] = result.counts.with_nothing;
  event["differing"] = result.counts.differing;
  event["problems"] = result.problems;
  event["left_out"] = result.left_out;
  event["left_out_bytes"] = result.left_out_bytes;
  event["seconds"] = static_cast<double>(result.elapsed.count()) / 1000.0;
  event["exit_code"] = drill_exit_code(result);
  return dump(event);
}

std::string json_cache_use(const cache::ClientUse& use, const std::string& path) {
  Json event = event_of("cache");
  event["path"] = escape(path);
  event["file_bytes"] = use.file_bytes;
  event["digests"] = use.digests;
  event["signatures"] = use.signatures;
  event["signature_bytes"] = use.signature_bytes;
  event["bare_directories"] = use.bare_directories;
  event["sets"] = use.sets;
  return dump(event);
}

std::string json_cache_pruned(const cache::Pruned& gone) {
  Json event = event_of("pruned");
  event["digests"] = gone.digests;
  event["signatures"] = gone.signatures;
  event["bare_directories"] = gone.bare_directories;
  event["hosts"] = gone.hosts;
  return dump(event);
}

void JsonReporter::on_progress(const session::Counts& so_far) {
  if (m_progress == JsonProgress::on) line(json_progress(so_far));
}

void JsonReporter::line(const std::string& text) {
  std::fprintf(m_out, "%s\n", text.c_str());
  // A program reads along: events must not wait for a full buffer.
  std::fflush(m_out);
}

}  // namespace nb::cli
