// SPDX-License-Identifier: Apache-2.0
// The command line as people type it: combined letters, order of filters, odd names, and errors that name the option.
#include "cli/parse.hpp"

#include <catch2/catch.hpp>

#include "cli/option_table.hpp"

using namespace nb;
using namespace nb::cli;

namespace {

Settings parsed(CommandId command, const std::vector<std::string>& arguments) {
  auto settings = parse_arguments(command, arguments);
  if (!settings) FAIL(settings.error().message());
  REQUIRE(settings->has_value());
  return std::move(**settings);
}

std::string refused(CommandId command, const std::vector<std::string>& arguments) {
  const auto settings = parse_arguments(command, arguments);
  REQUIRE_FALSE(settings);
  CHECK(settings.error().code == Errc::usage);
  return settings.error().context;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("filter options keep the order of the command line", "[cli]") {
  const auto settings = parsed(CommandId::push, {"--exclude", "a", "/s", "--include=b", "--exclude-from", "f", "-v",
                                                 "--exclude=c,d", "--include", "[e]", "/d"});
  REQUIRE(settings.filters.size() == 5);
  const std::vector<std::pair<FilterKind, std::string>> expected{{FilterKind::exclude, "a"},
                                                                 {FilterKind::include, "b"},
                                                                 {FilterKind::exclude_from, "f"},
                                                                 {FilterKind::exclude, "c,d"},
                                                                 {FilterKind::include, "[e]"}};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(settings.filters[i].kind == expected[i].first);
    CHECK(settings.filters[i].text == expected[i].second);
  }
  CHECK(settings.arguments == std::vector<std::string>{"/s", "/d"});
}

TEST_CASE("combined short options, with a value at the end", "[cli]") {
  const auto settings = parsed(CommandId::push, {"-avnxie", "ssh -p 2222", "/s", "h:/d"});
  CHECK(settings.verbosity == 1);
  CHECK(settings.itemize);
  CHECK(settings.has(wire::k_flag_dry_run));
  CHECK(settings.has(wire::k_flag_one_file_system));
  CHECK_FALSE(settings.has(wire::k_flag_delete));
  CHECK(settings.rsh == "ssh -p 2222");
  CHECK(parsed(CommandId::push, {"-vv", "/s", "-v", "/d"}).verbosity == 3);
  CHECK(parsed(CommandId::push, {"-essh", "/s", "/d"}).rsh == "ssh");
}

TEST_CASE("a toggle takes no value: what says no would be a yes", "[cli]") {
  for (const char* word : {"--delete=false", "--delete=0", "--no-history=no", "--new-set=0", "-n=false", "-v=3"}) {
    CAPTURE(word);
    refused(CommandId::push, {word, "/s", "/d"});
  }
  CHECK(contains(refused(CommandId::push, {"--delete=false", "/s", "/d"}), "--delete takes no value"));
  CHECK(parsed(CommandId::push, {"--exclude", "--delete=false", "/s", "/d"}).filters.size() == 1);
}

TEST_CASE("rsync's letters for what is kept anyway are accepted", "[cli]") {
  const auto plain = parsed(CommandId::push, {"/s", "/d"});
  const auto full = parsed(CommandId::push, {"-aHAXS", "-rlptgoD", "--numeric-ids", "--partial", "-h", "/s", "/d"});
  CHECK(full.flags == plain.flags);
  CHECK(full.arguments == plain.arguments);
  CHECK(full.compression == plain.compression);
}

TEST_CASE("compression is on unless it is said otherwise, and the last word holds", "[cli]") {
  using codec::Compression, codec::CompressionMode;
  const auto compression = [](std::vector<std::string> options) {
    options.insert(options.end(), {"/s", "/d"});
    return parsed(CommandId::push, options).compression;
  };
  CHECK(compression({}) == std::nullopt);
  CHECK(compression({"-avz"}) == Compression{});
  CHECK(compression({"--compress"})->mode == CompressionMode::automatic);
  CHECK(compression({"--no-compress"})->mode == CompressionMode::off);
  CHECK(compression({"--compress-level=9"}) == Compression{CompressionMode::fixed, 9});
  CHECK(compression({"--zl", "-3"}) == Compression{CompressionMode::fixed, -3});
  CHECK(compression({"--zl=0"})->mode == CompressionMode::off);
  CHECK(compression({"--no-compress", "-z"}) == Compression{});
  for (const char* bad : {"20", "-8", "x", "3x", "99999999999"}) {
    CHECK(contains(refused(CommandId::pull, {"--compress-level", bad, "/s", "/d"}), "--compress-level"));
  }
}

TEST_CASE("numbers and their limits", "[cli]") {
  CHECK(parsed(CommandId::push, {"/s", "/d"}).max_delete == -2);
  CHECK(parsed(CommandId::push, {"--max-delete", "-1", "/s", "/d"}).max_delete == -1);
  CHECK(parsed(CommandId::push, {"--max-delete=0", "/s", "/d"}).max_delete == 0);
  CHECK(parsed(CommandId::push, {"--retry=3", "/s", "/d"}).retries == 3);
  CHECK(parsed(CommandId::push, {"--wait=90", "/s", "/d"}).wait == std::chrono::seconds(90));
  CHECK(parsed(CommandId::push, {"--bwlimit=2m", "/s", "/d"}).bytes_per_second == 2U << 20);
  CHECK(contains(refused(CommandId::push, {"--max-delete=-2", "/s", "/d"}), "--max-delete"));
  CHECK(contains(refused(CommandId::push, {"--max-delete=1k", "/s", "/d"}), "1k"));
  CHECK(contains(refused(CommandId::push, {"--timeout=-1", "/s", "/d"}), "--timeout"));
  CHECK(contains(refused(CommandId::push, {"--retry=x", "/s", "/d"}), "--retry"));
}

TEST_CASE("of two values the last one counts", "[cli]") {
  CHECK(parsed(CommandId::push, {"--wait=1", "--wait=2", "/s", "/d"}).wait == std::chrono::seconds(2));
  CHECK(parsed(CommandId::push, {"--progress", "--no-progress", "/s", "/d"}).progress == ProgressChoice::never);
  CHECK(parsed(CommandId::push, {"--no-progress", "-P", "/s", "/d"}).progress == ProgressChoice::always);
}

TEST_CASE("odd names are names", "[cli]") {
  const auto settings = parsed(CommandId::push, {"[a]", "pull", "", "--", "--delete", "-", "x=y"});
  CHECK(settings.arguments == std::vector<std::string>{"[a]", "pull", "", "--delete", "-", "x=y"});
  CHECK_FALSE(settings.has(wire::k_flag_delete));
}

TEST_CASE("an empty value never swallows a source", "[cli]") {
  CHECK(contains(refused(CommandId::push, {"--exclude=", "/s", "/d"}), "--exclude="));
  CHECK(contains(refused(CommandId::push, {"--log-file=", "/s", "/d"}), "--log-file="));
  for (const char* option :
       {"--before", "--after", "--on-failure", "-e", "--remote-path", "--ssh-config", "--exclude"}) {
    INFO(option);
    CHECK(contains(refused(CommandId::push, {option, "", "/s", "/d"}), "needs a value"));
  }
  CHECK(parsed(CommandId::push, {"--", "--x=", "/d"}).arguments.front() == "--x=");
}

TEST_CASE("unknown options, and options of other commands, are refused by name", "[cli]") {
  CHECK(contains(refused(CommandId::push, {"--no-such", "/s", "/d"}), "--no-such"));
  CHECK(contains(refused(CommandId::push, {"-vZ", "/s", "/d"}), "-Z"));
  CHECK(contains(refused(CommandId::verify, {"--max-delete=1", "/s", "/d"}), "--max-delete"));
  CHECK(contains(refused(CommandId::serve, {"--json"}), "--json"));
  CHECK(contains(refused(CommandId::pull, {"--new-set", "h:/s", "/d"}), "--new-set"));
  CHECK(contains(refused(CommandId::push, {"/s", "/d", "--rsh"}), "--rsh"));
}

TEST_CASE("the number of arguments is checked", "[cli]") {
  CHECK(contains(refused(CommandId::push, {"/s"}), "SRC... DEST"));
  CHECK(contains(refused(CommandId::init, {}), "more"));
  CHECK(contains(refused(CommandId::init, {"/a", "/b"}), "fewer"));
  CHECK(contains(refused(CommandId::serve, {"/a"}), "fewer"));
  CHECK(parsed(CommandId::status, {}).arguments.empty());
}

TEST_CASE("serve and status have options of their own", "[cli]") {
  const auto serve = parsed(CommandId::serve, {"--root", "/pool", "--read-only", "--bwlimit=1000B", "--timeout=5"});
  CHECK(serve.root == "/pool");
  CHECK(serve.read_only);
  CHECK(serve.bytes_per_second == 1000);
  CHECK(serve.timeout == std::chrono::seconds(5));
  const auto status = parsed(CommandId::status, {"--max-age=26h", "h:/p"});
  CHECK(status.max_age == std::chrono::hours(26));
}

TEST_CASE("help of every command fits 80 columns and names its options", "[cli]") {
  for (const CommandRow& row : command_table()) {
    const auto asked = parse_arguments(row.id, {"--help"});
    REQUIRE(asked);
    CHECK_FALSE(asked->has_value());
    const std::string help = command_help(row.id);
    CHECK(contains(help, std::string("nbackup ") + row.name));
    for (const OptionRow& option : option_table()) {
      const bool shown = (option.commands & mask_of(row.id)) != 0 && *option.group != '\0';
      INFO(row.name << " " << option.names);
      if (shown) CHECK(contains(help, option.names));
    }
    std::size_t begin = 0;
    for (std::size_t end = help.find('\n'); end != std::string::npos; begin = end + 1, end = help.find('\n', begin)) {
      INFO(help.substr(begin, end - begin));
      CHECK(end - begin <= 80);
    }
  }
}

TEST_CASE("commands are found by name only", "[cli]") {
  CHECK(find_command("push") == CommandId::push);
  CHECK_FALSE(find_command("Push"));
  CHECK_FALSE(find_command("--help"));
}

TEST_CASE("how secure the connection is to be, and with which algorithms", "[cli]") {
  const auto plain = parsed(CommandId::push, {"/s", "/d"});
  CHECK(plain.security == ssh::Security::encrypted);
  CHECK_FALSE(plain.algorithms.ciphers.has_value());
  const auto named = parsed(CommandId::pull, {"--ssh-security=integrity", "--ciphers=aes128-ctr,aes256-ctr", "--macs",
                                              "umac-64-etm@openssh.com", "--kex=curve25519-sha256", "h:/s", "/d"});
  CHECK(named.security == ssh::Security::integrity);
  CHECK(named.algorithms.ciphers == "aes128-ctr,aes256-ctr");
  CHECK(named.algorithms.macs == "umac-64-etm@openssh.com");
  CHECK(named.algorithms.kex == "curve25519-sha256");
  CHECK(contains(refused(CommandId::push, {"--ssh-security=none", "/s", "/d"}), "encrypted, integrity and off"));
  CHECK(contains(refused(CommandId::push, {"--ciphers=none", "/s", "/d"}), "--ssh-security=integrity"));
  CHECK(contains(refused(CommandId::push, {"--macs=^umac", "/s", "/d"}), "list of algorithm names"));
}

TEST_CASE("tampering is allowed twice or not at all", "[cli]") {
  for (const CommandId command : {CommandId::push, CommandId::pull, CommandId::verify}) {
    CHECK(contains(refused(command, {"--ssh-security=off", "h:/s", "/d"}), "--allow-tampering"));
    CHECK(parsed(command, {"--allow-tampering", "--ssh-security=off", "h:/s", "/d"}).security == ssh::Security::off);
  }
  CHECK(contains(refused(CommandId::init, {"--ssh-security=off", "h:/d"}), "--allow-tampering"));
  CHECK(parsed(CommandId::recover, {"--ssh-security=off", "--allow-tampering", "h:/d"}).allow_tampering);
}

TEST_CASE("--at takes what begins with a hyphen", "[cli]") {
  CHECK(parsed(CommandId::restore, {"/p:a", "/d", "--at", "-3d"}).at == "-3d");
  CHECK(parsed(CommandId::pull, {"--at=yesterday", "/p", "/d"}).at == "yesterday");
  CHECK(parsed(CommandId::restore, {"/p:a", "-"}).arguments.back() == "-");
  CHECK_FALSE(parsed(CommandId::restore, {"/p:a", "/d"}).at.has_value());
  CHECK(parsed(CommandId::restore, {"--verify", "/p:a", "/d"}).read_back);
  CHECK(contains(refused(CommandId::push, {"--at", "7", "/s", "/d"}), "--at"));
}
