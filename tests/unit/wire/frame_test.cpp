// SPDX-License-Identifier: Apache-2.0
// Frames: building, splitting, damage, and bytes that are no frame at all.
#include <catch2/catch.hpp>
#include <random>

#include "unit/wire/samples.hpp"

using namespace nb;
using namespace nb::wire;

namespace {

Bytes small_frame() {
  FrameBuilder frame;
  frame.add(DirectoryReply{7, ReplyKind::list});
  frame.add(KeepAlive{});
  return frame.take();
}

ByteView header_of(const Bytes& frame) { return ByteView(frame).first(k_frame_header_bytes); }
ByteView payload_of(const Bytes& frame) { return ByteView(frame).subspan(k_frame_header_bytes); }

std::string header_refusal(ByteView header) {
  const auto result = decode_frame_header(header);
  if (result) return "accepted";
  CHECK(result.error().code == Errc::protocol);
  return result.error().context;
}

std::string payload_refusal(ByteView payload) {
  FrameReader reader(payload);
  while (true) {
    const auto next = reader.next();
    if (!next) return next.error().context;
    if (!*next) return "accepted";
  }
}

}  // namespace

TEST_CASE("frame: messages come out as they went in", "[wire]") {
  FrameBuilder builder;
  CHECK(builder.empty());
  CHECK(builder.payload_bytes() == 0);
  for (const NamedSample& sample : all_samples()) sample.add(builder);
  const std::size_t payload_bytes = builder.payload_bytes();
  const Bytes frame = builder.take();
  CHECK(builder.empty());

  const auto header = decode_frame_header(header_of(frame));
  REQUIRE(header);
  CHECK(header->payload_bytes == payload_bytes);
  REQUIRE(check_frame(header_of(frame), payload_of(frame)));
  FrameReader reader(payload_of(frame));
  for (const NamedSample& sample : all_samples()) {
    const auto message = reader.next();
    REQUIRE(message);
    REQUIRE(*message);
    CHECK((*message)->type == sample.type);
    CHECK(std::equal((*message)->body.begin(), (*message)->body.end(), sample.body.begin(), sample.body.end()));
  }
  const auto end = reader.next();
  REQUIRE(end);
  CHECK_FALSE(*end);
}

TEST_CASE("frame: a frame is sealed later, over the bytes as they are sent", "[wire]") {
  FrameBuilder builder;
  builder.add(DirectoryReply{7, ReplyKind::list});
  builder.add(KeepAlive{});
  Bytes frame = builder.take_unsealed();
  CHECK(builder.empty());
  CHECK_FALSE(decode_frame_header(header_of(frame)));
  Bytes zstd = frame;
  seal_frame(frame, FrameEncoding::raw);
  CHECK(frame == small_frame());
  CHECK(decode_frame_header(header_of(frame))->encoding == FrameEncoding::raw);
  seal_frame(zstd, FrameEncoding::zstd);
  CHECK(decode_frame_header(header_of(zstd))->encoding == FrameEncoding::zstd);
  CHECK(check_frame(header_of(zstd), payload_of(zstd)));
  // The flag is under the check, too.
  zstd[2] = std::byte{0};
  CHECK_FALSE(check_frame(header_of(zstd), payload_of(zstd)));
}

TEST_CASE("frame: a builder is used again after take", "[wire]") {
  FrameBuilder builder;
  builder.add(Goodbye{});
  const Bytes first = builder.take();
  builder.add(Goodbye{});
  CHECK(builder.take() == first);
}

TEST_CASE("frame: content bytes lie unchanged in the frame", "[wire]") {
  const Bytes content(k_max_data_bytes, std::byte{0xA5});
  FrameBuilder builder;
  builder.add(Data{4096, content});
  const Bytes frame = builder.take();
  REQUIRE(frame.size() < content.size() + 64);
  FrameReader reader(payload_of(frame));
  const auto message = reader.next();
  REQUIRE(message);
  const auto data = decode_message<Data>((*message)->body);
  REQUIRE(data);
  CHECK(data->offset == 4096);
  CHECK(std::equal(data->bytes.begin(), data->bytes.end(), content.begin(), content.end()));
  // A view, not a copy.
  CHECK(data->bytes.data() > frame.data());
  CHECK(data->bytes.data() < frame.data() + frame.size());
}

