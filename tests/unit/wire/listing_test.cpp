// SPDX-License-Identifier: Apache-2.0
// Listings, entries and metadata: order, names, limits of every field, and memory that follows the bytes received.
#include <catch2/catch.hpp>

#include "unit/wire/samples.hpp"

using namespace nb;
using namespace nb::wire;

namespace {

constexpr unsigned k_regular = 1;
constexpr unsigned k_directory = 2;

Entry directory(std::string name) {
  Entry entry;
  entry.name = std::move(name);
  entry.type = fs::FileType::directory;
  return entry;
}

std::string entries_refusal(std::vector<Entry> entries) {
  Listing listing;
  listing.entries = std::move(entries);
  return refusal<Listing>(encode(listing));
}

std::string entry_refusal(const std::function<void(Entry&)>& change, fs::FileType type = fs::FileType::regular) {
  Entry entry;
  entry.name = "name";
  entry.type = type;
  if (type == fs::FileType::symlink) entry.target = "target";
  change(entry);
  return entries_refusal({entry});
}

std::string meta_refusal(const std::function<void(fs::Metadata&)>& change) {
  Listing listing;
  listing.own = sample_metadata();
  change(*listing.own);
  return refusal<Listing>(encode(listing));
}

// A listing whose only entry begins with this byte and is named "x".
std::string head_refusal(unsigned head) {
  return refusal<Listing>(made([&](ByteWriter& out) {
    out.varint(0);
    out.u8(1);
    out.varint(1);
    out.u8(static_cast<std::uint8_t>(head));
    out.string("x");
  }));
}

}  // namespace

TEST_CASE("listing: every field of every type comes back", "[wire]") {
  const Listing listing = sample_listing();
  const auto decoded = decode_message<Listing>(encode(listing));
  REQUIRE(decoded);
  CHECK(decoded->id == listing.id);
  CHECK(decoded->last == listing.last);
  CHECK(decoded->own == listing.own);
  CHECK(decoded->entries == listing.entries);
  CHECK(decoded->shared == listing.shared);
  CHECK_FALSE(decode_message<Listing>(encode(Listing{}))->own);
}

TEST_CASE("listing: names are safe and rise as unsigned bytes", "[wire]") {
  CHECK(entries_refusal({directory("B"), directory("a"), directory("\x7F"), directory("\x80")}) == "accepted");
  CHECK(entries_refusal({directory("a"), directory("a.b"), directory("aa")}) == "accepted");
  const std::string order = "listing: name out of order";
  CHECK(entries_refusal({directory("\x80"), directory("a")}) == order);
  CHECK(entries_refusal({directory("a"), directory("a")}) == order);
  CHECK(entries_refusal({directory("ab"), directory("a")}) == order);
  const std::string unsafe = "listing: unsafe name (name)";
  for (const char* name : {".", "..", "/", "a/b", "../x", ".nbackup"}) {
    CHECK(entries_refusal({directory(name)}) == unsafe);
  }
  CHECK(entries_refusal({directory(""), directory("abc")}) == unsafe);
  CHECK(entries_refusal({directory(std::string("a\0b", 3))}) == unsafe);
  CHECK(entries_refusal({directory(std::string(255, 'x'))}) == "accepted");
  CHECK(entries_refusal({directory(std::string(256, 'x'))}) == "listing: value out of range (name)");
  CHECK(entries_refusal({directory(".nbackup2"), directory("nbackup")}) == "accepted");
}

TEST_CASE("listing: the first byte of an entry has known bits only", "[wire]") {
  CHECK(head_refusal(0) == "listing: unknown type");
  CHECK(head_refusal(8) == "listing: unknown type");
  CHECK(head_refusal(k_directory) == "accepted");
  CHECK(head_refusal(k_directory | 0x10) == "listing: unknown bits (type)");
  CHECK(head_refusal(k_directory | 0x20) == "listing: unknown bits (type)");
  CHECK(head_refusal(3 | 0x20) == "listing: unknown bits (type)");
  CHECK(head_refusal(k_regular | 0x40) == "listing: unknown bits (type)");
  CHECK(head_refusal(k_regular | 0x80) == "listing: unknown bits (type)");
  CHECK(head_refusal(k_regular | 0x30) == "listing: truncated (mode)");
}

