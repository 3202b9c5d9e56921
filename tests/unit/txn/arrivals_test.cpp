// SPDX-License-Identifier: Apache-2.0
// What came with a generation is known until a scrub has read it.
#include "txn/arrivals.hpp"

#include <catch2/catch.hpp>
#include <map>

#include "fs/sim_directory.hpp"
#include "tree.hpp"
#include "txn/file_set.hpp"
#include "txn/stage_log.hpp"

namespace nb::txn::test {
namespace {

std::map<std::string, std::uint64_t> sizes_in(const fs::Directory& control, std::uint64_t generation) {
  std::map<std::string, std::uint64_t> sizes;
  REQUIRE(for_each_arrival(control, generation, [&](const StagedRecord& record) -> Status {
    sizes[record.path.str()] = record.size;
    return {};
  }));
  return sizes;
}

StagedRecord staged(std::string_view path, std::uint64_t size) {
  return {RelPath::parse(path).value(), 1, false, size, {}, {}, false, 0, {}};
}

// A directory with a log of these records, as a stage has one.
void write_log(fs::Directory& stage, const std::vector<StagedRecord>& records) {
  auto log = StageLog::open(stage);
  REQUIRE(log);
  for (const StagedRecord& each : records) REQUIRE(log->append(each));
  REQUIRE(log->flush());
}

TEST_CASE("a log becomes what came with its generation", "[txn][scrub]") {
  const fs::SimFileSystem disk;
  const auto control = disk.root();
  const auto stage = control->create_directory("stage").value();
  StagedRecord tree = staged("d", 0);
  tree.is_tree = true;
  StagedRecord begun = staged("begun", 9);
  begun.is_partial = true;
  write_log(*stage, {staged("a", 1), tree, begun, staged("a", 2), staged("d/b", 3)});
  REQUIRE(keep_arrivals(*control, *stage, 7));
  CHECK(arrival_lists(*control).value() == std::vector<std::uint64_t>{7});
  CHECK(sizes_in(*control, 7) == std::map<std::string, std::uint64_t>{{"a", 2}, {"d/b", 3}});
  CHECK(!stage->stat_at(k_log_name));
  REQUIRE(drop_arrivals(*control, 7));
  CHECK(arrival_lists(*control).value().empty());
}

TEST_CASE("a log without records is not kept", "[txn][scrub]") {
  const fs::SimFileSystem disk;
  const auto control = disk.root();
  write_log(*control, {});
  CHECK(control->stat_at(k_log_name).value().size == k_empty_log_bytes);
  REQUIRE(keep_arrivals(*control, *control, 7));
  CHECK(arrival_lists(*control).value().empty());
}

TEST_CASE("a torn list ends where it is torn", "[txn][scrub]") {
  const fs::SimFileSystem disk;
  const auto control = disk.root();
  write_log(*control, {staged("a", 1), staged("b", 2)});
  REQUIRE(keep_arrivals(*control, *control, 7));
  const auto file = control->open_directory(k_arrivals_name).value()->open_file("7", fs::OpenMode::read_write).value();
  const std::uint64_t size = file->stat().value().size;
  for (std::uint64_t length = size; length-- > 0;) {
    REQUIRE(file->set_size(length));
    CHECK(sizes_in(*control, 7).size() <= 1);
  }
}

TEST_CASE("the oldest lists go when there are too many", "[txn][scrub]") {
  const fs::SimFileSystem disk;
  const auto control = disk.root();
  const auto arrivals = control->create_directory(k_arrivals_name).value();
  for (std::size_t i = 1; i <= k_most_arrival_lists; ++i) REQUIRE(arrivals->create_file(std::to_string(i)));
  write_log(*control, {staged("a", 1)});
  REQUIRE(keep_arrivals(*control, *control, 10'000));
  const auto lists = arrival_lists(*control).value();
  CHECK(lists.size() == k_most_arrival_lists);
  CHECK(lists.front() == 2);
  CHECK(lists.back() == 10'000);
}

TEST_CASE("too many lists are looked for by generations that bring nothing, too", "[txn][scrub]") {
  const fs::SimFileSystem disk;
  const auto control = disk.root();
  const auto arrivals = control->create_directory(k_arrivals_name).value();
  for (std::size_t i = 1; i <= k_most_arrival_lists + 3; ++i) REQUIRE(arrivals->create_file(std::to_string(i)));
  write_log(*control, {});
  REQUIRE(keep_arrivals(*control, *control, 15'999));
  CHECK(arrival_lists(*control).value().size() == k_most_arrival_lists + 3);
  REQUIRE(keep_arrivals(*control, *control, 16'000));
  CHECK(arrival_lists(*control).value().size() == k_most_arrival_lists);
}

}  // namespace
}  // namespace nb::txn::test
