// SPDX-License-Identifier: Apache-2.0
#include "cli/host_options.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "base/text.hpp"
#include "cli/option_table.hpp"
#include "cli/parse.hpp"
#include "support/temp_dir.hpp"
#include "unit/cli/environment.hpp"

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

// The user's file, named by NBACKUP_CONFIG, for as long as it lives; not there before write().
struct ConfigFile {
  ConfigFile() { environment.set("NBACKUP_CONFIG", path); }
  explicit ConfigFile(const std::string& text) : ConfigFile() { write(text); }
  void write(const std::string& text) const {
    std::ofstream(path) << text;
    REQUIRE(::chmod(path.c_str(), 0600) == 0);
  }

  test::TempDir dir;
  std::string path = dir.path("config");
  test::Environment environment;
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
  const Words rest{"--no-compress", "--compress-level=4", "--retry=3", "--rsh=ssh -p 2222"};
  for (const char* host : {"rpi4", "RPI4", "nas-1"}) {
    Words expected = rest;
    for (const char* own : {"--bwlimit=20m", "--ssh-security=integrity"}) expected.emplace_back(own);
    CHECK(options(k_text, host) == expected);
  }
  for (const char* host : {"rpi40", "nas-old", "other"}) {
    CHECK(options(k_text, host).back() == "--ssh-security=encrypted");
    CHECK(options(k_text, host).size() == 5);
  }
  CHECK(options("", "rpi4").empty());
  CHECK(options("Host x\n retry 3\n", "rpi4").empty());
}

TEST_CASE("of options that contradict each other the first counts too", "[cli]") {
  Words words = options("Host rpi4\nno-compress\nHost *\ncompress-level 9\n", "rpi4");
  CHECK(words == Words{"--compress-level=9", "--no-compress"});
  for (const char* argument : {"/data", "rpi4:/pool"}) words.emplace_back(argument);
  CHECK(parse_arguments(CommandId::push, words)->value().compression->mode == codec::CompressionMode::off);
}

TEST_CASE("files of this machine may lie in the user's home", "[cli]") {
  test::Environment environment;
  environment.set("HOME", "/h");
  CHECK(options("Host *\nrsh ~/bin/ssh -4\n", "h") == Words{"--rsh=/h/bin/ssh -4"});
  CHECK(options("Host *\nssh-config ~/c\n", "h") == Words{"--ssh-config=/h/c"});
  CHECK(options("Host *\nremote-path ~/bin/nbackup\n", "h") == Words{"--remote-path=~/bin/nbackup"});
}

TEST_CASE("a command passes over the options that it does not take", "[cli]") {
  CHECK(options(k_text, "rpi4", CommandId::deploy) == Words{"--rsh=ssh -p 2222"});
  CHECK(options(k_text, "rpi4", CommandId::scrub) == Words{"--rsh=ssh -p 2222", "--ssh-security=integrity"});
  CHECK(options("Host *\nciphers a\nmacs b\nkex c\n", "h").size() == 3);
  CHECK(options("Host *\nciphers a\nmacs b\nkex c\n", "h", CommandId::bench).empty());
  CHECK(options("Host *\ntimeout 9\n", "h", CommandId::init).empty());
  CHECK(options("Host *\ntimeout 9\n", "h", CommandId::ls) == Words{"--timeout=9"});
}

TEST_CASE("a line that says nothing is named, whichever host it is for", "[cli]") {
  const std::string not_one = " is no option that a host can have (the manual's 'Connection and waiting' lists them)";
  CHECK(refused("\nretry 3\n") == "f:2: 'retry' stands before the first Host");
  CHECK(refused("Host a\n\n  delete\n") == "f:3: 'delete'" + not_one);
  CHECK(refused("Host a\n--retry 3") == "f:2: '--retry'" + not_one);
  CHECK(refused("Host\n") == "f:1: Host needs a name, or * for all");
  CHECK(refused("Host a # the first\n") == "f:1: a comment needs a line of its own");
  CHECK(refused("Host a\nretry # often\n") == "f:2: a comment needs a line of its own");
  CHECK(refused("Host a\nrsh \"ssh -4\"\n") == "f:2: a value is not quoted");
  CHECK(refused("Host a\nretry\n") == "f:2: retry: needs a value");
  CHECK(refused("Host a\nNo-Compress yes\n") == "f:2: no-compress: takes no value");
  CHECK(refused("Host a\nssh-security most\n") == "f:2: ssh-security: 'most' is none of encrypted, integrity and off");
  CHECK(refused("Host a\nretry 3 4\n").starts_with("f:2: retry: "));
}

