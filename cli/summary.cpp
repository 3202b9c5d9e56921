// SPDX-License-Identifier: Apache-2.0
#include "cli/summary.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/endpoints.hpp"
#include "cli/quantities.hpp"

namespace nb::cli {
namespace {

std::chrono::seconds whole_seconds(const RunSummary& summary) {
  return std::chrono::round<std::chrono::seconds>(summary.elapsed);
}

// Joins the parts that say something.
class Parts {
 public:
  void add(std::string part) {
    if (!m_text.empty()) m_text += ", ";
    m_text += part;
  }
  void add_count(std::uint64_t count, std::string_view what) {
    if (count != 0) add(format_count(count) + " " + std::string(what));
  }
  [[nodiscard]] const std::string& text() const { return m_text; }

 private:
  std::string m_text;
};

std::string heading(const RunStart& start) {
  const std::string from = escape(shown_together(start.sources));
  const std::string to = escape(start.destination);
  switch (start.command) {
    case CommandId::verify: return fmt::format("verified {} against {}", from, to);
    case CommandId::pull: return fmt::format("{} {} to {}", start.dry_run ? "dry run: would pull" : "pulled", from, to);
    case CommandId::restore:
      return fmt::format("{} {} to {}", start.dry_run ? "dry run: would restore" : "restored", from, to);
    case CommandId::rollback:
      return fmt::format("{} {} back to {}", start.dry_run ? "dry run: would roll" : "rolled", to, from);
    default: return fmt::format("{} {} to {}", start.dry_run ? "dry run: would push" : "pushed", from, to);
  }
}

void add_changes(Parts& parts, const RunSummary& summary) {
  const wire::RunResult& result = summary.report.result;
  const bool makes_one = summary.start.command == CommandId::push || summary.start.command == CommandId::rollback;
  if (makes_one && result.committed && result.generation != 0) {
    parts.add("generation " + format_count(result.generation));
  }
  if (summary.report.read_generation) {
    parts.add("from generation " + format_count(*summary.report.read_generation));
  }
  if (summary.report.counts_lost) {
    parts.add("committed before the connection was lost");
  } else if (result.files_new + result.files_changed + result.metadata_changed + result.deleted == 0) {
    parts.add("nothing to do");
  }
  if (result.durability_unsure) parts.add("not surely durable: that file system does not report failed syncs");
  parts.add_count(result.files_new, "new");
  parts.add_count(result.files_changed, "changed");
  parts.add_count(result.metadata_changed, "with new attributes");
  parts.add_count(result.deleted, "deleted");
}

void add_traffic(Parts& parts, const RunSummary& summary) {
  const session::RunReport& report = summary.report;
  const bool pull = summary.start.command == CommandId::pull || summary.start.command == CommandId::restore;
  parts.add(format_bytes(pull ? report.counts.received_bytes : report.counts.sent_bytes) +
            (pull ? " received" : " sent"));
  if (report.result.resumed_bytes != 0) parts.add(format_bytes(report.result.resumed_bytes) + " resumed");
  if (report.result.moved_bytes != 0) parts.add(format_bytes(report.result.moved_bytes) + " moved there");
  parts.add_count(report.result.kept_aside, "with attributes kept aside");
}

void add_findings(Parts& parts, const RunSummary& summary) {
  const std::uint64_t differences = summary.report.result.differences;
  parts.add(differences == 0 ? "no differences" : format_counted(differences, "difference", "differences"));
  parts.add(format_counted(summary.report.counts.entries, "entry", "entries"));
  parts.add(format_bytes(summary.report.counts.total_bytes));
}

std::string traffic(std::uint64_t bytes, std::uint64_t plain_bytes) {
  return fmt::format("{} ({} before compression)", format_count(bytes), format_count(plain_bytes));
}

std::string protection(const std::string& cipher, const std::string& mac) {
  return mac.empty() ? cipher : cipher + " and " + mac;
}

std::string rate(std::uint64_t bytes, std::chrono::milliseconds elapsed) {
  const auto ms = static_cast<double>(std::max<std::int64_t>(elapsed.count(), 1));
  return format_bytes(static_cast<std::uint64_t>(static_cast<double>(bytes) * 1000.0 / ms)) + "/s";
}

}  // namespace

std::string summary_line(const RunSummary& summary) {
  Parts parts;
  if (summary.start.command == CommandId::verify) {
    add_findings(parts, summary);
  } else {
    add_changes(parts, summary);
    if (summary.start.command != CommandId::rollback) add_traffic(parts, summary);
  }
  if (summary.report.problems != 0) parts.add(format_counted(summary.report.problems, "problem", "problems"));
  parts.add(format_elapsed(whole_seconds(summary)));
  return heading(summary.start) + ": " + parts.text();
}

std::string stats_block(const RunSummary& summary) {
  const session::Counts& counts = summary.report.counts;
  const wire::RunResult& result = summary.report.result;
  const auto wire_bytes = counts.sent_bytes + counts.received_bytes;
  std::string text = fmt::format("Number of entries: {} in {}\n", format_count(counts.entries),
                                 format_counted(counts.directories, "directory", "directories"));
  text += fmt::format("Number of new entries: {}\n", format_count(result.files_new));
  text += fmt::format("Number of changed entries: {} (and {} in attributes only)\n", format_count(result.files_changed),
                      format_count(result.metadata_changed));
  text += fmt::format("Number of deleted entries: {}\n", format_count(result.deleted));
  text += fmt::format("Total file size: {} bytes\n", format_count(counts.total_bytes));
  text += fmt::format("File content {}: {} bytes\n", summary.start.dry_run ? "to transfer, at most" : "transferred",
                      format_count(counts.content_bytes));
  text += fmt::format("Taken from an interrupted run: {} bytes\n", format_count(result.resumed_bytes));
  text += fmt::format("Moved or copied at the destination: {} bytes in {}\n", format_count(result.moved_bytes),
                      format_counted(result.files_moved, "file", "files"));
  text += fmt::format("Entries with attributes kept aside: {}\n", format_count(result.kept_aside));
  text += fmt::format("Total bytes sent: {}\nTotal bytes received: {}\n",
                      traffic(counts.sent_bytes, counts.sent_plain_bytes),
                      traffic(counts.received_bytes, counts.received_plain_bytes));
  text +=
      fmt::format("Elapsed: {}, {} on the wire, speedup {:.2f}\n", format_elapsed(whole_seconds(summary)),
                  rate(wire_bytes, summary.elapsed),
                  wire_bytes == 0 ? 1.0 : static_cast<double>(counts.total_bytes) / static_cast<double>(wire_bytes));
  if (summary.link) text += "Connection: " + link_line(*summary.link) + "\n";
  return text;
}

std::string link_line(const transport::RemoteLink& link) {
  if (!link.negotiated) return escape(link.description);
  const ssh::Negotiated& made = *link.negotiated;
  const std::string out = protection(made.cipher_out, made.mac_out);
  const std::string in = protection(made.cipher_in, made.mac_in);
  const std::string ways = out == in ? "both ways " + out : "sent with " + out + ", received with " + in;
  const std::string carrier = link.carrier == ssh::Carrier::libssh ? "libssh" : "ssh program";
  std::string text = carrier + ", kex " + made.kex + ", host key " + made.host_key_type + ", " + ways;
  if (!made.compression.empty()) text += ", compression " + made.compression;
  return escape(text);
}

std::string error_line(const Error& error) { return escape(error.message()); }

std::string item_line(const wire::Item& item, ItemStyle style) {
  const bool is_directory = item.change.size() > 1 && item.change[1] == 'd' && item.change[0] != '*';
  const std::string name =
      escape(item.path.is_root() ? "." : item.path.str()) + (is_directory ? "/" : "") + escape(item.detail);
  if (style == ItemStyle::itemized) return fmt::format("{:<11} {}", escape(item.change), name);
  return item.change.starts_with("*deleting") ? "deleting " + name : name;
}

}  // namespace nb::cli
