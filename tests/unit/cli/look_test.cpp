// SPDX-License-Identifier: Apache-2.0
#include "cli/look.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cli/json_events.hpp"
#include "cli/status_table.hpp"

using namespace nb;
using namespace nb::cli;

namespace {

txn::Generation generation(std::uint64_t number, const std::string& client) {
  txn::Generation made;
  made.number = number;
  made.time_ns = 1'796'000'000'000'000'000;
  made.account = {client, 1234, 5, 0, 3 << 20};
  return made;
}

wire::Entry entry(fs::FileType type, std::uint32_t mode) {
  wire::Entry made;
  made.type = type;
  made.meta.mode = mode;
  made.meta.owner = {1000, 100};
  made.meta.mtime = {1'796'000'000, 5};
  made.size = 12'345;
  made.target = "to\n";
  made.node = {8, 1};
  return made;
}

}  // namespace

TEST_CASE("generations: aligned lines under a heading", "[cli]") {
  const std::string text = generations_table({generation(7, "me@nas"), generation(12, "")}, 0);
  const std::string time = local_time(1'796'000'000'000'000'000);
  CHECK(text ==
        "NUMBER  TIME              CLIENT    NEW  CHANGED  DELETED    BYTES\n"
        "     7  " +
            time +
            "  me@nas  1,234        5        0  3.0 MiB\n"
            "    12  " +
            time + "  -       1,234        5        0  3.0 MiB\n");
  txn::Generation unknown;
  CHECK(generations_table({unknown}, 0).find("     0  -     -") != std::string::npos);
}

TEST_CASE("generations: the client's name gives way to the terminal", "[cli]") {
  const auto table = [](std::size_t columns) {
    return generations_table({generation(7, "a-user-with-a-name@a-host-with-a-long-name.example.org")}, columns);
  };
  CHECK(width_of(table(0)) > 80);
  CHECK(width_of(table(80)) == 80);
  CHECK(width_of(table(70)) == 70);
  // Nothing else is cut.
  CHECK(table(10).find("CLIENT") != std::string::npos);
  CHECK(table(10).find("3.0 MiB\n") != std::string::npos);
}

TEST_CASE("generations: a hostile name cannot play with the terminal", "[cli]") {
  CHECK(generations_table({generation(7, "\x1b[31m\n")}, 0).find("\\033[31m\\012") != std::string::npos);
}

TEST_CASE("ls: the long form", "[cli]") {
  const std::string time = local_time(1'796'000'000'000'000'000);
  const auto prefix = [](fs::FileType type, std::uint32_t mode) { return long_prefix(entry(type, mode)); };
  CHECK(prefix(fs::FileType::regular, 0644) == "-rw-r--r--    1000:100         12345 " + time + " ");
  CHECK(prefix(fs::FileType::directory, 01777) == "drwxrwxrwt    1000:100             - " + time + " ");
  CHECK(prefix(fs::FileType::regular, 06755).starts_with("-rwsr-sr-x "));
  CHECK(prefix(fs::FileType::regular, 07000).starts_with("---S--S--T "));
  CHECK(prefix(fs::FileType::block_device, 0600) == "brw-------    1000:100          8, 1 " + time + " ");
  CHECK(long_prefix(entry(fs::FileType::directory, 0), Attributes::unknown) ==
        "d?????????           ?             ?                ? ");
  wire::Entry odd = entry(fs::FileType::symlink, 0777);
  odd.meta.mtime = {INT64_MAX, 0};
  CHECK(long_prefix(odd).find("@9223372036854775807") != std::string::npos);
}

TEST_CASE("look: the JSON of a generation and of an entry", "[cli]") {
  auto json = nlohmann::json::parse(json_generation(generation(7, "me@\xFF")));
  CHECK(json["event"] == "generation");
  CHECK(json["generation"] == 7);
  CHECK_FALSE(json.contains("previous"));
  CHECK(json["client"] == "me@\\377");
  CHECK(json["new_bytes"] == 3 << 20);
  json = nlohmann::json::parse(json_listed(entry(fs::FileType::symlink, 0777), RelPath::parse("a/b").value()));
  CHECK(json["event"] == "entry");
  CHECK(json["path"] == "a/b");
  CHECK(json["type"] == "symlink");
  CHECK(json["mode"] == "0777");
  CHECK(json["target"] == "to\\012");
  CHECK(json["mtime"] == 1'796'000'000);
  CHECK(json["mtime_nsec"] == 5);
  CHECK_FALSE(json.contains("size"));
  CHECK(nlohmann::json::parse(json_listed(entry(fs::FileType::regular, 0644), RelPath()))["size"] == 12'345);
}
