// SPDX-License-Identifier: Apache-2.0
// The manual page is complete: every exit code, every option, every command and every JSON event is in it.
#include <catch2/catch.hpp>
#include <fstream>
#include <regex>
#include <sstream>

#include "base/errc.hpp"
#include "base/text.hpp"
#include "cli/json_events.hpp"
#include "cli/option_table.hpp"

using namespace nb;
using namespace nb::cli;

namespace {

std::string manual() {
  std::ifstream file(NB_MANUAL);
  REQUIRE(file.good());
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Option names as roff writes them: every hyphen escaped.
std::string roff(std::string_view name) { return std::regex_replace(std::string(name), std::regex("-"), "\\-"); }

}  // namespace

TEST_CASE("every exit code is in the manual with the names of its errors", "[cli]") {
  const std::string text = manual();
  for (const ErrcInfo& row : errc_table()) {
    INFO(row.exit_code << " " << row.name);
    // The table of exit codes has one item for each: ".It 44" and the names of the errors below it.
    const auto item = text.find("\n.It " + std::to_string(row.exit_code) + "\n");
    REQUIRE(item != std::string::npos);
    const auto next = text.find("\n.It ", item + 1);
    CHECK(text.substr(item, next - item).find(roff(row.name)) != std::string::npos);
  }
}

TEST_CASE("every option is in the manual", "[cli]") {
  const std::string text = manual();
  for (const OptionRow& row : option_table()) {
    for (const std::string_view name : split(row.names, ',')) {
      INFO(name);
      const std::string mdoc = ".Fl " + roff(name.substr(1));
      CHECK((text.find(mdoc) != std::string::npos || text.find(" " + mdoc.substr(1)) != std::string::npos));
    }
  }
}

TEST_CASE("every command is in the manual", "[cli]") {
  const std::string text = manual();
  for (const CommandRow& row : command_table()) CHECK(text.find(std::string(".Ic ") + row.name) != std::string::npos);
}

TEST_CASE("every event is in the manual", "[cli]") {
  const std::string text = manual();
  for (const char* event :
       {"start",   "connection", "phase",  "progress", "item", "problem",    "notice",     "remote",
        "summary", "error",      "cache",  "pruned",   "set",  "generation", "entry",      "decision",
        "policy",  "damaged",    "edited", "scrubbed", "heal", "healed",     "difference", "drill"}) {
    INFO(event);
    CHECK(text.find(std::string("\n.It Cm ") + event + "\n") != std::string::npos);
  }
}
