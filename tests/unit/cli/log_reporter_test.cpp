// SPDX-License-Identifier: Apache-2.0
#include "cli/log_reporter.hpp"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <sstream>

using namespace nb;
using namespace nb::cli;

TEST_CASE("the log file is appended to, a line for each event", "[cli]") {
  std::string directory = "/tmp/nb-log-XXXXXX";
  REQUIRE(::mkdtemp(directory.data()) != nullptr);
  const std::string path = directory + "/log";
  for (int run = 0; run < 2; ++run) {
    auto log = open_log_reporter(path);
    REQUIRE(log);
    (*log)->on_start({CommandId::push, {"/a\n{}"}, "h:/p", false, false});
    (*log)->on_error(Error{Errc::locked, 0, "h:/p"}, 44);
  }
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  ::unlink(path.c_str());
  ::rmdir(directory.c_str());
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  REQUIRE(lines.size() == 6);
  CHECK(lines[0].find("start: push /a\\012{} to h:/p") != std::string::npos);
  CHECK(lines[1].find("[locked]") != std::string::npos);
  CHECK(lines[5].find("exit 44") != std::string::npos);
}

TEST_CASE("a log that cannot be written stops the run before it starts", "[cli]") {
  const auto log = open_log_reporter("/proc/nowhere/log");
  REQUIRE_FALSE(log);
  CHECK(log.error().code == Errc::usage);
}
