// SPDX-License-Identifier: Apache-2.0
// What a client sends of a command line, and what a server takes of it.
#include "cli/host_command.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "base/text.hpp"
#include "cli/option_table.hpp"
#include "cli/parse.hpp"

using namespace nb;
using namespace nb::cli;

namespace {

using Words = std::vector<std::string>;

constexpr WallTime k_now{std::chrono::seconds(1'796'000'000)};

const HostCommandRow& row(CommandId id) {
  for (const HostCommandRow& each : host_command_table()) {
    if (each.id == id) return each;
  }
  FAIL("no such row");
  return host_command_table().front();
}

Words words_of(CommandId id, const Words& arguments, const std::string& path = {}) {
  const auto settings = parse_arguments(id, arguments);
  REQUIRE(settings);
  REQUIRE(*settings);
  const auto words = host_command_words(row(id), (*settings)->given, "/pool", RelPath::parse(path).value(), k_now);
  REQUIRE(words);
  return *words;
}

Error refused(const Words& words) {
  const auto request = parse_host_words(words);
  REQUIRE_FALSE(request);
  return request.error();
}

class Silent final : public session::CommandOutput {
 public:
  Status write(std::string_view) override { return {}; }
  Status problem(const Error&) override { return {}; }
  Status notice(const std::string&) override { return {}; }
};

}  // namespace

TEST_CASE("host command: of the options only those travel that the other side needs", "[cli]") {
  CHECK(words_of(CommandId::ls, {"-l", "-R", "--at", "7", "-e", "ssh -p 22", "--ssh-config=x", "--timeout=9",
                                 "/pool"}) == Words{"ls", "--long", "--recursive", "--at=7", "--", "/pool"});
  CHECK(words_of(CommandId::diff, {"--from=3", "--json", "/pool:a"}, "a/b") ==
        Words{"diff", "--from=3", "--json", "--", "/pool", "a/b"});
  CHECK(words_of(CommandId::generations, {"/pool"}) == Words{"generations", "--", "/pool"});
}

// What is not sent would be as good as not given. A drill is the client's, which asks for its sample alone.
TEST_CASE("host command: no option of a command's own is left behind", "[cli]") {
  for (const HostCommandRow& each : host_command_table()) {
    if (each.id == CommandId::drill) continue;
    const std::string sent = " " + std::string(each.options) + " " + std::string(each.whens) + " ";
    for (const OptionRow& option : option_table()) {
      const std::string group = option.group;
      if ((option.commands & mask_of(each.id)) == 0 || (group != "Options" && group != "What stays")) continue;
      INFO(command_row(each.id).name << " " << option.names);
      CHECK(sent.find(" " + std::string(long_name(option)) + " ") != std::string::npos);
    }
  }
}

TEST_CASE("host command: what may travel can be given", "[cli]") {
  for (const HostCommandRow& row : host_command_table()) {
    for (const std::string_view name : split(row.options, ' ')) {
      if (name.empty()) continue;
      CAPTURE(std::string(name), command_row(row.id).name);
      const auto is_it = [&](const OptionRow& option) {
        return (option.commands & mask_of(row.id)) != 0 && long_name(option) == name;
      };
      CHECK(std::any_of(option_table().begin(), option_table().end(), is_it));
    }
  }
}

TEST_CASE("host command: heal reads from a directory, which is no time", "[cli]") {
  CHECK(words_of(CommandId::heal, {"--from=yesterday", "-n", "/pool"}) ==
        Words{"heal", "--from=yesterday", "--dry-run", "--", "/pool"});
  CHECK(words_of(CommandId::scrub, {"--part=2/30", "--time=1h", "--bwlimit=1m", "/pool"}) ==
        Words{"scrub", "--part=2/30", "--time=1h", "--bwlimit=1m", "--", "/pool"});
}

TEST_CASE("host command: a time travels as an absolute one", "[cli]") {
  CHECK(words_of(CommandId::cat, {"--at=-1h", "/pool:f"}, "f")[1] == "--at=@1795996400.000000000");
  CHECK(words_of(CommandId::cat, {"--at=latest", "/pool:f"}, "f")[1] == "--at=latest");
  const auto bad = host_command_words(row(CommandId::cat), {"--at=someday"}, "/pool", RelPath(), k_now);
  REQUIRE_FALSE(bad);
  CHECK(bad.error().code == Errc::usage);
  CHECK(bad.error().context.starts_with("--at: "));
}

TEST_CASE("host command: what was sent is understood", "[cli]") {
  const auto request = parse_host_words(words_of(CommandId::ls, {"--at=@5.25", "-l", "--json", "/pool"}, "a b/c"));
  REQUIRE(request);
  CHECK(request->row->id == CommandId::ls);
  const HostJob& job = request->job;
  CHECK(job.place == "/pool");
  CHECK(job.path.str() == "a b/c");
  CHECK(job.settings.at == "@5.250000000");
  CHECK(job.settings.long_form);
  CHECK(job.settings.json);
  CHECK_FALSE(job.settings.recursive);
  // What looks like an option behind "--" is a place.
  CHECK(parse_host_words({"ls", "--", "--at=3"})->job.place == "--at=3");
}

TEST_CASE("host command: nothing else can be reached", "[cli]") {
  for (const char* word :
       {"--log-file=/tmp/x", "-e", "--rsh=sh", "--rsh=sh -c id", "--ssh-config=/x", "--remote-path=/x", "--timeout=1",
        "--root=/", "--read-only", "-l", "--long=1", "--at", "--a", "--json=yes", "", "x"}) {
    INFO(word);
    CHECK(refused({"ls", word, "--", "/pool"}).code == Errc::unsupported);
  }
  for (const CommandRow& command : command_table()) {
    INFO(command.name);
    const auto rows = host_command_table();
    const bool listed = std::any_of(rows.begin(), rows.end(), [&](const auto& each) { return each.id == command.id; });
    const auto request = parse_host_words({command.name, "--", "/pool"});
    CHECK(request.has_value() == listed);
    if (!request) CHECK(request.error().code == Errc::unsupported);
  }
  CHECK(refused({"cat", "--json", "--", "/pool", "f"}).code == Errc::unsupported);
  CHECK(refused({"rollback", "--to=3", "--wait=long", "--", "/pool"}).code == Errc::usage);
}

TEST_CASE("host command: places and paths are checked", "[cli]") {
  CHECK(refused({}).code == Errc::protocol);
  CHECK(refused({"ls"}).code == Errc::protocol);
  CHECK(refused({"--", "/pool"}).code == Errc::protocol);
  CHECK(refused({"ls", "/pool"}).code == Errc::protocol);
  CHECK(refused({"ls", "--"}).code == Errc::protocol);
  CHECK(refused({"ls", "--", "/pool", "a", "b"}).code == Errc::protocol);
  for (const char* path : {"/etc", "../x", "a/../b", "a//b", "a/", "."}) {
    INFO(path);
    CHECK(refused({"ls", "--", "/pool", path}).code == Errc::protocol);
  }
  CHECK(refused({"ls", "--", "/pool", ".nbackup/secret"}).code == Errc::path);
  CHECK(refused({"cat", "--", "/pool", "a/.nbackup/secret"}).code == Errc::path);
}

TEST_CASE("host command: who may only read cannot decide", "[cli]") {
  const HostCommandRow looks{CommandId::ls, Right::read, "", "", nullptr};
  const HostCommandRow decides{CommandId::ls, Right::decide, "", "", nullptr};
  const HostCommandRow adds{CommandId::ls, Right::add, "", "", nullptr};
  ServeRights rights;
  CHECK(check_right(looks, {}, rights));
  CHECK(check_right(adds, {}, rights));
  CHECK(check_right(decides, {}, rights));
  rights.read_only = true;
  CHECK(check_right(looks, {}, rights));
  CHECK(check_right(adds, {}, rights).error().code == Errc::read_only);
  CHECK(check_right(decides, {}, rights).error().code == Errc::read_only);
  rights = {std::nullopt, false, true};
  CHECK(check_right(looks, {}, rights));
  CHECK(check_right(adds, {}, rights));
  CHECK(check_right(decides, {}, rights).error().code == Errc::read_only);
  Settings settings;
  CHECK(check_right(row(CommandId::prune), settings, rights).error().code == Errc::read_only);
  CHECK(check_right(row(CommandId::policy), settings, rights));
  settings.keep.emplace();
  CHECK(check_right(row(CommandId::policy), settings, rights).error().code == Errc::read_only);
  settings.flags |= wire::k_flag_dry_run;
  CHECK(check_right(row(CommandId::prune), settings, rights));
  CHECK(row(CommandId::scrub).needs == Right::add);
  CHECK(row(CommandId::heal).right_for(settings) == Right::read);
  CHECK(row(CommandId::heal).needs == Right::decide);
  for (const CommandId id : {CommandId::generations, CommandId::ls, CommandId::cat, CommandId::diff}) {
    CHECK(row(id).needs == Right::read);
  }
}

TEST_CASE("host command: a set outside of the root does not exist", "[cli]") {
  Silent output;
  SystemClock clock;
  const ServeRights rights{"/usr/share", true, false};
  wire::Command command;
  command.words = {"ls", "--", "/etc"};
  const auto answer = answer_host_command(command, rights, output, clock);
  REQUIRE_FALSE(answer);
  CHECK(answer.error().code == Errc::path);
}
