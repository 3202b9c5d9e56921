// SPDX-License-Identifier: Apache-2.0
// The list of damaged files and the record of scrubs: their bytes, what is refused, and that a file is found again
// where commits and prunes have moved it.
#include "txn/damage.hpp"

#include <catch2/catch.hpp>

#include "fs/sim_directory.hpp"
#include "golden.hpp"
#include "past_world.hpp"
#include "txn/scrub_record.hpp"

namespace nb::txn::test {
namespace {

hash::Digest digest() {
  hash::Digest value;
  for (std::size_t i = 0; i < value.bytes.size(); ++i) value.bytes[i] = static_cast<std::byte>(i);
  return value;
}

Damaged live_file() {
  return {std::nullopt, rel("a/file"), 12, {1'700'000'000, 5}, 70000, {1000, 5}, 70000, digest(), false, {{0, 65536}}};
}

Damaged kept_file() {
  Damaged file{8, rel("cut"), 300, {}, 0, {-1, 999'999'999}, 4096, digest(), true, {}};
  file.as_was = fs::Metadata{04755, {1, 2}, {-1, 999'999'999}, {{"user.x", "y"}}};
  return file;
}

ScrubRecord record() {
  ScrubRecord record;
  record.last = ScrubPass{{1, 1}, 1'700'000'000'000'000'000, 1'700'000'060'000'000'000, {10, 4096, 1, 2, 3, 4}};
  record.present = StandingPass{{{2, 30}, 1'700'000'100'000'000'000, 1'700'000'101'000'000'000, {5, 100, 0, 0, 0, 0}},
                                {8, rel("line\nend/x")}};
  return record;
}

ScrubRecord record_of_parts() {
  ScrubRecord all = record();
  for (const std::uint64_t part : {1U, 3U}) all.waiting.push_back({{{part, 30}, 7, 9, {}}, {std::nullopt, rel("f")}});
  return all;
}

void check_golden(const std::string& name, const Bytes& encoded) {
  INFO(name << ": " << to_hex(encoded));
  CHECK(encoded == golden(name));
}

TEST_CASE("records of damage and scrubs have the bytes that are documented", "[txn][scrub]") {
  check_golden("damaged", encode(live_file()));
  check_golden("damaged_kept", encode(kept_file()));
  check_golden("scrub", encode(record()));
  check_golden("scrub_waiting", encode(record_of_parts()));
  check_golden("scrub_never", encode(ScrubRecord()));
}

TEST_CASE("golden records of scrubs decode to what they were made from", "[txn][scrub]") {
  CHECK(encode(decode_damaged(golden("damaged")).value()) == encode(live_file()));
  CHECK(encode(decode_damaged(golden("damaged_kept")).value()) == encode(kept_file()));
  CHECK(encode(decode_damaged(golden("damaged_2")).value()) == encode(live_file()));
  Damaged of_version_1 = live_file();
  of_version_1.born = {};
  CHECK(encode(decode_damaged(golden("damaged_1")).value()) == encode(of_version_1));
  CHECK(decode_scrub_record(golden("scrub")).value() == record());
  CHECK(decode_scrub_record(golden("scrub_waiting")).value() == record_of_parts());
  CHECK(decode_scrub_record(golden("scrub_never")).value() == ScrubRecord());
}

TEST_CASE("records of scrubs refuse every truncation", "[txn][scrub]") {
  const auto refuses = [](const Bytes& whole, const auto& decode) {
    for (std::size_t length = 0; length < whole.size(); ++length) {
      INFO("length " << length << " of " << whole.size());
      REQUIRE(!decode(ByteView(whole).first(length)));
    }
  };
  refuses(encode(live_file()), decode_damaged);
  refuses(encode(kept_file()), decode_damaged);
  refuses(encode(record()), decode_scrub_record);
  refuses(encode(record_of_parts()), decode_scrub_record);
}

TEST_CASE("a damaged file has a path of the tree", "[txn][scrub]") {
  Damaged file = live_file();
  file.path = rel(".nbackup/1");
  CHECK(!decode_damaged(encode(file)));
  file.generation = 8;  // an anchor is one, in what is kept
  CHECK(decode_damaged(encode(file)));
  file.path = rel(".nbackup/head");
  CHECK(!decode_damaged(encode(file)));
  file.path = RelPath();
  CHECK(!decode_damaged(encode(file)));
}

struct List {
  fs::SimFileSystem disk;
  std::unique_ptr<fs::Directory> root = disk.root();
};

TEST_CASE("a list of damaged files comes back as it was written, and goes when it is empty", "[txn][scrub]") {
  List list;
  CHECK(read_damage(*list.root).value().empty());
  Damaged kept = kept_file();
  kept.born = {1, 0};
  REQUIRE(write_damage(*list.root, {live_file(), kept}));
  const auto read = read_damage(*list.root).value();
  REQUIRE(read.size() == 2);
  CHECK(encode(read[0]) == encode(live_file()));
  CHECK(encode(read[1]) == encode(kept));
  REQUIRE(write_damage(*list.root, {}));
  CHECK(!list.root->stat_at(k_damage_name));
}

TEST_CASE("where inodes have a birth, an entry without one is not believed", "[txn][scrub]") {
  List list;
  REQUIRE(write_damage(*list.root, {kept_file(), live_file()}));
  const auto read = read_damage(*list.root).value();
  REQUIRE(read.size() == 1);
  CHECK(read[0].path == live_file().path);
}

TEST_CASE("a list of damaged files that is cut off or changed is refused", "[txn][scrub]") {
  List list;
  REQUIRE(write_damage(*list.root, {live_file(), kept_file()}));
  const auto file = list.root->open_file(k_damage_name, fs::OpenMode::read_write).value();
  const std::uint64_t size = file->stat().value().size;
  for (std::uint64_t at = 0; at < size; ++at) {
    Bytes was(1);
    REQUIRE(file->read_at(at, was).value() == 1);
    REQUIRE(file->write_at(at, Bytes{was[0] ^ std::byte{1}}));
    INFO("byte " << at);
    REQUIRE(read_damage(*list.root).error().code == Errc::bad_set);
    REQUIRE(file->write_at(at, was));
  }
  for (std::uint64_t length = size; length-- > 0;) {
    REQUIRE(file->set_size(length));
    REQUIRE(read_damage(*list.root).error().code == Errc::bad_set);
  }
}

// What a scrub would have listed for a file that is there.
Damaged listed(fs::Directory& top, std::optional<std::uint64_t> generation, std::string_view path) {
  const fs::Stat stat = good(parent_in(top, rel(path))->stat_at(rel(path).name()));
  return {generation, rel(path), stat.inode, stat.born, stat.size, stat.mtime, stat.size, digest(), false, {}};
}

TEST_CASE("a damaged file is found again where history has taken it", "[txn][scrub]") {
  PastFixture<fs::test::SimWorld> f;
  f.set.file("stays", "s");
  f.set.file("replaced", "old");
  f.set.file("edited", "e");
  f.set.base(1);
  const std::vector<Damaged> before{listed(f.set.live(), std::nullopt, "stays"),
                                    listed(f.set.live(), std::nullopt, "replaced"),
                                    listed(f.set.live(), std::nullopt, "edited")};
  f.set.keep(2, "replaced");
  f.set.file("replaced", "new");
  f.set.remove("edited");
  f.set.file("edited", "another");
  f.set.commit(2, {kept("replaced")});
  const auto found = good(find_again(f.set.set(), before));
  REQUIRE(found.size() == 2);
  CHECK(found[0].path == rel("stays"));
  CHECK_FALSE(found[0].generation);
  CHECK(found[1].path == rel("replaced"));
  CHECK(found[1].generation == 2);
  // As thinning moves it to a newer generation.
  auto moved = found;
  moved[1].generation = 1;
  CHECK(good(find_again(f.set.set(), moved))[1].generation == 2);
}

TEST_CASE("a damaged file that is being written anew is known by its inode alone", "[txn][scrub]") {
  PastFixture<fs::test::SimWorld> f;
  f.set.file("x", "content");
  f.set.base(1);
  Damaged file = listed(f.set.live(), std::nullopt, "x");
  file.mtime.sec += 5;
  CHECK(good(find_again(f.set.set(), {file})).empty());
  file.is_being_healed = true;
  CHECK(good(find_again(f.set.set(), {file})).size() == 1);
  // Its number has been given out anew.
  ++file.born.sec;
  CHECK(good(find_again(f.set.set(), {file})).empty());
}

TEST_CASE("a record of scrubs that is damaged is as none", "[txn][scrub]") {
  PastFixture<fs::test::SimWorld> f;
  CHECK(good(read_scrub_record(f.set.set())) == ScrubRecord());
  REQUIRE(write_scrub_record(f.set.set(), record()));
  CHECK(good(read_scrub_record(f.set.set())) == record());
  const auto file = good(f.set.set().control().open_file(k_scrub_name, fs::OpenMode::read_write));
  REQUIRE(file->set_size(40));
  CHECK(good(read_scrub_record(f.set.set())) == ScrubRecord());
}

TEST_CASE("one scrub at a time", "[txn][scrub]") {
  PastFixture<fs::test::SimWorld> f;
  auto first = good(take_scrub_lock(f.set.set()));
  CHECK(take_scrub_lock(f.set.set()).error().code == Errc::locked);
  first.reset();
  CHECK(take_scrub_lock(f.set.set()));
}

}  // namespace
}  // namespace nb::txn::test
