// SPDX-License-Identifier: Apache-2.0
// The journal as a file: read from both ends, and refused as soon as one byte of it is not what was written.
#include <catch2/catch.hpp>

#include "fs/sim_directory.hpp"
#include "golden.hpp"
#include "txn/journal.hpp"
#include "txn/small_file.hpp"
#include "txn/stage_log.hpp"

namespace nb::txn {
namespace {

JournalOp remove_op(std::uint64_t slot) {
  return Remove{RelPath::parse("dir/name" + std::to_string(slot)).value(), slot, Ident{}};
}

JournalHeader sample_header() {
  JournalHeader header;
  header.generation = 5;
  header.transaction[0] = std::byte{1};
  return header;
}

// A journal of `count` operations under its temporary name.
void write_journal(fs::Directory& directory, std::uint64_t count) {
  auto journal = JournalWriter::create(directory, sample_header());
  REQUIRE(journal);
  for (std::uint64_t i = 1; i <= count; ++i) REQUIRE(journal->append(encode(remove_op(i))));
  REQUIRE(journal->finish());
}

std::vector<std::uint64_t> slots(const Journal& journal, bool backward) {
  std::vector<std::uint64_t> found;
  const auto visit = [&](const JournalOp& op) -> Result<Journal::Walk> {
    found.push_back(std::get<Remove>(op).slot);
    return Journal::Walk::go_on;
  };
  REQUIRE((backward ? journal.for_each_backward(visit) : journal.for_each(visit)));
  return found;
}

Bytes content_of(const fs::Directory& directory, std::string_view name) {
  return read_small_file(directory, name).value();
}

void put(fs::Directory& directory, std::string_view name, ByteView content) {
  REQUIRE(remove_if_there(directory, name));
  REQUIRE(write_new_file(directory, name, content));
}

TEST_CASE("a journal reads the same from both ends", "[txn][journal]") {
  const fs::SimFileSystem disk;
  const auto root = disk.root();
  const std::uint64_t count = GENERATE(as<std::uint64_t>(), 0, 1, 2, 5000);
  write_journal(*root, count);
  const Journal journal = Journal::open(*root, k_journal_new_name).value();
  CHECK(journal.header().generation == 5);
  const std::vector<std::uint64_t> forward = slots(journal, false);
  std::vector<std::uint64_t> backward = slots(journal, true);
  std::reverse(backward.begin(), backward.end());
  REQUIRE(forward.size() == count);
  for (std::uint64_t i = 0; i < count; ++i) REQUIRE(forward[i] == i + 1);
  CHECK(forward == backward);
}

TEST_CASE("a damaged journal is refused", "[txn][journal]") {
  const fs::SimFileSystem disk;
  const auto root = disk.root();
  write_journal(*root, 3);
  const Bytes whole = content_of(*root, k_journal_new_name);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    put(*root, "cut", ByteView(whole).first(at));
    REQUIRE(Journal::open(*root, "cut").error().code == Errc::bad_set);
    Bytes flipped = whole;
    flipped[at] ^= std::byte{0x10};
    put(*root, "flipped", flipped);
    INFO("byte " << at);
    REQUIRE(Journal::open(*root, "flipped").error().code == Errc::bad_set);
  }
  Bytes longer = whole;
  longer.insert(longer.end(), whole.begin(), whole.end());
  put(*root, "longer", longer);
  CHECK(Journal::open(*root, "longer").error().code == Errc::bad_set);
  CHECK(Journal::open(*root, "none").error().code == Errc::not_found);
}

// Each record is whole, but not all are there, or not in their order.
TEST_CASE("a journal with missing, doubled or swapped records is refused", "[txn][journal]") {
  const fs::SimFileSystem disk;
  const auto root = disk.root();
  write_journal(*root, 3);
  const auto file = root->open_file(k_journal_new_name, fs::OpenMode::read).value();
  RecordCursor cursor(*file, 0, file->stat().value().size);
  std::vector<Bytes> records;
  while (true) {
    const auto record = cursor.next().value();
    if (!record) break;
    records.emplace_back(record->begin(), record->end());
  }
  REQUIRE(records.size() == 5);
  const auto open_with = [&](const std::vector<std::size_t>& order) {
    REQUIRE(remove_if_there(*root, "other"));
    RecordWriter writer(root->create_file("other").value(), 0);
    for (const std::size_t each : order) REQUIRE(writer.append(records[each]));
    REQUIRE(writer.flush());
    return Journal::open(*root, "other").has_value();
  };
  CHECK(open_with({0, 1, 2, 3, 4}));
  CHECK(!open_with({0, 1, 3, 4}));
  CHECK(!open_with({0, 1, 2, 2, 3, 4}));
  CHECK(!open_with({0, 2, 1, 3, 4}));
  CHECK(!open_with({0, 1, 2, 3}));
  CHECK(!open_with({1, 2, 3, 4}));
}

TEST_CASE("a journal has the bytes that are documented", "[txn][journal]") {
  const fs::SimFileSystem disk;
  const auto root = disk.root();
  const JournalHeader header = decode_journal_header(test::golden("journal_header")).value();
  auto journal = JournalWriter::create(*root, header).value();
  REQUIRE(journal.append(test::golden("place_new")));
  REQUIRE(journal.append(test::golden("remove")));
  REQUIRE(journal.finish());
  CHECK(content_of(*root, k_journal_new_name) == test::golden("journal"));
}

StagedRecord staged(const std::string& path, std::uint64_t slot) {
  StagedRecord record;
  record.path = RelPath::parse(path).value();
  record.slot = slot;
  return record;
}

// The newest.
std::optional<StagedRecord> found(StageLog& log, const std::string& path) {
  auto records = log.find(RelPath::parse(path).value(), 1).value();
  return records.empty() ? std::nullopt : std::optional(std::move(records.front()));
}

TEST_CASE("the stage log finds the newest record of earlier runs only", "[txn][log]") {
  const fs::SimFileSystem disk;
  const auto root = disk.root();
  {
    StageLog log = StageLog::open(*root).value();
    CHECK(log.empty());
    for (std::uint64_t i = 1; i <= 3000; ++i) REQUIRE(log.append(staged("file" + std::to_string(i), i)));
    REQUIRE(log.append(staged("file7", 3001)));
    REQUIRE(log.flush());
    CHECK(!found(log, "file7"));
  }
  StageLog log = StageLog::open(*root).value();
  CHECK(log.highest_slot() == 3001);
  CHECK(found(log, "file7")->slot == 3001);
  CHECK(found(log, "file3000")->slot == 3000);
  const auto both = log.find(RelPath::parse("file7").value(), SIZE_MAX).value();
  REQUIRE(both.size() == 2);
  CHECK(both.back().slot == 7);
  CHECK(!found(log, "other"));
  REQUIRE(log.append(staged("other", 3002)));
  REQUIRE(log.flush());
  CHECK(!found(log, "other"));
}

TEST_CASE("a torn stage log keeps what is whole and goes on behind it", "[txn][log]") {
  const fs::SimFileSystem disk;
  const auto root = disk.root();
  StageLog first = StageLog::open(*root).value();
  REQUIRE(first.append(staged("a", 1)));
  REQUIRE(first.flush());
  const std::uint64_t one = root->stat_at("log").value().size;
  REQUIRE(first.append(staged("b", 2)));
  REQUIRE(first.flush());
  const Bytes whole = content_of(*root, "log");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    put(*root, "log", ByteView(whole).first(length));
    StageLog log = StageLog::open(*root).value();
    REQUIRE(found(log, "a").has_value() == (length >= one));
    REQUIRE(!found(log, "b"));
    REQUIRE(log.append(staged("c", 3)));
    REQUIRE(log.flush());
    StageLog again = StageLog::open(*root).value();
    REQUIRE(found(again, "c")->slot == 3);
  }
}

}  // namespace
}  // namespace nb::txn
