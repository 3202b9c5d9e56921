// SPDX-License-Identifier: Apache-2.0
// Every event is one line of valid JSON whatever bytes a name holds, and names can be got back exactly.
#include "cli/json_events.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace nb;
using namespace nb::cli;
using nlohmann::json;

namespace {

// The rule that the manual gives to readers: \ooo stands for one byte.
std::string unescape(const std::string& text) {
  std::string raw;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      raw += static_cast<char>(std::stoi(text.substr(i + 1, 3), nullptr, 8));
      i += 3;
    } else {
      raw += text[i];
    }
  }
  return raw;
}

json one_line(const std::string& line) {
  CHECK(line.find('\n') == std::string::npos);
  return json::parse(line);
}

}  // namespace

TEST_CASE("names of any bytes survive --json", "[cli]") {
  std::string every_byte;
  for (int byte = 1; byte < 256; ++byte) {
    if (byte != '/') every_byte += static_cast<char>(byte);
  }
  for (const std::string& name :
       {every_byte.substr(0, 200), every_byte.substr(200), std::string("\xc3\xa9\\101"), std::string("\xed\xa0\x80")}) {
    wire::Item item;
    item.change = ">f+++++++++";
    item.path = RelPath::parse(name).value();
    const json event = one_line(json_item(item));
    CHECK(event["event"] == "item");
    CHECK(unescape(event["path"]) == name);
  }
}

TEST_CASE("start and summary carry what a program needs", "[cli]") {
  const RunStart start{CommandId::push, {"/a", "/b\xff"}, "h:/p", true, false};
  const json begun = one_line(json_start(start));
  CHECK(begun["event"] == "start");
  CHECK(begun["command"] == "push");
  CHECK(begun["sources"] == json::array({"/a", "/b\\377"}));
  CHECK(begun["dry_run"] == true);

  RunSummary summary;
  summary.start = start;
  summary.report.exit_code = 24;
  summary.report.problems = 2;
  summary.report.set = wire::Id{std::byte{0xAB}};
  summary.report.result.generation = 9;
  summary.report.result.files_new = 4;
  summary.report.counts.sent_bytes = 1ULL << 40;
  summary.report.counts.sent_plain_bytes = 1ULL << 41;
  summary.elapsed = std::chrono::milliseconds(1500);
  const json done = one_line(json_summary(summary));
  CHECK(done["event"] == "summary");
  CHECK(done["exit_code"] == 24);
  CHECK(done["generation"] == 9);
  CHECK_FALSE(done.contains("read_generation"));
  CHECK(done["changes"]["new"] == 4);
  CHECK(done["counts"]["sent_bytes"] == 1ULL << 40);
  CHECK(done["counts"]["sent_plain_bytes"] == 1ULL << 41);
  CHECK(done["set"] == "ab000000000000000000000000000000");
  CHECK(done["elapsed_ms"] == 1500);
}

TEST_CASE("errors carry code, exit code and the way out", "[cli]") {
  const json ended = one_line(json_error(Error{Errc::locked, 0, "h:/p\n"}, 44));
  CHECK(ended["event"] == "error");
  CHECK(ended["code"] == "locked");
  CHECK(ended["exit_code"] == 44);
  CHECK(ended["context"] == "h:/p\\012");
  CHECK(std::string(ended["hint"]).find("--wait") != std::string::npos);
  const json problem = one_line(json_problem(Error{Errc::vanished, 2, "open x"}));
  CHECK(problem["event"] == "problem");
  CHECK(problem["errno"] == 2);
  CHECK_FALSE(problem.contains("hint"));
}

TEST_CASE("phases, notices, remote lines and sets", "[cli]") {
  CHECK(one_line(json_phase(wire::PhaseKind::commit))["phase"] == "commit");
  CHECK(one_line(json_notice("a\tb"))["text"] == "a\\011b");
  CHECK(one_line(json_remote("\xff"))["event"] == "remote");
  CHECK(one_line(json_progress({}))["content_bytes"] == 0);
  StatusRow row;
  row.set.destination = "h:/p";
  CHECK_FALSE(one_line(json_status_row(row)).contains("age_seconds"));
  row.age = std::chrono::seconds(5);
  CHECK(one_line(json_status_row(row))["age_seconds"] == 5);
}

TEST_CASE("a connection's event says what was negotiated", "[cli]") {
  transport::RemoteLink link{ssh::Carrier::libssh, "libssh h:22", ssh::Negotiated{}};
  link.negotiated->cipher_in = link.negotiated->cipher_out = "none";
  link.negotiated->mac_in = link.negotiated->mac_out = "umac-64-etm@openssh.com";
  link.negotiated->server_version = "SSH-2.0-\xff";
  const json event = one_line(json_connection(link));
  CHECK(event["event"] == "connection");
  CHECK(event["carrier"] == "libssh");
  CHECK(event["security"] == "integrity");
  CHECK(event["cipher_out"] == "none");
  CHECK(event["mac_in"] == "umac-64-etm@openssh.com");
  CHECK(unescape(event["server"]) == "SSH-2.0-\xff");
  for (const char* member : {"kex", "host_key", "cipher_in", "mac_out", "compression"}) CHECK(event.contains(member));
  const json program = one_line(json_connection({ssh::Carrier::ssh_program, "ssh program: ssh h", {}}));
  CHECK(program["carrier"] == "program");
  CHECK(program["description"] == "ssh program: ssh h");
  CHECK_FALSE(program.contains("security"));
}
