// SPDX-License-Identifier: Apache-2.0
// What the tests of delta/ share: contents and files, signatures held in memory, and one whole delta from signature to
// applied content.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "delta/applier.hpp"
#include "delta/matcher.hpp"
#include "unit/fs/world.hpp"

namespace nb::delta::test {

using fs::test::code;
using fs::test::good;

inline constexpr std::size_t k_kib = 1024;
inline constexpr std::size_t k_mib = 1024 * k_kib;

const BlockSigner& signer();
hash::Digest digest_of(ByteView content);
Bytes random_bytes(std::size_t size, unsigned seed);
Bytes joined(std::initializer_list<ByteView> parts);

enum class Zeros : std::uint8_t { written, left_out };
// A new file with this content; where zeros are left out, whole pages of them are holes.
std::unique_ptr<fs::File> store(fs::Directory& in, const std::string& name, ByteView content, Zeros zeros);
Bytes content_of(fs::File& file);

// A signature in memory that went through its encoding, and counts what is asked for and kept.
class HeldSignature final : public BasisSignature {
 public:
  explicit HeldSignature(std::uint64_t basis_size) : m_basis_size(basis_size) {}
  static HeldSignature of(fs::File& basis);
  void put(const SignaturePiece& piece) { m_blobs[piece.index()] = piece.encode(m_basis_size); }
  Result<std::shared_ptr<const SignaturePiece>> piece(std::uint64_t index) override;
  // Changes every block of every piece.
  void change(const std::function<void(BlockSignature&)>& how);

  [[nodiscard]] std::size_t asked() const { return m_asked.size(); }
  [[nodiscard]] std::size_t most_alive() const { return m_most_alive; }
  [[nodiscard]] std::size_t bytes() const;

 private:
  std::uint64_t m_basis_size;
  std::map<std::uint64_t, Bytes> m_blobs;
  std::vector<std::uint64_t> m_asked;
  std::vector<std::weak_ptr<const SignaturePiece>> m_given;
  std::size_t m_most_alive = 0;
};

struct Outcome {
  MatchTotals totals;
  hash::Digest source;  // what the matcher read
  hash::Digest sink;    // what the applier made
  std::vector<SignaturePiece> source_pieces;
  std::vector<SignaturePiece> sink_pieces;
};

struct RunOptions {
  TrustedBlocks trusted = {};
  std::size_t max_pieces = 16;
};

// Matches `content` against `signature` and applies the delta to `basis` and `output`, which is new.
Result<Outcome> run_delta(fs::File& content, fs::File& basis, BasisSignature& signature, fs::File& output,
                          const RunOptions& options = {});

// The same for two contents in `in`, with the real signature; checks that content, digests and signatures are right.
MatchTotals check_delta(fs::Directory& in, ByteView basis, ByteView content, Zeros zeros = Zeros::written);

}  // namespace nb::delta::test
