// SPDX-License-Identifier: Apache-2.0
// Both halves of the stream: what goes in comes out, frame by frame; what is no stream of ours is refused.
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zstd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <fstream>

#include "codec/compression.hpp"
#include "codec/frame_compressor.hpp"
#include "codec/frame_decompressor.hpp"
#include "unit/codec/data.hpp"

using namespace nb;
using namespace nb::codec;
using namespace nb::test;

namespace {

constexpr std::size_t k_limit = (std::size_t{4} << 20) + 64;

Bytes compressed(FrameCompressor& compressor, ByteView payload, int level = 3) {
  Bytes out;
  REQUIRE(compressor.compress(payload, level, out).has_value());
  return out;
}

// One zstd frame made by the library itself.
Bytes foreign_frame(ByteView payload, int window_log) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window_log);
  Bytes out(ZSTD_compressBound(payload.size()) + 64);
  ZSTD_inBuffer in{payload.data(), payload.size(), 0};
  ZSTD_outBuffer room{out.data(), out.size(), 0};
  // Not ended: with a known size the window would shrink to it.
  REQUIRE(ZSTD_compressStream2(context, &room, &in, ZSTD_e_flush) == 0);
  ZSTD_freeCCtx(context);
  out.resize(room.pos);
  return out;
}

}  // namespace

TEST_CASE("frames of every kind and level come out as they went in", "[codec]") {
  FrameCompressor compressor;
  FrameDecompressor decompressor(Windows::ordinary);
  std::mt19937 random(7);
  int level = 3;
  for (unsigned round = 0; round < 300; ++round) {
    const std::size_t size = random() % 4 == 0 ? random() % 400'000 + 1 : random() % 2000 + 1;
    const Bytes payload = round % 3 == 0   ? random_content(size, round)
                          : round % 3 == 1 ? text_content(size, round)
                                           : Bytes(size);
    if (random() % 8 == 0) level = static_cast<int>(random() % 17) - 5;
    if (level == 0) level = 1;
    if (random() % 5 == 0) continue;  // this one is sent raw
    CAPTURE(round, size, level);
    const auto got = decompressor.decompress(compressed(compressor, payload, level), k_limit);
    REQUIRE(got.has_value());
    REQUIRE(*got == payload);
  }
}

TEST_CASE("a last payload ends its zstd frame, and another may follow", "[codec]") {
  FrameCompressor compressor;
  FrameDecompressor decompressor(Windows::ordinary);
  for (const std::size_t size : {1U, 100U, 70'000U, 400'000U}) {
    CAPTURE(size);
    const Bytes payload = text_content(size, 1);
    for (const bool is_only_one : {true, false}) {
      if (!is_only_one) REQUIRE(decompressor.decompress(compressed(compressor, payload), k_limit) == payload);
      Bytes out;
      REQUIRE(compressor.compress(payload, 3, out, FrameCompressor::Finish::end).has_value());
      // A frame that is one payload says how long it is, so that a reader needs no more than that either.
      const auto said = ZSTD_getFrameContentSize(out.data(), out.size());
      CHECK((said == size) == is_only_one);
      REQUIRE(decompressor.decompress(out, k_limit) == payload);
    }
  }
}