TEST_CASE("frame: every flipped bit is found", "[wire]") {
  const Bytes good = small_frame();
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    Bytes bad = good;
    bad[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    INFO("bit " << bit);
    const Status status = check_frame(header_of(bad), payload_of(bad));
    REQUIRE_FALSE(status);
    CHECK(status.error().code == Errc::protocol);
  }
}

TEST_CASE("frame: a short or long payload is refused", "[wire]") {
  const Bytes frame = small_frame();
  CHECK_FALSE(check_frame(header_of(frame), payload_of(frame).first(3)));
  CHECK_FALSE(check_frame(header_of(frame), ByteView()));
  Bytes longer = frame;
  longer.push_back(std::byte{0});
  CHECK_FALSE(check_frame(header_of(longer), payload_of(longer)));
}

TEST_CASE("frame: text instead of a header is shown with its likely cause", "[wire]") {
  const std::string message = header_refusal(as_bytes("Welcome to rpi4!\nLast login"));
  CHECK(message == "frame: expected nbackup, got \"Welcome to rpi4!\" (does the remote shell print text at login?)");
  // As it came: who prints it escapes it.
  CHECK(header_refusal(as_bytes("\x1b[0m")).find("\"\x1b[0m\"") != std::string::npos);
  CHECK(header_refusal(as_bytes("n")) == "frame header: truncated");
  CHECK(header_refusal(as_bytes("x")).find("login") != std::string::npos);
}

TEST_CASE("frame: header fields are checked", "[wire]") {
  const Bytes good = small_frame();
  for (std::size_t size = 0; size < k_frame_header_bytes; ++size) {
    CHECK(header_refusal(ByteView(good).first(size)) == "frame header: truncated");
  }
  const auto with = [&](std::size_t at, unsigned value) {
    Bytes bad = good;
    bad[at] = static_cast<std::byte>(value);
    return header_refusal(header_of(bad));
  };
  CHECK(with(2, 1) == "accepted");  // zstd
  for (const unsigned flags : {2U, 3U, 128U, 255U}) CHECK(with(2, flags) == "frame header: unknown flags");
  CHECK(with(3, 1) == "frame header: reserved byte not zero");
  CHECK(with(4, 0) == "frame header: empty frame");
  CHECK(with(7, 0xFF) == "frame header: frame too long");
  CHECK(header_refusal(good) == "frame header: bytes left over");
  Bytes longest = good;
  for (std::size_t i = 0; i < 4; ++i) longest[4 + i] = static_cast<std::byte>(k_max_frame_bytes >> (8 * i));
  CHECK(header_refusal(header_of(longest)) == "accepted");
  longest[4] |= std::byte{1};
  CHECK(header_refusal(header_of(longest)) == "frame header: frame too long");
}

TEST_CASE("frame: a payload is walked with care", "[wire]") {
  const auto message = [](unsigned type, std::uint32_t length, std::size_t body_bytes) {
    return made([&](ByteWriter& out) {
      out.u8(static_cast<std::uint8_t>(type));
      out.u32(length);
      out.raw(Bytes(body_bytes));
    });
  };
  CHECK(payload_refusal(message(20, 0, 0)) == "accepted");
  CHECK(payload_refusal(message(0, 0, 0)) == "frame: unknown message type 0");
  for (unsigned type = 33; type < 256; ++type) {
    CHECK(payload_refusal(message(type, 0, 0)) == "frame: unknown message type " + std::to_string(type));
  }
  CHECK(payload_refusal(message(12, 6, 5)) == "frame: truncated");
  CHECK(payload_refusal(message(12, k_max_message_bytes + 1, 5)) == "frame: message too long");
  CHECK(payload_refusal(message(12, 0xFFFFFFFF, 5)) == "frame: message too long");
  for (std::size_t size = 1; size < 5; ++size) {
    CHECK(payload_refusal(ByteView(message(20, 0, 0)).first(size)) == "frame: truncated");
  }
}

TEST_CASE("frame: garbage never gets through and never crashes", "[wire]") {
  std::mt19937 random(1);
  const std::vector<NamedSample> samples = all_samples();
  for (int round = 0; round < 20'000; ++round) {
    Bytes bytes(random() % 64);
    for (std::byte& b : bytes) b = static_cast<std::byte>(random());
    CHECK_FALSE(decode_frame_header(bytes));
    payload_refusal(bytes);
    const auto again = samples[random() % samples.size()].recode(bytes);
    if (!again) REQUIRE(again.error().code == Errc::protocol);
  }
}