TEST_CASE("listing: limits of an entry", "[wire]") {
  CHECK(entry_refusal([](Entry& e) { e.size = k_max_file_bytes; }) == "accepted");
  CHECK(entry_refusal([](Entry& e) { e.size = k_max_file_bytes + 1; }) == "listing: value out of range (size)");
  const auto type = fs::FileType::symlink;
  CHECK(entry_refusal([](Entry&) {}, type) == "accepted");
  CHECK(entry_refusal([](Entry& e) { e.target = ""; }, type) == "listing: empty (target)");
  CHECK(entry_refusal([](Entry& e) { e.target = std::string("a\0", 2); }, type) == "listing: NUL byte (target)");
  CHECK(entry_refusal([](Entry& e) { e.target = std::string(4095, 'x'); }, type) == "accepted");
  CHECK(entry_refusal([](Entry& e) { e.target = std::string(4096, 'x'); }, type) ==
        "listing: value out of range (target)");
  CHECK(entry_refusal([](Entry& e) { e.link_to = RelPath(); }) == "listing: empty (link_to)");
  CHECK(entry_refusal([](Entry& e) { e.link_to = RelPath::parse("a/.nbackup/b").value(); }) ==
        "listing: unsafe name (link_to)");
}

TEST_CASE("listing: paths made by hand", "[wire]") {
  const auto link_refusal = [](std::string_view link_to) {
    return refusal<Listing>(made([&](ByteWriter& out) {
      out.varint(0);
      out.u8(1);
      out.varint(1);
      out.u8(4 | 0x10);  // a FIFO with several names
      out.string("x");
      encode_metadata(out, {});
      out.string(link_to);
    }));
  };
  CHECK(link_refusal("a/b") == "accepted");
  for (const std::string_view path : {"../x", "/x", "a//b", "a/", "a/..", "a/./b"}) {
    CHECK(link_refusal(path).starts_with("listing: link_to: unsafe path"));
  }
  CHECK(link_refusal(std::string(4096, 'x')) == "listing: value out of range (link_to)");
  CHECK(link_refusal(".nbackup") == "listing: unsafe name (link_to)");
  CHECK(link_refusal("a/.nbackup") == "listing: unsafe name (link_to)");
}

