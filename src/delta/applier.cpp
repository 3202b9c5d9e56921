// SPDX-License-Identifier: Apache-2.0
#include "delta/applier.hpp"

#include <algorithm>
#include <array>

#include "base/assert.hpp"

namespace nb::delta {
namespace {

constexpr std::uint64_t k_share_bytes = 4096;  // what clones are aligned to; where blocks are larger, we copy
constexpr std::uint64_t k_writeback_bytes = std::uint64_t{8} << 20;
constexpr std::size_t k_buffer_bytes = std::size_t{256} * 1024;
constexpr std::array<std::byte, k_block_bytes> k_zeros{};

// What cannot be read of the basis is as bad as what is not there any more: the content can still be had whole.
tl::unexpected<Error> useless(const Error& error) {
  return fail(Errc::changed, "basis: " + error.context, error.sys_errno);
}

constexpr std::uint64_t round_down(std::uint64_t value) { return value - value % k_share_bytes; }

}  // namespace

Applier::Applier(fs::File& output, SignatureBuilder& builder, ApplierOptions options)
    : m_output(output), m_builder(builder), m_options(std::move(options)) {
  NB_ASSERT(builder.size() == 0);
}

Status Applier::check_next(std::uint64_t offset, std::uint64_t length) const {
  if (offset != m_at) return fail(Errc::protocol, "delta: not the next offset");
  if (length == 0) return fail(Errc::protocol, "delta: empty");
  if (length > m_options.size - m_at) return fail(Errc::protocol, "delta: beyond the announced size");
  return {};
}

// Long files start to reach the disk while they are received, so that the sync at the end is short.
void Applier::advance(std::uint64_t length) {
  m_at += length;
  if (m_at - m_written_back < k_writeback_bytes) return;
  m_output.start_writeback({m_written_back, m_at - m_written_back});
  m_written_back = m_at;
}

Status Applier::data(std::uint64_t offset, ByteView bytes) {
  NB_TRY(check_next(offset, bytes.size()));
  NB_TRY(m_output.write_at(offset, bytes));
  NB_TRY(m_builder.update(bytes));
  advance(bytes.size());
  return {};
}

Status Applier::hole(std::uint64_t offset, std::uint64_t length) {
  NB_TRY(check_next(offset, length));
  NB_TRY(clear(length));
  NB_TRY(m_builder.update_zeros(length));
  advance(length);
  return {};
}

// The next `length` bytes of the output are to be a hole: they are one unless a clone of the basis is there.
Status Applier::clear(std::uint64_t length) {
  if (!m_basis_cloned) return {};
  std::uint64_t begin = std::max(m_at, m_clone_begin);
  const std::uint64_t end = std::min(m_at + length, m_options.basis_size);
  if (begin >= end) return {};
  NB_TRY_ASSIGN(const bool punched, m_output.punch_hole({begin, end - begin}));
  while (!punched && begin < end) {
    const std::uint64_t take = std::min<std::uint64_t>(end - begin, k_zeros.size());
    NB_TRY(m_output.write_at(begin, ByteView(k_zeros).first(static_cast<std::size_t>(take))));
    begin += take;
  }
  return {};
}

Status Applier::copy(std::uint64_t offset, std::uint64_t basis_offset, std::uint64_t length) {
  NB_TRY(check_next(offset, length));
  if (m_options.basis == nullptr) return fail(Errc::protocol, "delta: copy without a basis");
  if (basis_offset > m_options.basis_size || length > m_options.basis_size - basis_offset) {
    return fail(Errc::protocol, "delta: copy from outside of the basis");
  }
  return offset == basis_offset ? copy_in_place(length) : copy_shifted(basis_offset, length);
}

Status Applier::copy_in_place(std::uint64_t length) {
  if (!m_basis_cloned && m_sharing != Sharing::impossible) NB_TRY(clone_rest_of_basis());
  if (!m_basis_cloned) return copy_range(m_at, length, Output::to_be_written);
  const std::uint64_t before = m_clone_begin > m_at ? std::min(m_clone_begin - m_at, length) : 0;
  if (before > 0) NB_TRY(copy_range(m_at, before, Output::to_be_written));
  if (length > before) NB_TRY(copy_range(m_at, length - before, Output::has_it));
  return {};
}

// All of the basis that lies at or after the current offset, at its own place: what came before stays as it is.
Status Applier::clone_rest_of_basis() {
  const std::uint64_t begin = round_down(m_at + k_share_bytes - 1);
  if (begin >= m_options.basis_size) return {};
  if (begin > 0) {
    NB_TRY_ASSIGN(m_basis_cloned, m_output.clone_range(*m_options.basis, {begin, m_options.basis_size - begin}, begin));
  } else {
    NB_TRY_ASSIGN(m_basis_cloned, m_output.clone_from(*m_options.basis));
  }
  m_sharing = m_basis_cloned ? Sharing::works : Sharing::impossible;
  m_clone_begin = begin;
  // What may have been cloned all the same is not to show in the delta's holes.
  if (!m_basis_cloned) NB_TRY(m_output.set_size(begin));
  return {};
}

// Whole file system blocks are shared where both offsets allow it; the rest is copied.
Status Applier::copy_shifted(std::uint64_t basis_offset, std::uint64_t length) {
  const bool aligned = m_at % k_share_bytes == 0 && basis_offset % k_share_bytes == 0;
  const std::uint64_t whole = aligned && m_sharing != Sharing::impossible ? round_down(length) : 0;
  if (whole > 0) {
    NB_TRY_ASSIGN(const bool shared, m_output.clone_range(*m_options.basis, {basis_offset, whole}, m_at));
    m_sharing = shared ? Sharing::works : Sharing::impossible;
    if (shared) {
      NB_TRY(copy_range(basis_offset, whole, Output::has_it));
      basis_offset += whole;
      length -= whole;
    }
  }
  return length > 0 ? copy_range(basis_offset, length, Output::to_be_written) : Status();
}

// The stretch of data of the basis that ends behind the offset. Copies are many and mostly follow each other, so the
// last answer is kept.
Result<std::optional<fs::Extent>> Applier::next_data(std::uint64_t basis_offset) {
  const bool is_known = m_asked_for_data && *m_asked_for_data <= basis_offset &&
                        (!m_data || basis_offset < m_data->offset + m_data->length);
  if (is_known) return m_data;
  auto found = m_options.basis->next_data(basis_offset);
  if (!found) return useless(found.error());
  m_asked_for_data = basis_offset;
  m_data = *found;
  return m_data;
}

// Stretches of data and holes of the basis, in turn.
Status Applier::copy_range(std::uint64_t basis_offset, std::uint64_t length, Output output) {
  const std::uint64_t end = basis_offset + length;
  while (basis_offset < end) {
    NB_TRY_ASSIGN(const std::optional<fs::Extent> data, next_data(basis_offset));
    const std::uint64_t data_begin = data ? std::clamp(data->offset, basis_offset, end) : end;
    const std::uint64_t hole_bytes = data_begin - basis_offset;
    if (hole_bytes > 0) {
      if (output == Output::to_be_written) NB_TRY(clear(hole_bytes));
      NB_TRY(m_builder.update_zeros(hole_bytes));
      advance(hole_bytes);
    }
    const std::uint64_t left = end - data_begin;
    const bool has_end = data && data->length > 0;
    const std::uint64_t data_bytes = has_end ? std::min(data->offset + data->length - data_begin, left) : left;
    NB_TRY(copy_data(data_begin, data_bytes, output));
    basis_offset = data_begin + data_bytes;
  }
  return {};
}

const BlockSignature* Applier::trusted(std::uint64_t basis_offset, std::uint64_t length) const {
  const bool whole = basis_offset % k_block_bytes == 0 && length >= k_block_bytes && m_builder.at_block_boundary();
  return whole && m_options.trusted ? m_options.trusted(basis_offset / k_block_bytes) : nullptr;
}

Status Applier::read_basis(std::uint64_t offset, std::span<std::byte> out) {
  while (!out.empty()) {
    const Result<std::size_t> got = m_options.basis->read_at(offset, out);
    if (!got) return useless(got.error());
    if (*got == 0) return fail(Errc::changed, "read: the basis has become shorter");
    offset += *got;
    out = out.subspan(*got);
  }
  return {};
}

Status Applier::copy_data(std::uint64_t basis_offset, std::uint64_t length, Output output) {
  if (length > 0) m_buffer.resize(k_buffer_bytes);
  while (length > 0) {
    const BlockSignature* known = output == Output::has_it ? trusted(basis_offset, length) : nullptr;
    std::uint64_t take = k_block_bytes;
    if (known != nullptr) {
      NB_TRY(m_builder.update_block(*known));
    } else {
      // What must be written goes in large steps; else up to the next block, which may be trusted.
      const bool step_by_block = output == Output::has_it && m_options.trusted;
      take = step_by_block ? k_block_bytes - basis_offset % k_block_bytes : k_buffer_bytes - m_at % k_block_bytes;
      take = std::min(take, length);
      const auto bytes = std::span(m_buffer).first(static_cast<std::size_t>(take));
      NB_TRY(read_basis(basis_offset, bytes));
      if (output == Output::to_be_written) NB_TRY(m_output.write_at(m_at, bytes));
      NB_TRY(m_builder.update(bytes));
    }
    advance(take);
    basis_offset += take;
    length -= take;
  }
  return {};
}

Result<hash::Digest> Applier::finish() {
  if (m_at != m_options.size) return fail(Errc::protocol, "delta: content is missing");
  NB_TRY(m_output.set_size(m_options.size));
  return m_builder.finish();
}

}  // namespace nb::delta
