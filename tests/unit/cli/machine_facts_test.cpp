// SPDX-License-Identifier: Apache-2.0
// What is read out of /proc, with texts as kernels write them.
#include "cli/machine_facts.hpp"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "cli/place_facts.hpp"
#include "cli/process_cpu.hpp"
#include "support/temp_dir.hpp"

using namespace nb;
using namespace nb::cli;

TEST_CASE("a process's name may hold blanks and parentheses", "[cli]") {
  const auto stat = parse_process_stat(
      "812 (a) R (b) S 77 812 812 0 -1 4194560 100 0 0 0 150 50 0 0 20 0 1 0 100 1000 10 18446744073709551615", 100);
  REQUIRE(stat);
  CHECK(stat->name == "a) R (b");
  CHECK(stat->parent == 77);
  CHECK(stat->cpu_seconds == Approx(2.0));
}

TEST_CASE("what is no /proc/PID/stat is nothing", "[cli]") {
  for (const char* text : {"", "1", "1 (x", "1 x) S 1", ")(", "1 (x) S 1 2 3", "1 (x)",
                           "1 (x) S one 1 1 0 -1 4194560 100 0 0 0 150 50 0"}) {
    INFO(text);
    CHECK_FALSE(parse_process_stat(text, 100));
  }
}

TEST_CASE("this process has a parent and uses processor time", "[cli]") {
  const auto stat = process_stat(::getpid());
  REQUIRE(stat);
  CHECK(stat->parent == ::getppid());
  CHECK(own_cpu_seconds() > 0);
  CHECK_FALSE(process_stat(0));
}

TEST_CASE("processors name themselves in several ways", "[cli]") {
  CHECK(cpu_model_in("processor\t: 0\nmodel name\t: AMD EPYC 7B13\nflags\t: aes\n") == "AMD EPYC 7B13");
  CHECK(cpu_model_in("processor\t: 0\nBogoMIPS\t: 108.00\n\nModel\t\t: Raspberry Pi 4 Model B Rev 1.4\n") ==
        "Raspberry Pi 4 Model B Rev 1.4");
  CHECK(cpu_model_in("").empty());
}

TEST_CASE("memory comes in KiB", "[cli]") {
  const char* text = "MemTotal:        3884876 kB\nMemFree:          100 kB\nMemAvailable:    1000 kB\n";
  CHECK(memory_in(text, "MemTotal") == 3884876ULL * 1024);
  CHECK(memory_in(text, "MemAvailable") == 1000ULL * 1024);
  CHECK(memory_in(text, "SwapTotal") == 0);
}

TEST_CASE("facts survive the way over, and a missing number is refused", "[cli]") {
  const MachineFacts facts = facts_of_this_machine(-1, SystemClock());
  auto fields = fields_of(facts);
  const auto back = machine_facts_in(fields);
  REQUIRE(back);
  CHECK(back->cpu_model == facts.cpu_model);
  CHECK(back->wall_seconds == facts.wall_seconds);
  CHECK(back->wall_seconds > 1'600'000'000);
  fields.erase("cores");
  CHECK(machine_facts_in(fields).error().code == Errc::protocol);
}

TEST_CASE("the kind of a mount", "[cli]") {
  const char* text =
      "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
      "45 22 0:40 / /mnt/x\\040y rw shared:2 master:1 - fuse.sshfs a:b rw\n46 22 0:41 / /odd rw\n";
  CHECK(mount_kind_in(text, 22) == "ext4");
  CHECK(mount_kind_in(text, 45) == "fuse.sshfs");
  CHECK(mount_kind_in(text, 46).empty());
  CHECK(mount_kind_in(text, 2).empty());
}

TEST_CASE("a place is looked at without leaving anything there", "[cli]") {
  const test::TempDir dir;
  const auto place = facts_of_place(dir.path("not/yet"));
  REQUIRE(place);
  CHECK_FALSE(place->exists);
  CHECK(place->directory == dir.path("").substr(0, dir.path("").find_last_not_of('/') + 1));
  CHECK(place->writable);
  CHECK(place->symlinks);
  CHECK(place->hard_links);
  CHECK_FALSE(place->folds_case);
  CHECK(place->free_bytes > 0);
  CHECK(std::filesystem::is_empty(dir.path("")));
  const auto back = place_facts_in(fields_of(*place));
  REQUIRE(back);
  CHECK(back->kind == place->kind);
  CHECK(back->hard_links);
  CHECK_FALSE(back->exists);
  std::filesystem::create_directory(dir.path("there"));
  CHECK(facts_of_place(dir.path("there"))->exists);
  CHECK_FALSE(place_facts_in({}));
}
