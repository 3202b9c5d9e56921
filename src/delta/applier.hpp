// SPDX-License-Identifier: Apache-2.0
// Applier: makes the new content in the stage from a delta and the basis that it was made against. It checks whatever
// the peer says, and computes the digest of what it wrote, which the caller compares with the peer's.
//
// Where the file system shares blocks, the basis is cloned and only what differs is written; then copies from the same
// offset write nothing and, where the caller has a trusted signature of the block, read nothing. Else what is copied is
// read once, hashed and written. Holes of the basis stay holes.
//
// What is not read is not checked: the caller makes sure that trusted signatures are those of this very basis, and that
// its stat data are the same before and after.
#pragma once

#include <functional>
#include <optional>

#include "delta/delta_sink.hpp"
#include "delta/signature_builder.hpp"

namespace nb::delta {

// The signature of a whole block of the basis that the caller trusts, or null: then the block is read. The pointer is
// used before the next call.
using TrustedBlocks = std::function<const BlockSignature*(std::uint64_t block)>;

struct ApplierOptions {
  fs::File* basis = nullptr;  // null: there is none, and copies are refused
  std::uint64_t basis_size = 0;
  std::uint64_t size = 0;      // of the new content, as announced
  TrustedBlocks trusted = {};  // may be empty
};

class Applier final : public DeltaSink {
 public:
  // `output` is new and empty. `builder` is fed with the content. All outlive the applier.
  Applier(fs::File& output, SignatureBuilder& builder, ApplierOptions options);

  // Errc::protocol for a gap, an overlap, nothing, or a range outside of basis or content; then the content is void.
  // Errc::changed if the basis is found to be shorter than it was, or cannot be read.
  Status data(std::uint64_t offset, ByteView bytes) override;
  Status copy(std::uint64_t offset, std::uint64_t basis_offset, std::uint64_t length) override;
  Status hole(std::uint64_t offset, std::uint64_t length) override;
  // Gives the file its size and returns the digest of the content; Errc::protocol if some is missing.
  Result<hash::Digest> finish();

 private:
  enum class Sharing : std::uint8_t { untried, works, impossible };
  enum class Output : std::uint8_t { to_be_written, has_it };

  Status check_next(std::uint64_t offset, std::uint64_t length) const;
  Status copy_in_place(std::uint64_t length);
  Status copy_shifted(std::uint64_t basis_offset, std::uint64_t length);
  Status clone_rest_of_basis();
  Result<bool> clone(fs::Extent range);
  Status copy_range(std::uint64_t basis_offset, std::uint64_t length, Output output);
  Result<std::optional<fs::Extent>> next_data(std::uint64_t basis_offset);
  Status copy_data(std::uint64_t basis_offset, std::uint64_t length, Output output);
  Status read_basis(std::uint64_t offset, std::span<std::byte> out);
  [[nodiscard]] const BlockSignature* trusted(std::uint64_t basis_offset, std::uint64_t length) const;
  Status clear(std::uint64_t length);
  void advance(std::uint64_t length);

  fs::File& m_output;
  SignatureBuilder& m_builder;
  ApplierOptions m_options;
  Bytes m_buffer;
  std::uint64_t m_at = 0;  // everything before is made and hashed
  Sharing m_sharing = Sharing::untried;
  bool m_basis_cloned = false;
  std::uint64_t m_clone_begin = 0;  // if so: from here on, and from m_at on, the output holds the basis
  std::uint64_t m_written_back = 0;
  std::optional<std::uint64_t> m_asked_for_data;  // of the basis, from there on
  std::optional<fs::Extent> m_data;               // the answer
};

}  // namespace nb::delta
