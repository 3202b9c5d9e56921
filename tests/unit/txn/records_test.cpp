// SPDX-License-Identifier: Apache-2.0
// Golden bytes of every record, and parsers that refuse whatever is not a record.
#include <catch2/catch.hpp>

#include "base/text.hpp"
#include "golden.hpp"
#include "txn/records.hpp"
#include "txn/spare.hpp"
#include "txn/text_record.hpp"

namespace nb::txn {
namespace {

using test::golden;

TxId id_of(std::uint8_t first) {
  TxId id{};
  for (std::size_t i = 0; i < id.size(); ++i) id[i] = static_cast<std::byte>(first + i);
  return id;
}

RelPath path_of(std::string_view text) { return RelPath::parse(text).value(); }

void check_golden(const std::string& name, const Bytes& encoded) {
  INFO(name << ": " << to_hex(encoded));
  CHECK(encoded == golden(name));
}

SetFormat sample_format() { return {1, id_of(0x10), Lifetime::permanent}; }

Head sample_head() { return {7, id_of(0x20), 1'700'000'000'123'456'789, {id_of(0x20), id_of(0x30)}}; }

Spare sample_spare() {
  Bytes key;
  for (std::uint8_t value = 0x60; key.size() < hash::k_secret_bytes; ++value) key.push_back(std::byte{value});
  return {id_of(0x10), hash::Secret::from_bytes(key, Errc::bad_set).value()};
}

LockNote sample_note() {
  return {"backup@laptop", id_of(0x40), 812, 123456, "3d2c7f5e-0000-4000-8000-000000000001", 1'700'000'000'000'000'000};
}

JournalHeader sample_header() {
  return {id_of(0x20), id_of(0x10), 8, 1'700'000'000'123'456'789, true, {"backup@laptop", 3, 2, 1, 4096}};
}

Ident sample_ident() { return {fs::FileType::regular, 4711, 1000, {-5, 999'999'999}}; }
Ident sample_directory() { return {fs::FileType::directory, 12, 0, {}}; }

JournalOp sample_open_up() { return OpenUp{path_of("a/closed"), sample_directory(), 0555, 0755}; }
JournalOp sample_place() { return Place{path_of("a/file"), 3, sample_ident(), sample_directory()}; }
JournalOp sample_new() { return Place{path_of("n"), 300, sample_directory(), std::nullopt}; }
JournalOp sample_remove() { return Remove{path_of("gone"), 4, sample_ident()}; }
JournalOp sample_metadata() {
  fs::Metadata before{0644, {1000, 100}, {100, 1}, {}};
  fs::Metadata after{04755, {0, 0}, {-1, 0}, {{"user.x", std::string("\0y", 2)}}};
  return SetMetadata{RelPath(), sample_directory(), before, after};
}

StagedRecord sample_staged() {
  StagedRecord record{path_of("a/file"), 3, false, 1000, {12345, 6}, {}, false, 77, {1'700'000'000, 5}};
  for (std::size_t i = 0; i < record.digest.bytes.size(); ++i) record.digest.bytes[i] = static_cast<std::byte>(i);
  return record;
}

TEST_CASE("records have the bytes that are documented", "[txn][records]") {
  check_golden("format", encode(sample_format()));
  check_golden("head", encode(sample_head()));
  check_golden("spare", encode(sample_spare()));
  check_golden("lock", encode(sample_note()));
  check_golden("journal_header", encode(sample_header()));
  check_golden("open_up", encode(sample_open_up()));
  check_golden("place", encode(sample_place()));
  check_golden("place_new", encode(sample_new()));
  check_golden("remove", encode(sample_remove()));
  check_golden("set_metadata", encode(sample_metadata()));
  check_golden("staged", encode(sample_staged()));
}

TEST_CASE("golden records decode to what they were made from", "[txn][records]") {
  const SetFormat format = decode_format(golden("format")).value();
  CHECK(format.uuid == id_of(0x10));
  CHECK(format.lifetime == Lifetime::permanent);
  const Head head = decode_head(golden("head")).value();
  CHECK(head.generation == 7);
  CHECK(head.time_ns == sample_head().time_ns);
  CHECK(head.recent == sample_head().recent);
  const LockNote note = decode_lock_note(golden("lock")).value();
  CHECK(note.client == "backup@laptop");
  CHECK(note.pid_start == 123456);
  const JournalHeader header = decode_journal_header(golden("journal_header")).value();
  CHECK(header.generation == 8);
  CHECK(header.set == id_of(0x10));
  const auto place = std::get<Place>(decode_journal_op(golden("place")).value());
  CHECK(place.path.str() == "a/file");
  CHECK(place.staged == sample_ident());
  CHECK(place.replaced == std::optional<Ident>(sample_directory()));
  CHECK(!std::get<Place>(decode_journal_op(golden("place_new")).value()).replaced);
  CHECK(std::get<Remove>(decode_journal_op(golden("remove")).value()).slot == 4);
  CHECK(std::get<OpenUp>(decode_journal_op(golden("open_up")).value()).old_mode == 0555);
  const auto metadata = std::get<SetMetadata>(decode_journal_op(golden("set_metadata")).value());
  CHECK(metadata.path.is_root());
  CHECK(metadata.after == std::get<SetMetadata>(sample_metadata()).after);
  const StagedRecord staged = decode_staged_record(golden("staged")).value();
  CHECK(staged.digest == sample_staged().digest);
  CHECK(staged.mtime == sample_staged().mtime);
}

template <class Decode>
void check_refuses_every_truncation(const Bytes& whole, const Decode& decode) {
  REQUIRE(decode(whole));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const auto result = decode(ByteView(whole).first(length));
    INFO("length " << length << " of " << whole.size());
    REQUIRE(!result);
    REQUIRE(result.error().code == Errc::bad_set);
  }
}

TEST_CASE("parsers refuse every truncation", "[txn][records]") {
  check_refuses_every_truncation(encode(sample_format()), decode_format);
  check_refuses_every_truncation(encode(sample_spare()), decode_spare);
  check_refuses_every_truncation(encode(sample_head()), decode_head);
  check_refuses_every_truncation(encode(sample_note()), decode_lock_note);
  check_refuses_every_truncation(encode(sample_header()), decode_journal_header);
  for (const JournalOp& op : {sample_open_up(), sample_place(), sample_new(), sample_remove(), sample_metadata()}) {
    check_refuses_every_truncation(encode(op), decode_journal_op);
  }
  check_refuses_every_truncation(encode(sample_staged()), decode_staged_record);
}

TEST_CASE("text records refuse every changed byte", "[txn][records]") {
  const Bytes head = encode(sample_head());
  for (std::size_t at = 0; at < head.size(); ++at) {
    Bytes changed = head;
    changed[at] ^= std::byte{1};
    INFO("byte " << at);
    REQUIRE(!decode_head(changed));
  }
  Bytes longer = head;
  longer.push_back(std::byte{'\n'});
  CHECK(!decode_head(longer));
}

TEST_CASE("text records are strict even under a good check", "[txn][records]") {
  const auto head_with = [](const std::vector<std::pair<std::string, std::string>>& lines) {
    TextRecordWriter out("nbackup head");
    for (const auto& [key, value] : lines) out.line(key, value);
    return decode_head(out.finish());
  };
  const std::string id = id_text(id_of(1));
  CHECK(head_with({{"generation", "1"}, {"transaction", id}, {"time", "-5"}}));
  CHECK(!head_with({{"generation", "01"}, {"transaction", id}, {"time", "5"}}));
  CHECK(!head_with({{"generation", "+1"}, {"transaction", id}, {"time", "5"}}));
  CHECK(!head_with({{"transaction", id}, {"generation", "1"}, {"time", "5"}}));
  CHECK(!head_with({{"generation", "1"}, {"transaction", id}, {"time", "5"}, {"more", "x"}}));
  CHECK(!head_with({{"generation", "1"}, {"transaction", id.substr(2)}, {"time", "5"}}));
  std::vector<std::pair<std::string, std::string>> many{{"generation", "1"}, {"transaction", id}, {"time", "5"}};
  for (int i = 0; i < 64; ++i) many.emplace_back("recent", id);
  CHECK(head_with(many));
  many.emplace_back("recent", id);
  CHECK(!head_with(many));
}

TEST_CASE("a set of a later format is refused by name", "[txn][records]") {
  SetFormat later = sample_format();
  later.version = 2;
  const auto result = decode_format(encode(later));
  REQUIRE(!result);
  CHECK(result.error().code == Errc::bad_set);
  CHECK(result.error().context.find("newer") != std::string::npos);
}

TEST_CASE("fields of later versions are skipped, later operations are not", "[txn][records]") {
  Bytes longer = encode(sample_place());
  longer.push_back(std::byte{0x42});
  CHECK(decode_journal_op(longer));
  Bytes unknown = encode(sample_place());
  unknown[0] = std::byte{99};
  const auto result = decode_journal_op(unknown);
  REQUIRE(!result);
  CHECK(result.error().code == Errc::bad_set);
}

TEST_CASE("operations outside of the tree are refused", "[txn][records]") {
  const auto op_at = [](std::string_view path) {
    Bytes bytes;
    ByteWriter out(bytes);
    const Bytes sample = encode(sample_remove());
    out.u8(std::to_integer<std::uint8_t>(sample[0]));
    out.string(path);
    out.raw(ByteView(sample).subspan(1 + 1 + 4));  // behind kind, length and "gone"
    return decode_journal_op(bytes);
  };
  CHECK(op_at("fine"));
  for (const std::string_view path : {"", "..", "a/../b", "/etc", "a//b", ".nbackup", ".nbackup/head", "a/.nbackup",
                                      "a/.nbackup/b", "a/.nbackup.new"}) {
    INFO(path);
    CHECK(!op_at(path));
  }
  CHECK(op_at("a/.nbackup.x"));
}

TEST_CASE("a lock note cannot break out of its line", "[txn][records]") {
  LockNote note = sample_note();
  note.client = "evil\npid 1\x1b[2J";
  const LockNote read = decode_lock_note(encode(note)).value();
  CHECK(read.client == "evil?pid 1?[2J");
  CHECK(read.pid == 812);
}

}  // namespace
}  // namespace nb::txn
