// SPDX-License-Identifier: Apache-2.0
#include "txn/record_file.hpp"

#include <algorithm>

#include "fs/metadata.hpp"
#include "hash/digest.hpp"

namespace nb::txn {
namespace {

constexpr std::size_t k_buffer_bytes = std::size_t{64} << 10;
constexpr std::size_t k_length_bytes = 4;
constexpr std::string_view k_what = "record";

}  // namespace

Status RecordWriter::append(ByteView payload) {
  if (payload.size() > k_max_record_bytes) return fail(Errc::unsupported, "too much metadata for one record");
  ByteWriter out(m_buffer);
  const auto length = static_cast<std::uint32_t>(payload.size());
  out.u32(length);
  out.raw(payload);
  out.u64(hash::check_of(payload));
  out.u32(length);
  return m_buffer.size() >= k_buffer_bytes ? flush() : Status();
}

Status RecordWriter::flush() {
  if (m_buffer.empty()) return {};
  // On failure the buffer stays: the next attempt writes the same bytes to the same place.
  NB_TRY(m_file->write_at(m_written, m_buffer));
  m_written += m_buffer.size();
  m_buffer.clear();
  return {};
}

Status RecordWriter::sync() {
  NB_TRY(flush());
  return m_file->sync();
}

Status RecordCursor::load(std::uint64_t offset, std::size_t count) {
  m_window.resize(count);
  m_window_offset = offset;
  const Result<std::size_t> filled = fs::read_fully(m_file, offset, m_window);
  m_window.resize(filled.value_or(0));
  if (!filled) return tl::make_unexpected(filled.error());
  return {};
}

Result<ByteView> RecordCursor::bytes(std::uint64_t offset, std::size_t count, Toward toward) {
  if (offset < m_begin || offset > m_end || count > m_end - offset) return fail(Errc::bad_set, "record: truncated");
  const bool inside = offset >= m_window_offset && offset + count <= m_window_offset + m_window.size();
  if (!inside) {
    // A little more than asked for, in the direction of travel.
    std::uint64_t from = offset;
    std::uint64_t to = offset + count;
    if (toward == Toward::end) to = std::min(m_end, std::max(to, from + k_buffer_bytes));
    if (toward == Toward::begin) from = std::max(m_begin, to - std::min<std::uint64_t>(to, k_buffer_bytes));
    from = std::min(from, offset);
    NB_TRY(load(from, static_cast<std::size_t>(to - from)));
  }
  const auto start = static_cast<std::size_t>(offset - m_window_offset);
  if (start + count > m_window.size()) return fail(Errc::bad_set, "record: truncated");
  return ByteView(m_window).subspan(start, count);
}

Result<ByteView> RecordCursor::frame(std::uint64_t offset, std::size_t payload_bytes, Toward toward) {
  NB_TRY_ASSIGN(const ByteView whole, bytes(offset, payload_bytes + k_frame_overhead_bytes, toward));
  ByteReader in(whole, Errc::bad_set, k_what);
  NB_TRY_ASSIGN(const std::uint32_t length, in.u32());
  NB_TRY_ASSIGN(const ByteView payload, in.raw(payload_bytes));
  NB_TRY_ASSIGN(m_check, in.u64());
  NB_TRY_ASSIGN(const std::uint32_t again, in.u32());
  if (length != payload_bytes || again != payload_bytes) return in.bad("lengths differ");
  if (m_check != hash::check_of(payload)) return in.bad("check does not match");
  return payload;
}

Result<std::optional<ByteView>> RecordCursor::next() {
  if (m_at == m_end) return std::nullopt;
  NB_TRY_ASSIGN(const ByteView prefix, bytes(m_at, k_length_bytes, Toward::end));
  ByteReader in(prefix, Errc::bad_set, k_what);
  NB_TRY_ASSIGN(const std::uint32_t length, in.u32());
  if (length > k_max_record_bytes) return in.bad("too long");
  NB_TRY_ASSIGN(const ByteView payload, frame(m_at, length, Toward::end));
  m_at += length + k_frame_overhead_bytes;
  return payload;
}

Result<ByteView> RecordCursor::next_of(std::string_view what) {
  NB_TRY_ASSIGN(const std::optional<ByteView> record, next());
  if (!record) return fail(Errc::bad_set, std::string(what) + ": no footer");
  return *record;
}

Result<std::optional<ByteView>> RecordCursor::previous() {
  if (m_at == m_begin) return std::nullopt;
  if (m_at - m_begin < k_frame_overhead_bytes) return fail(Errc::bad_set, "record: truncated");
  NB_TRY_ASSIGN(const ByteView suffix, bytes(m_at - k_length_bytes, k_length_bytes, Toward::begin));
  ByteReader in(suffix, Errc::bad_set, k_what);
  NB_TRY_ASSIGN(const std::uint32_t length, in.u32());
  if (length > k_max_record_bytes || length + k_frame_overhead_bytes > m_at - m_begin) return in.bad("too long");
  const std::uint64_t start = m_at - length - k_frame_overhead_bytes;
  NB_TRY_ASSIGN(const ByteView payload, frame(start, length, Toward::begin));
  m_at = start;
  return payload;
}

}  // namespace nb::txn
