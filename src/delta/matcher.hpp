// SPDX-License-Identifier: Apache-2.0
// Matcher: describes a new content as a delta against a basis of which only the signature is known, in one pass.
//
// At every position it knows a shift, the distance to the place in the basis that should hold the same bytes, 0 at
// first. Block after block it then
//   1. compares the strong digest with that of the block at this shift: equal blocks are copies, at hashing speed;
//   2. compares the checks of the pages of a block that differs, and copies those that are equal;
//   3. where that does not explain the block, rolls a weak sum over the new content until a block of the basis is found
//      (Tridgell, "Efficient Algorithms for Sorting and Synchronization", 1999, chapter 3), which gives a new shift;
//      equal pages before that block are found backwards.
// So edits in place, appended and lost parts, insertions and moves are cheap, each at the price of a block or two.
//
// A page's check has 32 bits: one in 2^32 pages that differ is taken for equal. The digest over the whole content,
// which is computed from what was read here, does not match what the other side then makes, and it asks for the whole file.
#pragma once

#include <optional>

#include "delta/delta_output.hpp"
#include "delta/piece_window.hpp"
#include "delta/signature_builder.hpp"

namespace nb::delta {

struct MatcherOptions {
  std::uint64_t size = 0;        // of the new content, 1 or more
  std::uint64_t basis_size = 0;  // 1 or more
  std::size_t max_data_bytes = std::size_t{256} * 1024;
  std::size_t max_pieces = 16;  // of the signature in memory, 1.4 MiB each
};

class Matcher {
 public:
  // All outlive the matcher. `builder` is fed with the new content; what the peer says of blocks that are equal by
  // their strong digest goes into it unread, so a peer that lies about weak sums and pages spoils the signature kept of
  // this file for later deltas, but no digest.
  Matcher(fs::File& file, BasisSignature& basis, DeltaSink& sink, SignatureBuilder& builder, const BlockSigner& signer,
          MatcherOptions options);

  // Does it all, but leaves builder.finish() to the caller. Errc::changed if the file has become shorter.
  Result<MatchTotals> run();

 private:
  // How the content at the current position compares with the basis at one shift.
  struct Comparison {
    std::int64_t shift = 0;
    std::uint64_t length = 0;  // up to the end of the basis's block; 0: nothing of the basis is there
    std::uint64_t block = 0;
    std::size_t skipped = 0;                // bytes of the block that lie before the current position
    const BlockSignature* whole = nullptr;  // set if all of the block is equal; valid until the next comparison
    std::uint32_t equal_pages = 0;          // bit i: page i of the block is equal
    std::size_t telling = 0;                // equal pages that are not just zeros
    std::uint64_t after_equal = 0;          // offset in the new file where the last equal page ends
    [[nodiscard]] bool explains() const { return telling * 2 >= pages_in(length) && telling > 0; }
  };
  struct Match {
    std::uint64_t at = 0;  // in the new file
    std::uint64_t block = 0;
    std::uint64_t length = 0;
  };

  Status step();
  Status pass_hole();
  Result<Comparison> compare_best();
  Result<Comparison> compare(std::int64_t shift);
  void compare_pages(Comparison& found, ByteView bytes, const BlockSignature& block) const;
  Status take_block(const Comparison& found);
  Status take_pages(const Comparison& found, std::uint64_t to);
  Result<std::optional<Match>> search(std::uint64_t from);
  Result<std::optional<Match>> roll(std::uint64_t from, std::uint64_t end);
  std::optional<Match> verify(std::uint64_t at, ByteView block);
  Result<std::optional<Match>> match_tail(std::uint64_t from);
  Result<std::uint64_t> extend_back(const Match& match, std::uint64_t from);
  Result<bool> equal_page_before(std::uint64_t at, std::uint64_t basis_offset);
  Status take_match(const Comparison& found, const Match& match, std::uint64_t from);

  Status literal_to(std::uint64_t to);
  Status copy(std::uint64_t basis_offset, std::uint64_t length);
  Status locate_data();
  void keep() { m_window.keep_from(std::min(m_at, m_output.needs_from())); }
  [[nodiscard]] bool affordable();

  fs::File& m_file;
  SignatureBuilder& m_builder;
  const BlockSigner& m_signer;
  MatcherOptions m_options;
  FileWindow m_window;
  DeltaOutput m_output;
  PieceWindow m_pieces;

  std::uint64_t m_at = 0;          // everything before is described
  std::uint64_t m_data_begin = 0;  // the stretch of data that m_at is in or before
  std::uint64_t m_data_end = 0;
  std::int64_t m_shift = 0;        // offset in the basis minus offset here
  std::int64_t m_other_shift = 0;  // the one before
  RollingSum m_sum;                // of the block at m_sum_at, if that is not m_no_sum
  std::uint64_t m_sum_at = k_no_sum;
  std::uint64_t m_credit = 0;  // bytes that may be hashed for candidates that turn out wrong

  static constexpr std::uint64_t k_no_sum = ~std::uint64_t{0};
};

}  // namespace nb::delta
