// SPDX-License-Identifier: Apache-2.0
// What a drill sends, believes and says.
#include <catch2/catch.hpp>

#include "cli/drill.hpp"
#include "cli/drill_report.hpp"
#include "cli/drill_sample.hpp"

using namespace nb;
using namespace nb::cli;

namespace {

SampledFile file_at(std::uint64_t generation, const std::string& path, std::uint64_t size) {
  return {generation, RelPath::parse(path).value(), size, {1'700'000'000, 5}, std::nullopt};
}

DrillSample sample() {
  DrillSample sample;
  sample.secret.assign(hash::k_secret_bytes, std::byte{7});
  sample.files = 3;
  sample.left_out = 1;
  sample.left_out_bytes = 99;
  sample.chosen = {file_at(3, "b/c", 0), file_at(7, "a", 5), file_at(7, "odd\nname\xff", 10)};
  sample.chosen[1].digest = hash::Digest{};
  return sample;
}

Error refused(const DrillSample& sample, const SampleBounds& asked = {10, 100}) {
  const auto read = decode_drill_sample(encode(sample), asked);
  REQUIRE_FALSE(read);
  return read.error();
}

}  // namespace

TEST_CASE("drill: a sample arrives as it was sent", "[cli]") {
  const auto read = decode_drill_sample(encode(sample()), {3, 15});
  REQUIRE(read);
  CHECK(*read == sample());
}

TEST_CASE("drill: a host cannot make a client restore what it did not ask for", "[cli]") {
  CHECK(refused(sample(), {2, 100}).code == Errc::protocol);
  CHECK(refused(sample(), {10, 14}).code == Errc::protocol);
  DrillSample twice = sample();
  twice.chosen.push_back(twice.chosen.back());
  CHECK(refused(twice).context.find("out of order") != std::string::npos);
  DrillSample inside = sample();
  inside.chosen.back().path = RelPath::parse("x/.nbackup/secret").value();
  CHECK(refused(inside).code == Errc::protocol);
  DrillSample root = sample();
  root.chosen.front().path = RelPath();
  CHECK(refused(root).code == Errc::protocol);
  DrillSample secret = sample();
  secret.secret.pop_back();
  CHECK(refused(secret).code == Errc::protocol);
}

TEST_CASE("drill: no prefix of a sample is a sample", "[cli]") {
  const Bytes whole = encode(sample());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto read = decode_drill_sample(ByteView(whole).first(size), {10, 100});
    REQUIRE_FALSE(read);
    CHECK(read.error().code == Errc::protocol);
  }
  Bytes longer = whole;
  longer.push_back(std::byte{0});
  CHECK_FALSE(decode_drill_sample(longer, {10, 100}));
}

TEST_CASE("drill: where a file comes from is what push made of it", "[cli]") {
  const RelPath path = RelPath::parse("data/sub/file").value();
  CHECK(DrillSource("/home/data").path_of(path) == "/home/data/sub/file");
  CHECK(DrillSource("/home/data/").path_of(path) == "/home/data/data/sub/file");
  CHECK(DrillSource("/").path_of(path) == "/data/sub/file");
  CHECK(DrillSource("other").open(path, file_at(1, "file", 0)) == nullptr);
}

TEST_CASE("drill: the exit code is that of the worst finding", "[cli]") {
  DrillResult result;
  CHECK(drill_exit_code(result) == 0);
  result.problems = 1;
  CHECK(drill_exit_code(result) == 23);
  result.counts.differing = 1;
  CHECK(drill_exit_code(result) == 40);
}

TEST_CASE("drill: the summary says what was compared with what", "[cli]") {
  DrillResult result{"rpi4:/pool", {100, 12'897'485, 98, 80, 2, 0}, 0, 0, 0, std::chrono::milliseconds(2600)};
  CHECK(summary_line(result) ==
        "drill of rpi4:/pool: 100 files, 12.3 MiB restored, 98 compared with the set's record, 80 with the source, "
        "2 with neither, 0 differ, 00:03");
  result = {"/p\n", {1, 5, 0, 1, 0, 1}, 2, 1, 3'435'973'836, std::chrono::milliseconds(0)};
  CHECK(summary_line(result) ==
        "drill of /p\\012: 1 file, 5 B restored, 0 compared with the set's record, 1 with the source, 1 differ, "
        "2 problems, 1 (3.2 GiB) left out beyond --limit, 00:00");
  CHECK(difference_line(file_at(7, "a\xff", 1), DifferenceFrom::record, {}) ==
        "a\\377 (generation 7): what was restored is not what the set recorded");
}
