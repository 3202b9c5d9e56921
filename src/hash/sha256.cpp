// SPDX-License-Identifier: Apache-2.0
#include "hash/sha256.hpp"

#include <array>
#include <bit>
#include <cstdint>

#include "base/text.hpp"

namespace nb::hash {
namespace {

constexpr std::size_t k_block_bytes = 64;
constexpr std::size_t k_length_bytes = 8;

using State = std::array<std::uint32_t, 8>;

// FIPS 180-4, 5.3.3 and 4.2.2: the first 32 bits of the fractional parts of the square roots of the first 8 primes, and
// of the cube roots of the first 64.
constexpr State k_initial{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                          0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
constexpr std::array<std::uint32_t, 64> k_round{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

// 6.2.2, step 1.
std::array<std::uint32_t, 64> schedule(ByteView block) {
  std::array<std::uint32_t, 64> w{};
  for (std::size_t i = 0; i < k_block_bytes; ++i) w[i / 4] = w[i / 4] << 8 | std::to_integer<std::uint32_t>(block[i]);
  for (std::size_t t = 16; t < w.size(); ++t) {
    const std::uint32_t s0 = std::rotr(w[t - 15], 7) ^ std::rotr(w[t - 15], 18) ^ w[t - 15] >> 3;
    const std::uint32_t s1 = std::rotr(w[t - 2], 17) ^ std::rotr(w[t - 2], 19) ^ w[t - 2] >> 10;
    w[t] = w[t - 16] + s0 + w[t - 7] + s1;
  }
  return w;
}

// The other steps: a to h are v[0] to v[7].
void add_block(State& state, ByteView block) {
  const auto w = schedule(block);
  State v = state;
  for (std::size_t t = 0; t < w.size(); ++t) {
    const std::uint32_t sum1 = std::rotr(v[4], 6) ^ std::rotr(v[4], 11) ^ std::rotr(v[4], 25);
    const std::uint32_t sum0 = std::rotr(v[0], 2) ^ std::rotr(v[0], 13) ^ std::rotr(v[0], 22);
    const std::uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
    const std::uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
    const std::uint32_t t1 = v[7] + sum1 + choice + k_round[t] + w[t];
    v = {t1 + sum0 + majority, v[0], v[1], v[2], v[3] + t1, v[4], v[5], v[6]};
  }
  for (std::size_t i = 0; i < state.size(); ++i) state[i] += v[i];
}

// 5.1.1: what is left of the message, one bit, zeros, and its length in bits, big-endian.
Bytes padded_tail(ByteView tail, std::uint64_t message_bytes) {
  Bytes out(tail.begin(), tail.end());
  out.push_back(std::byte{0x80});
  while (out.size() % k_block_bytes != k_block_bytes - k_length_bytes) out.push_back(std::byte{0});
  for (int shift = 56; shift >= 0; shift -= 8) out.push_back(static_cast<std::byte>(message_bytes * 8 >> shift));
  return out;
}

}  // namespace

std::string sha256_hex(ByteView data) {
  State state = k_initial;
  const std::size_t whole = data.size() / k_block_bytes * k_block_bytes;
  const Bytes tail = padded_tail(data.subspan(whole), data.size());
  for (std::size_t at = 0; at < whole; at += k_block_bytes) add_block(state, data.subspan(at, k_block_bytes));
  for (std::size_t at = 0; at < tail.size(); at += k_block_bytes) {
    add_block(state, ByteView(tail).subspan(at, k_block_bytes));
  }
  Bytes digest;
  for (const std::uint32_t word : state) {
    for (int shift = 24; shift >= 0; shift -= 8) digest.push_back(static_cast<std::byte>(word >> shift));
  }
  return to_hex(digest);
}

}  // namespace nb::hash
