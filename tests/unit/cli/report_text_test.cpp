// SPDX-License-Identifier: Apache-2.0
// What hooks, pings and mails are told.
#include "cli/report_text.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace nb;
using namespace nb::cli;

namespace {

Settings settings_of(CommandId command, std::vector<std::string> arguments) {
  Settings settings;
  settings.command = command;
  settings.arguments = std::move(arguments);
  return settings;
}

bool has(const std::vector<std::string>& environment, const std::string& variable) {
  return std::find(environment.begin(), environment.end(), variable) != environment.end();
}

}  // namespace

TEST_CASE("a hook gets the arguments as they were written, and nothing of an outer hook", "[cli]") {
  const auto settings = settings_of(CommandId::push, {"/a b", "/c\xff", "h:/p"});
  const auto environment = hook_environment(
      settings, "before", nullptr, {"PATH=/bin", "NBACKUP_CACHE=/c", "NBACKUP_EXIT_CODE=9", "NBACKUP_HOOK=after"});
  CHECK(environment == std::vector<std::string>{"PATH=/bin", "NBACKUP_CACHE=/c", "NBACKUP_HOOK=before",
                                                "NBACKUP_COMMAND=push", "NBACKUP_SOURCE=/a b\n/c\xff",
                                                "NBACKUP_DESTINATION=h:/p"});
}

TEST_CASE("a hook is started however many sources there are", "[cli]") {
  Settings settings;
  settings.arguments = std::vector<std::string>(3000, std::string(99, 's'));
  settings.arguments.emplace_back("/pool");
  const auto environment = hook_environment(settings, "before", nullptr, {});
  const auto source = std::find_if(environment.begin(), environment.end(),
                                   [](const std::string& each) { return each.starts_with("NBACKUP_SOURCE="); });
  REQUIRE(source != environment.end());
  CHECK(source->size() < 70'000);
  CHECK(source->ends_with("s\n(2345 more)"));  // 655 lines of 100 bytes are less than 64 KiB
}

TEST_CASE("a hook after a run gets its figures, as far as there are any", "[cli]") {
  Outcome outcome;
  outcome.error = "cannot connect";
  const Finished failed{10, std::chrono::seconds(65), outcome};
  const auto settings = settings_of(CommandId::prune, {"h:/p"});
  auto environment = hook_environment(settings, "on-failure", &failed, {});
  CHECK(has(environment, "NBACKUP_EXIT_CODE=10"));
  CHECK(has(environment, "NBACKUP_SECONDS=65"));
  CHECK(has(environment, "NBACKUP_ERROR=cannot connect"));
  CHECK(environment.size() == 7);
  outcome.figures = RunFigures{7, 2, 19, 300, 40};
  environment = hook_environment(settings, "on-failure", &failed, {});
  CHECK(has(environment, "NBACKUP_GENERATION=7"));
  CHECK(has(environment, "NBACKUP_BYTES_RECEIVED=40"));
}

TEST_CASE("a report says what was done, what went wrong and how it ended", "[cli]") {
  Outcome outcome;
  const Finished finished{23, std::chrono::seconds(65), outcome};
  const auto settings = settings_of(CommandId::push, {"/a\n", "h:/p"});
  CHECK(report_lines(settings, finished) == "push /a\\012 to h:/p\nexit code 23 after 01:05\n");
  outcome.summary = "pushed /a to h:/p: nothing to do";
  outcome.add_problem({Errc::unreadable, 0, "x"});
  CHECK(report_lines(settings, finished) ==
        "pushed /a to h:/p: nothing to do\nx: cannot be read\nexit code 23 after 01:05\n");
}

TEST_CASE("of many problems the first are kept, and the number of all", "[cli]") {
  Outcome outcome;
  for (int i = 0; i < 200; ++i) outcome.add_problem({Errc::unreadable, 0, std::to_string(i)});
  CHECK(outcome.problems == 200);
  REQUIRE(outcome.lines.size() == Outcome::k_most_lines + 1);
  CHECK(outcome.lines.front() == "0: cannot be read");
  CHECK(outcome.lines.back() == "...");
}

TEST_CASE("the last line of an output is found however it comes", "[cli]") {
  LastLine last;
  CHECK(last.text().empty());
  last.add("first\nnbackup: /p: dro");
  last.add("pped 2\n\n");
  CHECK(last.text() == "/p: dropped 2");
  last.add(std::string(5000, 'x'));
  last.add(std::string(5000, 'x'));
  CHECK(last.text() == std::string(1000, 'x'));
}
