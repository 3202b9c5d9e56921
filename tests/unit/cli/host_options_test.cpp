// SPDX-License-Identifier: Apache-2.0
#include "cli/host_options.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>

#include "cli/option_table.hpp"
#include "cli/parse.hpp"
#include "cli/user_files.hpp"
#include "support/temp_dir.hpp"

using namespace nb;
using namespace nb::cli;

namespace {

using Words = std::vector<std::string>;

Words options(std::string_view text, std::string_view host, CommandId command = CommandId::push) {
  const auto words = options_for(text, "f", host, command);
  if (!words) FAIL(words.error().message());
  return *words;
}

std::string refused(std::string_view text) {
  const auto words = options_for(text, "f", "elsewhere", CommandId::push);
  REQUIRE_FALSE(words.has_value());
  CHECK(words.error().code == Errc::usage);
  return words.error().context;
}

void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

// Sets variables for as long as it lives.
class Environment {
 public:
  ~Environment() {
    for (const auto& name : m_names) ::unsetenv(name.c_str());
  }
  void set(const std::string& name, const std::string& value) {
    m_names.push_back(name);
    ::setenv(name.c_str(), value.c_str(), 1);
  }

 private:
  std::vector<std::string> m_names;
};

constexpr std::string_view k_text = R"(# for all that is at home
Host rpi4 NAS-* !nas-old
  ssh-security integrity
	bwlimit = 20m

host *
  ssh-security=encrypted
  rsh  ssh -p 2222
  retry 3
  zl 4
  no-compress
)";

}  // namespace

TEST_CASE("a host has the options of every block that names it, and the first value counts", "[cli]") {
  const Words rest{"--rsh=ssh -p 2222", "--retry=3", "--compress-level=4", "--no-compress"};
  for (const char* host : {"rpi4", "RPI4", "nas-1"}) {
    Words expected{"--ssh-security=integrity", "--bwlimit=20m"};
    expected.insert(expected.end(), rest.begin(), rest.end());
    CHECK(options(k_text, host) == expected);
  }
  for (const char* host : {"rpi40", "nas-old", "other"}) {
    CHECK(options(k_text, host).front() == "--ssh-security=encrypted");
    CHECK(options(k_text, host).size() == 5);
  }
  CHECK(options("", "rpi4").empty());
  CHECK(options("Host x\n retry 3\n", "rpi4").empty());
}

TEST_CASE("a command passes over the options that it does not take", "[cli]") {
  CHECK(options(k_text, "rpi4", CommandId::deploy) == Words{"--rsh=ssh -p 2222"});
  CHECK(options(k_text, "rpi4", CommandId::scrub) == Words{"--ssh-security=integrity", "--rsh=ssh -p 2222"});
  CHECK(options("Host *\ntimeout 9\n", "h", CommandId::init).empty());
  CHECK(options("Host *\ntimeout 9\n", "h", CommandId::ls) == Words{"--timeout=9"});
}

TEST_CASE("a line that says nothing is named, whichever host it is for", "[cli]") {
  CHECK(refused("\nretry 3\n") == "f:2: 'retry' stands before the first Host");
  CHECK(refused("Host a\n\n  delete\n") == "f:3: 'delete' is no option of the connection (see the manual)");
  CHECK(refused("Host a\n--retry 3") == "f:2: '--retry' is no option of the connection (see the manual)");
  CHECK(refused("Host\n") == "f:1: Host needs a name, or * for all");
  CHECK(refused("Host a\nretry\n") == "f:2: retry needs a value");
  CHECK(refused("Host a\nno-compress yes\n") == "f:2: no-compress takes no value");
  CHECK(refused("Host a\nssh-security most\n") == "f:2: 'most' is none of encrypted, integrity and off");
  CHECK(refused("Host a\nretry 3 4\n").starts_with("f:2: "));
}