TEST_CASE("metadata: limits", "[wire]") {
  CHECK(meta_refusal([](fs::Metadata& m) { m.mode = 07777; }) == "accepted");
  CHECK(meta_refusal([](fs::Metadata& m) { m.mode = 010000; }) == "listing: value out of range (mode)");
  CHECK(meta_refusal([](fs::Metadata& m) { m.mtime.nsec = 1'000'000'000; }) == "listing: value out of range (nsec)");
  CHECK(meta_refusal([](fs::Metadata& m) { m.mtime.sec = INT64_MIN; }) == "accepted");
  CHECK(meta_refusal([](fs::Metadata& m) { m.mtime.sec = INT64_MAX; }) == "accepted");
  const std::string name = "listing: bad attribute name";
  CHECK(meta_refusal([](fs::Metadata& m) { m.xattrs = {{"", ""}}; }) == name);
  CHECK(meta_refusal([](fs::Metadata& m) { m.xattrs = {{"user", ""}}; }) == name);
  CHECK(meta_refusal([](fs::Metadata& m) { m.xattrs = {{std::string("user.\0", 6), ""}}; }) == name);
  CHECK(meta_refusal([](fs::Metadata& m) {
          m.xattrs = {{"user." + std::string(251, 'x'), ""}};
        }) == "listing: value out of range");
  const std::string order = "listing: attribute out of order";
  CHECK(meta_refusal([](fs::Metadata& m) { m.xattrs = {{"user.b", ""}, {"user.a", ""}}; }) == order);
  CHECK(meta_refusal([](fs::Metadata& m) { m.xattrs = {{"user.a", "1"}, {"user.a", "2"}}; }) == order);
}

TEST_CASE("metadata: attributes have limits of size", "[wire]") {
  CHECK(meta_refusal([](fs::Metadata& m) { m.xattrs = {{"user.a", std::string(65'536, 'x')}}; }) == "accepted");
  CHECK(meta_refusal([](fs::Metadata& m) {
          m.xattrs = {{"user.a", std::string(65'537, 'x')}};
        }) == "listing: value out of range");
  const auto many = [](fs::Metadata& m, std::size_t count) {
    m.xattrs.clear();
    for (std::size_t i = 0; i < count; ++i) {
      m.xattrs.push_back({"user." + std::string(1, static_cast<char>('a' + i)), std::string(65'530, 'x')});
    }
  };
  CHECK(meta_refusal([&](fs::Metadata& m) { many(m, 16); }) == "accepted");
  CHECK(meta_refusal([&](fs::Metadata& m) { many(m, 17); }) == "listing: attributes too long");
}

TEST_CASE("metadata: owners over 32 bits are refused", "[wire]") {
  const Bytes body = made([](ByteWriter& out) {
    out.varint(0);
    out.u8(2);
    out.varint(0);
    out.varint(std::uint64_t{1} << 32);
  });
  CHECK(refusal<Listing>(body) == "listing: value out of range (uid)");
}

TEST_CASE("listing: counts cost no memory beforehand", "[wire]") {
  const auto count_refusal = [](std::uint64_t count) {
    return refusal<Listing>(made([&](ByteWriter& out) {
      out.varint(0);
      out.u8(1);
      out.varint(count);
      out.u8(k_directory);
      out.string("x");
    }));
  };
  CHECK(count_refusal(1) == "accepted");
  CHECK(count_refusal(0) == "listing: bytes left over");
  CHECK(count_refusal(2) == "listing: truncated");
  CHECK(count_refusal(k_max_listing_part_entries) == "listing: truncated");
  CHECK(count_refusal(k_max_listing_part_entries + 1) == "listing: value out of range (entries)");
  CHECK(count_refusal(~std::uint64_t{0}) == "listing: value out of range (entries)");
}

TEST_CASE("listing: a part has a limit of entries", "[wire]") {
  std::vector<Entry> entries;
  while (entries.size() < k_max_listing_part_entries) {
    entries.push_back(directory(std::to_string(10'000 + entries.size())));
  }
  CHECK(entries_refusal(entries) == "accepted");
  entries.push_back(directory("x"));
  CHECK(entries_refusal(entries) == "listing: value out of range (entries)");
}

TEST_CASE("listing: shared entries are rising indices of first names", "[wire]") {
  const auto shared_refusal = [](std::vector<std::uint64_t> shared) {
    Listing listing = sample_listing();
    listing.shared = std::move(shared);
    return refusal<Listing>(encode(listing));
  };
  CHECK(shared_refusal({}) == "accepted");
  CHECK(shared_refusal({0, 1, 2, 4, 6, 7}) == "accepted");
  CHECK(shared_refusal({1, 1}) == "listing: out of order (shared)");
  CHECK(shared_refusal({1, 0}) == "listing: out of order (shared)");
  CHECK(shared_refusal({9}) == "listing: no such entry (shared)");
  CHECK(shared_refusal({3}) == "listing: not a first name (shared)");  // a directory
  CHECK(shared_refusal({5}) == "listing: not a first name (shared)");  // has link_to
  CHECK(shared_refusal(std::vector<std::uint64_t>(10, 1)) == "listing: value out of range (shared)");
}

TEST_CASE("listing: flags and ids", "[wire]") {
  const auto head = [](std::uint64_t id, unsigned flags) {
    return refusal<Listing>(made([&](ByteWriter& out) {
      out.varint(id);
      out.u8(static_cast<std::uint8_t>(flags));
      out.varint(0);
    }));
  };
  CHECK(head(k_max_directory_id, 1) == "accepted");
  CHECK(head(k_max_directory_id + 1, 1) == "listing: value out of range (id)");
  CHECK(head(0, 8) == "listing: unknown bits (flags)");
}
