// SPDX-License-Identifier: Apache-2.0
// The records of history and the list of changes: their bytes, and what is refused.
#include "txn/generation.hpp"

#include <catch2/catch.hpp>

#include "fs/sim_directory.hpp"
#include "golden.hpp"
#include "txn/change_list.hpp"

namespace nb::txn::test {
namespace {

RelPath path(std::string_view text) { return RelPath::parse(text).value(); }

Generation sample() {
  Generation generation{8, 7, {}, 1'700'000'000'123'456'789, {"backup@laptop", 3, 2, 1, 4096}};
  for (std::size_t i = 0; i < generation.transaction.size(); ++i) generation.transaction[i] = static_cast<std::byte>(i);
  return generation;
}

Generation oldest() { return {7, std::nullopt, {}, 0, {}}; }

std::vector<Change> changes() {
  const fs::Metadata metadata{04755, {1000, 100}, {-1, 999'999'999}, {{"user.x", std::string("\0y", 2)}}};
  return {Absent{path("new"), false}, Absent{path("a/lost"), true}, KeptEntry{path("a/file"), fs::FileType::regular},
          OldMetadata{RelPath(), metadata, false}, OldMetadata{path("a/two names"), metadata, true}};
}

constexpr ChangesHeader k_header{8, 7};

void check_golden(const std::string& name, const Bytes& encoded) {
  INFO(name << ": " << to_hex(encoded));
  CHECK(encoded == golden(name));
}

TEST_CASE("records of history have the bytes that are documented", "[txn][history]") {
  check_golden("generation", encode(sample()));
  check_golden("generation_oldest", encode(oldest()));
  check_golden("changes_header", encode(k_header));
  check_golden("absent", encode(changes()[0]));
  check_golden("absent_lost", encode(changes()[1]));
  check_golden("kept_entry", encode(changes()[2]));
  check_golden("old_metadata", encode(changes()[3]));
  check_golden("old_metadata_shared", encode(changes()[4]));
}

TEST_CASE("golden records of history decode to what they were made from", "[txn][history]") {
  CHECK(decode_generation(golden("generation")).value() == sample());
  CHECK(decode_generation(golden("generation_oldest")).value() == oldest());
  CHECK(decode_changes_header(golden("changes_header")).value() == k_header);
  CHECK(decode_change(golden("absent_lost")).value() == changes()[1]);
  CHECK(decode_change(golden("kept_entry")).value() == changes()[2]);
  CHECK(decode_change(golden("old_metadata_shared")).value() == changes()[4]);
}

TEST_CASE("records of history refuse every truncation", "[txn][history]") {
  const auto refuses = [](const Bytes& whole, const auto& decode) {
    for (std::size_t length = 0; length < whole.size(); ++length) {
      INFO("length " << length << " of " << whole.size());
      REQUIRE(!decode(ByteView(whole).first(length)));
    }
  };
  refuses(encode(sample()), decode_generation);
  refuses(encode(k_header), decode_changes_header);
  for (const Change& change : changes()) refuses(encode(change), decode_change);
}

TEST_CASE("a generation does not come before the one before it", "[txn][history]") {
  Generation wrong = sample();
  wrong.previous = wrong.number;
  CHECK(!decode_generation(encode(wrong)));
}

struct List {
  fs::SimFileSystem disk;
  std::unique_ptr<fs::Directory> root = disk.root();

  void write(std::size_t count) {
    auto writer = ChangeListWriter::create(*root, "changes", k_header);
    REQUIRE(writer);
    for (std::size_t i = 0; i < count; ++i) REQUIRE(writer->append(changes()[i % changes().size()]));
    REQUIRE(writer->finish());
  }
  Result<std::size_t> read(const ChangesHeader& expected = k_header) const {
    std::size_t count = 0;
    NB_TRY(read_changes(*root, "changes", expected, [&count](const Change& change) -> Status {
      REQUIRE(change == changes()[count % changes().size()]);
      ++count;
      return {};
    }));
    return count;
  }
};

TEST_CASE("a list of changes comes back as it was written", "[txn][history]") {
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{50'000}}) {
    List list;
    list.write(count);
    CHECK(list.read().value() == count);
    CHECK(list.read({9, 7}).error().code == Errc::bad_set);
  }
}

TEST_CASE("a list of changes that is cut off or changed is refused", "[txn][history]") {
  List list;
  list.write(5000);
  const auto file = list.root->open_file("changes", fs::OpenMode::read_write).value();
  const std::uint64_t size = file->stat().value().size;
  for (std::uint64_t at = 0; at < size; at += 7) {
    Bytes was(1);
    REQUIRE(file->read_at(at, was).value() == 1);
    REQUIRE(file->write_at(at, Bytes{was[0] ^ std::byte{1}}));
    INFO("byte " << at);
    REQUIRE(list.read().error().code == Errc::bad_set);
    REQUIRE(file->write_at(at, was));
  }
  for (std::uint64_t length = size; length-- > 0;) {
    REQUIRE(file->set_size(length));
    INFO("length " << length);
    REQUIRE(list.read().error().code == Errc::bad_set);
  }
}

}  // namespace
}  // namespace nb::txn::test