TEST_CASE("every option of the connection can be set for a host, with each of its long names", "[cli]") {
  for (const OptionRow& row : option_table()) {
    if (!is_of_connection(row)) continue;
    const std::string name(long_name(row).substr(2));
    const auto words = options_for("Host *\n" + name + (row.kind == OptionKind::valued ? " ?" : ""), "f", "h",
                                   CommandId::push);
    if (!words) CHECK(words.error().context.find("is no option") == std::string::npos);
  }
}

TEST_CASE("the user's file is read for the host that is named, and the command line wins", "[cli]") {
  const test::TempDir dir;
  const std::string file = dir.path("config");
  write(file, "Host rpi4\n retry 3\n ssh-security integrity\n contimeout 7\n");
  Environment environment;
  environment.set("NBACKUP_CONFIG", file);
  const auto words = [](CommandId command, const Words& arguments) {
    const auto configured = configured_options(parse_arguments(command, arguments)->value());
    if (!configured) FAIL(configured.error().message());
    return *configured;
  };
  const Words all{"--retry=3", "--ssh-security=integrity", "--contimeout=7"};
  CHECK(words(CommandId::push, {"/data", "rpi4:/pool"}) == all);
  CHECK(words(CommandId::pull, {"me@rpi4:/pool", "/data"}) == all);
  CHECK(words(CommandId::push, {"/data", "ssh://rpi4:2222/pool"}) == all);
  CHECK(words(CommandId::deploy, {"me@rpi4"}) == Words{"--contimeout=7"});
  CHECK(words(CommandId::bench, {"rpi4"}) == Words{"--ssh-security=integrity", "--contimeout=7"});
  CHECK(words(CommandId::push, {"rpi4", "/pool"}).empty());
  CHECK(words(CommandId::status, {"rpi4:/pool"}).empty());
  CHECK(words(CommandId::serve, {}).empty());

  Words both = words(CommandId::push, {"/data", "rpi4:/pool"});
  for (const char* given : {"--retry=1", "/data", "rpi4:/pool"}) both.emplace_back(given);
  const auto settings = parse_arguments(CommandId::push, both)->value();
  CHECK(settings.retries == 1);
  CHECK(settings.security == ssh::Security::integrity);
}

TEST_CASE("a file that others may write is refused, and one that is not there is none", "[cli]") {
  const test::TempDir dir;
  const std::string file = dir.path("config");
  Environment environment;
  environment.set("NBACKUP_CONFIG", file);
  const Settings settings = parse_arguments(CommandId::push, {"/data", "rpi4:/pool"})->value();
  CHECK(configured_options(settings)->empty());
  write(file, "Host *\nretry 3\n");
  REQUIRE(::chmod(file.c_str(), 0664) == 0);
  CHECK(configured_options(settings).error().code == Errc::usage);
  REQUIRE(::chmod(file.c_str(), 0644) == 0);
  CHECK(configured_options(settings)->size() == 1);
  if (::geteuid() == 0) {
    REQUIRE(::chown(file.c_str(), 65534, 0) == 0);
    CHECK(configured_options(settings).error().context.find("belongs to somebody else") != std::string::npos);
  }
  environment.set("NBACKUP_CONFIG", "/dev/null");
  CHECK(configured_options(settings)->empty());
  environment.set("NBACKUP_CONFIG", dir.path());
  CHECK(configured_options(settings).error().code == Errc::io);
}

TEST_CASE("where the user's files lie follows the environment", "[cli]") {
  Environment environment;
  environment.set("HOME", "/h");
  environment.set("XDG_CACHE_HOME", "relative");
  CHECK(memory_path().value() == "/h/.cache/nbackup/cache.db");
  CHECK(config_path().value() == "/h/.config/nbackup/config");
  environment.set("XDG_CACHE_HOME", "/x");
  environment.set("XDG_CONFIG_HOME", "/y");
  CHECK(memory_path().value() == "/x/nbackup/cache.db");
  CHECK(config_path().value() == "/y/nbackup/config");
  environment.set("NBACKUP_CACHE", "/n/c.db");
  environment.set("NBACKUP_CONFIG", "c");
  CHECK(memory_path().value() == "/n/c.db");
  CHECK(config_path().value() == "c");
}
