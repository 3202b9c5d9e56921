// SPDX-License-Identifier: Apache-2.0
#include "base/bytes.hpp"

#include <catch2/catch.hpp>
#include <limits>

#include "base/text.hpp"

using namespace nb;

namespace {
ByteReader reader(const Bytes& bytes) { return {bytes, Errc::protocol, "test"}; }
}  // namespace

TEST_CASE("integers survive a round trip at their edges", "[base]") {
  for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{127}, std::uint64_t{128}, std::uint64_t{16383},
                                    std::uint64_t{1} << 63, std::numeric_limits<std::uint64_t>::max()}) {
    Bytes bytes;
    ByteWriter out(bytes);
    out.varint(value);
    out.svarint(static_cast<std::int64_t>(value));
    out.u64(value);
    ByteReader in = reader(bytes);
    CHECK(in.varint().value() == value);
    CHECK(in.svarint().value() == static_cast<std::int64_t>(value));
    CHECK(in.u64().value() == value);
    CHECK(in.at_end());
  }
}

TEST_CASE("the encoding is fixed", "[base]") {
  Bytes bytes;
  ByteWriter out(bytes);
  out.u8(7);
  out.u32(0x01020304);
  out.varint(300);
  out.svarint(-2);
  out.string("ab");
  CHECK(to_hex(bytes) == "0704030201ac0203026162");
}

TEST_CASE("every truncation is an error", "[base]") {
  Bytes bytes;
  ByteWriter out(bytes);
  out.varint(1U << 30);
  out.string("some text");
  out.u64(1);
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    const Bytes part(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(cut));
    ByteReader in = reader(part);
    const bool ok = in.varint().has_value() && in.string(100).has_value() && in.u64().has_value();
    CHECK_FALSE(ok);
  }
}

TEST_CASE("lengths and values over the limit are refused", "[base]") {
  Bytes bytes;
  ByteWriter out(bytes);
  out.string("0123456789");
  CHECK(reader(bytes).string(9).error().code == Errc::protocol);
  CHECK(reader(bytes).varint(9).error().code == Errc::protocol);
  CHECK(reader(bytes).string(10).value() == "0123456789");
}

TEST_CASE("a varint longer than 64 bits is refused", "[base]") {
  const Bytes eleven(11, std::byte{0x80});
  CHECK_FALSE(reader(eleven).varint().has_value());
  Bytes too_big(9, std::byte{0xFF});
  too_big.push_back(std::byte{0x02});
  CHECK_FALSE(reader(too_big).varint().has_value());
}
