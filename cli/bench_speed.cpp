// SPDX-License-Identifier: Apache-2.0
// The processor's half; bench_disk.cpp has the disks'.
#include "cli/bench_speed.hpp"

#include <array>
#include <optional>
#include <random>

#include "cli/bench_blocks.hpp"
#include "codec/frame_compressor.hpp"
#include "hash/digest.hpp"
#include "hash/file_hasher.hpp"
#include "session/interrupt.hpp"

namespace nb::cli {
namespace {

constexpr std::size_t k_text_bytes = std::size_t{2} << 20;
constexpr std::size_t k_frame_bytes = 128 << 10;  // as frames are cut
constexpr std::size_t k_words = 4096;

std::string random_word(std::mt19937& generator) {
  std::string word;
  const std::size_t length = 2 + generator() % 9;
  for (std::size_t i = 0; i < length; ++i) word += static_cast<char>('a' + generator() % 26);
  return word;
}

// Words of a fixed vocabulary, few of them often: zstd -1 leaves about a third of it.
std::string sample_text() {
  std::mt19937 generator(1);
  std::array<std::string, k_words> vocabulary;
  for (std::string& word : vocabulary) word = random_word(generator);
  std::string text;
  while (text.size() < k_text_bytes) {
    const std::size_t spread = std::size_t{1} << (1 + generator() % 12);
    text += vocabulary[generator() % spread] + (generator() % 12 == 0 ? "\n" : " ");
  }
  text.resize(k_text_bytes);
  return text;
}

template <class Piece>
Result<Work> repeat(std::chrono::milliseconds time, const Clock& clock, const Piece& piece) {
  const SteadyTime begin = clock.steady();
  Work work;
  do {
    if (session::interrupt_requested()) return fail(Errc::interrupted, "");
    NB_TRY_ASSIGN(const std::size_t bytes, piece(work.bytes));
    work.bytes += bytes;
    work.seconds = std::chrono::duration<double>(clock.steady() - begin).count();
  } while (work.seconds < std::chrono::duration<double>(time).count());
  return work;
}

}  // namespace

Result<Work> hash_speed(std::chrono::milliseconds time, const Clock& clock) {
  const Bytes data = random_block();
  NB_TRY_ASSIGN(const hash::Secret secret, hash::Secret::generate());
  hash::FileHasher hasher(secret);
  auto work = repeat(time, clock, [&](std::uint64_t) -> Result<std::size_t> {
    hasher.update(data);
    return data.size();
  });
  static_cast<void>(hasher.finish());
  return work;
}

Result<ZstdWork> zstd_speed(int level, std::chrono::milliseconds time, const Clock& clock) {
  const std::string text = sample_text();
  std::optional<codec::FrameCompressor> compressor;
  std::uint64_t compressed = 0;
  Bytes out;
  auto work = repeat(time, clock, [&](std::uint64_t done) -> Result<std::size_t> {
    out.clear();
    // Anew at each pass: a window that still held the last one would find all of it again.
    if (done % text.size() == 0) compressor.emplace();
    const auto piece = std::string_view(text).substr(done % text.size(), k_frame_bytes);
    NB_TRY(compressor->compress(as_bytes(piece), level, out));
    compressed += out.size();
    return piece.size();
  });
  if (!work) return tl::make_unexpected(work.error());
  return ZstdWork{*work, static_cast<double>(compressed) / static_cast<double>(work->bytes)};
}

}  // namespace nb::cli