TEST_CASE("the ends of the scale work, and their windows are accepted", "[codec]") {
  for (const int level : {k_least_level, k_most_level}) {
    FrameCompressor compressor;
    FrameDecompressor decompressor(Windows::ordinary);
    for (unsigned i = 0; i < 3; ++i) {
      const Bytes payload = text_content(300'000, i);
      CHECK(decompressor.decompress(compressed(compressor, payload, level), k_limit).value() == payload);
    }
  }
}

TEST_CASE("small payloads compress through what they share", "[codec]") {
  FrameCompressor together;
  std::size_t shared = 0;
  std::size_t apart = 0;
  for (unsigned i = 0; i < 100; ++i) {
    const Bytes payload = text_content(500, i);
    FrameCompressor alone;
    shared += compressed(together, payload).size();
    apart += compressed(alone, payload).size();
  }
  CHECK(shared * 5 < apart * 4);
}

TEST_CASE("what does not shrink grows by next to nothing", "[codec]") {
  FrameCompressor compressor;
  const Bytes payload = random_content(std::size_t{1} << 20, 1);
  CHECK(compressed(compressor, payload).size() < payload.size() + payload.size() / 1000);
}

TEST_CASE("a payload of the largest size passes, one byte more does not", "[codec]") {
  FrameCompressor compressor;
  FrameDecompressor decompressor(Windows::ordinary);
  CHECK(decompressor.decompress(compressed(compressor, Bytes(k_limit)), k_limit)->size() == k_limit);
  const auto bomb = decompressor.decompress(compressed(compressor, Bytes(k_limit + 1)), k_limit);
  REQUIRE_FALSE(bomb.has_value());
  CHECK(bomb.error().code == Errc::protocol);
}

TEST_CASE("a bomb is stopped at the limit", "[codec]") {
  FrameCompressor compressor;
  const Bytes bomb = compressed(compressor, Bytes(std::size_t{200} << 20));
  REQUIRE(bomb.size() < 100'000);
  FrameDecompressor decompressor(Windows::ordinary);
  CHECK(decompressor.decompress(bomb, k_limit).error().context.find("too long") != std::string::npos);
}

TEST_CASE("a window above the limit is refused", "[codec]") {
  const Bytes payload = text_content(1000, 1);
  FrameDecompressor good(Windows::ordinary);
  CHECK(good.decompress(foreign_frame(payload, k_window_log), k_limit).has_value());
  FrameDecompressor bad(Windows::ordinary);
  CHECK(bad.decompress(foreign_frame(payload, k_window_log + 1), k_limit).error().code == Errc::protocol);
  FrameDecompressor large(Windows::large);
  CHECK(large.decompress(foreign_frame(payload, k_large_window_log), k_limit).has_value());
  FrameDecompressor larger(Windows::large);
  CHECK(larger.decompress(foreign_frame(payload, k_large_window_log + 1), k_limit).error().code == Errc::protocol);
}

TEST_CASE("large windows find what lies far back, from level 6 on", "[codec]") {
  constexpr std::size_t k_payload = std::size_t{1} << 20;
  const Bytes first = random_content(k_payload, 1);
  // What the same payload takes once more, 20 MiB later.
  const auto cost_of_repeat = [&](Windows windows, int level) {
    FrameCompressor compressor;
    compressor.use(windows);
    FrameDecompressor decompressor(windows);
    CHECK(decompressor.decompress(compressed(compressor, first, level), k_limit) == first);
    for (unsigned i = 0; i < 20; ++i) {
      const Bytes between = random_content(k_payload, 100 + i);
      CHECK(decompressor.decompress(compressed(compressor, between, level), k_limit) == between);
    }
    const Bytes again = compressed(compressor, first, level);
    CHECK(decompressor.decompress(again, k_limit) == first);
    return again.size();
  };
  CHECK(cost_of_repeat(Windows::large, 6) < k_payload / 20);
  CHECK(cost_of_repeat(Windows::large, 3) > k_payload);
  CHECK(cost_of_repeat(Windows::ordinary, 6) > k_payload);
}

TEST_CASE("what is no zstd is refused", "[codec]") {
  for (const Bytes& bytes :
       {Bytes{}, Bytes(3), Bytes(100), random_content(1000, 1), text_content(100, 1),
        // A skippable frame: 0x184D2A50, length 4.
        Bytes{std::byte{0x50}, std::byte{0x2A}, std::byte{0x4D}, std::byte{0x18}, std::byte{4}, std::byte{0},
              std::byte{0}, std::byte{0}, std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}},
        // The magic of version 0.7, with something behind it.
        Bytes{std::byte{0x27}, std::byte{0xB5}, std::byte{0x2F}, std::byte{0xFD}, std::byte{0}, std::byte{0},
              std::byte{0}, std::byte{0}}}) {
    FrameDecompressor decompressor(Windows::ordinary);
    const auto got = decompressor.decompress(bytes, k_limit);
    REQUIRE_FALSE(got.has_value());
    CHECK(got.error().code == Errc::protocol);
  }
}

TEST_CASE("damage in the middle of a stream is an error or other bytes, never a crash", "[codec]") {
  std::mt19937 random(3);
  for (unsigned round = 0; round < 2000; ++round) {
    FrameCompressor compressor;
    FrameDecompressor decompressor(Windows::ordinary);
    const Bytes first = text_content(random() % 3000 + 1, round);
    REQUIRE(decompressor.decompress(compressed(compressor, first), k_limit).value() == first);
    Bytes second = compressed(compressor, text_content(random() % 3000 + 1, round + 1), round % 2 == 0 ? 3 : 1);
    second[random() % second.size()] ^= static_cast<std::byte>(1U << (random() % 8));
    if (random() % 4 == 0) second.resize(random() % second.size());
    const auto got = decompressor.decompress(second, k_limit);
    if (!got)
      CHECK(got.error().code == Errc::protocol);
    else
      CHECK(got->size() <= k_limit);
  }
}

// A sanitizer needs all the address space there is.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("no memory for a window is an error of this machine, not of the peer", "[codec]") {
  const Bytes frame = foreign_frame(random_content(100'000, 7), 25);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::malloc_trim(0);  // or what other tests have freed would do
    std::ifstream statm("/proc/self/statm");
    rlim_t pages = 0;
    statm >> pages;
    const rlim_t most = pages * 4096 + (rlim_t{16} << 20);
    const rlimit limit{most, most};
    FrameDecompressor decompressor(Windows::large);
    const bool is_set = ::setrlimit(RLIMIT_AS, &limit) == 0;
    const auto got = decompressor.decompress(frame, k_limit);
    const bool is_right = is_set && !got && got.error().code == Errc::io && got.error().sys_errno == ENOMEM;
    ::_exit(is_right ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}
#endif