TEST_CASE("every option of the connection can be set for a host, with each of its long names", "[cli]") {
  for (const OptionRow& row : option_table()) {
    if (!is_of_connection(row)) continue;
    for (const std::string_view name : split(row.names, ',')) {
      if (!name.starts_with("--")) continue;
      const std::string line = std::string(name.substr(2)) + (row.kind == OptionKind::valued ? " ?" : "");
      const auto words = options_for("Host *\n" + line, "f", "h", CommandId::push);
      INFO(line);
      if (!words) CHECK(words.error().context.find("is no option") == std::string::npos);
    }
  }
}

TEST_CASE("the user's file is read for the host that is named, and the command line wins", "[cli]") {
  const ConfigFile file("Host rpi4\n retry 3\n ssh-security integrity\n contimeout 7\n");
  const auto words = [](CommandId command, const Words& arguments) {
    const auto configured = configured_options(parse_arguments(command, arguments)->value());
    if (!configured) FAIL(configured.error().message());
    return *configured;
  };
  const Words all{"--contimeout=7", "--ssh-security=integrity", "--retry=3"};
  CHECK(words(CommandId::push, {"/data", "rpi4:/pool"}) == all);
  CHECK(words(CommandId::pull, {"me@rpi4:/pool", "/data"}) == all);
  CHECK(words(CommandId::push, {"/data", "ssh://rpi4:2222/pool"}) == all);
  CHECK(words(CommandId::deploy, {"2001:db8::1"}).empty());
  CHECK(words(CommandId::deploy, {"me@rpi4"}) == Words{"--contimeout=7"});
  CHECK(words(CommandId::bench, {"rpi4"}) == Words{"--contimeout=7", "--ssh-security=integrity"});
  CHECK(words(CommandId::push, {"rpi4", "/pool"}).empty());
  CHECK(words(CommandId::status, {"rpi4:/pool"}).empty());
  CHECK(words(CommandId::serve, {}).empty());

  const Words arguments{"--retry=1", "/data", "rpi4:/pool"};
  const auto settings = parse_arguments(CommandId::push, arguments, configured_options)->value();
  CHECK(settings.retries == 1);
  CHECK(settings.security == ssh::Security::integrity);
  CHECK_FALSE(settings.config_error);
}

TEST_CASE("one part of a pair of options may stand in the file", "[cli]") {
  const ConfigFile file("Host *\nallow-tampering\n");
  const Words off{"--ssh-security=off", "/data", "rpi4:/pool"};
  CHECK(parse_arguments(CommandId::push, off, configured_options)->value().security == ssh::Security::off);
  CHECK_FALSE(parse_arguments(CommandId::push, off).has_value());
  file.write("Host *\nssh-security off\n");
  const auto refusal = parse_arguments(CommandId::push, {"/data", "rpi4:/pool"}, configured_options);
  REQUIRE_FALSE(refusal.has_value());
  CHECK(refusal.error().context.find("configuration file") != std::string::npos);
}

TEST_CASE("an unusable file is for the command to report, with all that the command line says", "[cli]") {
  const ConfigFile file("Host *\nwhat\n");
  const Words arguments{"--on-failure=f", "/data", "rpi4:/pool"};
  const auto settings = parse_arguments(CommandId::push, arguments, configured_options)->value();
  REQUIRE(settings.config_error);
  CHECK(settings.config_error->context.find(":2: 'what' is no option") != std::string::npos);
  CHECK(settings.on_failure == "f");
}

TEST_CASE("a file that others may write is refused, and one that is not there is none", "[cli]") {
  ConfigFile file;
  const Settings settings = parse_arguments(CommandId::push, {"/data", "rpi4:/pool"})->value();
  CHECK(configured_options(settings)->empty());
  file.write("Host *\nretry 3\n");
  REQUIRE(::chmod(file.path.c_str(), 0664) == 0);
  CHECK(configured_options(settings).error().code == Errc::usage);
  REQUIRE(::chmod(file.path.c_str(), 0644) == 0);
  CHECK(configured_options(settings)->size() == 1);
  if (::geteuid() == 0) {
    REQUIRE(::chown(file.path.c_str(), 65534, 0) == 0);
    CHECK(configured_options(settings).error().context.find("belongs to somebody else") != std::string::npos);
  }
  file.environment.set("NBACKUP_CONFIG", "/dev/null");
  CHECK(configured_options(settings)->empty());
  file.environment.set("NBACKUP_CONFIG", file.dir.path());
  CHECK(configured_options(settings).error().code == Errc::io);
}
