// SPDX-License-Identifier: Apache-2.0
#include "cli/summary.hpp"

#include <catch2/catch.hpp>

using namespace nb;
using namespace nb::cli;

namespace {

RunSummary push_summary() {
  RunSummary summary;
  summary.start = {CommandId::push, {"/data"}, "rpi4:/pool", false, false};
  summary.report.result.committed = true;
  summary.report.result.generation = 7;
  summary.report.result.files_new = 12;
  summary.report.result.files_changed = 3;
  summary.report.result.deleted = 1;
  summary.report.counts.sent_bytes = 4404019;
  summary.elapsed = std::chrono::milliseconds(1700);
  return summary;
}

}  // namespace

TEST_CASE("the summary line of a push", "[cli]") {
  CHECK(summary_line(push_summary()) ==
        "pushed /data to rpi4:/pool: generation 7, 12 new, 3 changed, 1 deleted, 4.2 MiB sent, 00:02");
}

TEST_CASE("what did not happen is not mentioned", "[cli]") {
  RunSummary summary = push_summary();
  summary.report.result = {};
  summary.report.counts.sent_bytes = 0;
  CHECK(summary_line(summary) == "pushed /data to rpi4:/pool: nothing to do, 0 B sent, 00:02");
}

TEST_CASE("problems, resumed and moved data and kept attributes are mentioned", "[cli]") {
  RunSummary summary = push_summary();
  summary.report.result.metadata_changed = 2;
  summary.report.result.resumed_bytes = 2048;
  summary.report.result.moved_bytes = 3072;
  summary.report.result.kept_aside = 5;
  summary.report.problems = 1;
  CHECK(summary_line(summary) ==
        "pushed /data to rpi4:/pool: generation 7, 12 new, 3 changed, 2 with new attributes, 1 deleted, 4.2 MiB sent, "
        "2.0 KiB resumed, 3.0 KiB moved there, 5 with attributes kept aside, 1 problem, 00:02");
}

TEST_CASE("a pull counts what it received, a dry run says that it was one", "[cli]") {
  RunSummary summary = push_summary();
  summary.start = {CommandId::pull, {"rpi4:/pool/a", "rpi4:/pool/b"}, "/restore", true, false};
  summary.report.result.committed = false;
  summary.report.counts.received_bytes = 10;
  CHECK(summary_line(summary) ==
        "dry run: would pull 2 sources to /restore: 12 new, 3 changed, 1 deleted, 10 B received, 00:02");
}

TEST_CASE("a restore says what it brought back", "[cli]") {
  RunSummary summary = push_summary();
  summary.start = {CommandId::restore, {"rpi4:/pool:a"}, "/restore", false, false};
  summary.report.read_generation = 1234;
  summary.report.counts.received_bytes = 10;
  CHECK(summary_line(summary) ==
        "restored rpi4:/pool:a to /restore: from generation 1,234, 12 new, 3 changed, 1 deleted, 10 B received, 00:02");
  summary.start.dry_run = true;
  CHECK(summary_line(summary).starts_with("dry run: would restore rpi4:/pool:a to /restore: from generation"));
}

TEST_CASE("a verification says what it found", "[cli]") {
  RunSummary summary = push_summary();
  summary.start.command = CommandId::verify;
  summary.report.counts.entries = 1234;
  summary.report.counts.total_bytes = 1U << 20;
  CHECK(summary_line(summary) == "verified /data against rpi4:/pool: no differences, 1,234 entries, 1.0 MiB, 00:02");
  summary.report.result.differences = 1;
  CHECK(summary_line(summary) == "verified /data against rpi4:/pool: 1 difference, 1,234 entries, 1.0 MiB, 00:02");
}

TEST_CASE("names cannot break the line", "[cli]") {
  RunSummary summary = push_summary();
  summary.start.sources = {"/da\nta\x1b[2J"};
  CHECK(summary_line(summary).find("/da\\012ta\\033[2J") != std::string::npos);
  CHECK(error_line(Error{Errc::unreadable, 13, "open a\nb"}) == "open a\\012b: Permission denied");
}

TEST_CASE("items as names and itemized", "[cli]") {
  wire::Item item;
  item.change = ">f+++++++++";
  item.path = RelPath::parse("dir/new").value();
  CHECK(item_line(item, ItemStyle::names) == "dir/new");
  CHECK(item_line(item, ItemStyle::itemized) == ">f+++++++++ dir/new");
  item.change = "*deleting";
  CHECK(item_line(item, ItemStyle::names) == "deleting dir/new");
  CHECK(item_line(item, ItemStyle::itemized) == "*deleting   dir/new");
  item.change = "cL+++++++++";
  item.detail = " -> a\tb";
  CHECK(item_line(item, ItemStyle::itemized) == "cL+++++++++ dir/new -> a\\011b");
  item.path = RelPath();
  item.detail.clear();
  CHECK(item_line(item, ItemStyle::names) == ".");
}

TEST_CASE("the statistics add up", "[cli]") {
  RunSummary summary = push_summary();
  summary.report.counts.entries = 2000;
  summary.report.counts.directories = 1;
  summary.report.counts.total_bytes = 1000;
  summary.report.counts.sent_bytes = 400;
  summary.report.counts.received_bytes = 100;
  summary.report.counts.sent_plain_bytes = 3000;
  summary.report.counts.received_plain_bytes = 100;
  const std::string text = stats_block(summary);
  CHECK(text.find("Number of entries: 2,000 in 1 directory\n") != std::string::npos);
  CHECK(text.find("Total bytes sent: 400 (3,000 before compression)\nTotal bytes received: 100 (100 b") !=
        std::string::npos);
  CHECK(text.find("speedup 2.00") != std::string::npos);
  summary.report.counts = {};
  summary.elapsed = std::chrono::milliseconds(0);
  CHECK(stats_block(summary).find("speedup 1.00") != std::string::npos);
}

TEST_CASE("what a connection uses, on one line", "[cli]") {
  transport::RemoteLink link{ssh::Carrier::libssh, "libssh h:22 (...)", ssh::Negotiated{}};
  ssh::Negotiated& made = *link.negotiated;
  made.kex = "curve25519-sha256";
  made.host_key_type = "ssh-ed25519";
  made.cipher_in = made.cipher_out = "aes128-gcm@openssh.com";
  made.compression = "none";
  const std::string gcm =
      "libssh, kex curve25519-sha256, host key ssh-ed25519, both ways aes128-gcm@openssh.com, compression none";
  CHECK(link_line(link) == gcm);
  RunSummary summary = push_summary();
  CHECK(stats_block(summary).find("Connection") == std::string::npos);
  summary.link = link;
  CHECK(stats_block(summary).ends_with("\nConnection: " + gcm + "\n"));
  made.cipher_in = "none";
  made.mac_in = "umac-64-etm@openssh.com";
  CHECK(link_line(link) ==
        "libssh, kex curve25519-sha256, host key ssh-ed25519, sent with aes128-gcm@openssh.com, "
        "received with none and umac-64-etm@openssh.com, compression none");
  CHECK(link_line({ssh::Carrier::ssh_program, "ssh program: ssh -x h\n", {}}) == "ssh program: ssh -x h\\012");
}
