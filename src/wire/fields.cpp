// SPDX-License-Identifier: Apache-2.0
// Writing and reading tagged fields; see the header for the rule.
#include "wire/fields.hpp"

#include "hash/secret.hpp"

namespace nb::wire {
namespace {

constexpr std::uint64_t k_no_tag = ~std::uint64_t{0};

Result<std::vector<std::string>> read_list(ByteReader& in, std::string_view name, std::size_t max_count,
                                           std::size_t max_bytes) {
  NB_TRY_ASSIGN(const std::uint64_t count, read_number(in, name, max_count));
  std::vector<std::string> list;
  for (std::uint64_t i = 0; i < count; ++i) {
    NB_TRY_ASSIGN(std::string text, read_c_string(in, name, max_bytes, Emptiness::refused));
    list.push_back(std::move(text));
  }
  if (!in.at_end()) return in_field(in.bad("bytes left over").value(), name);
  return list;
}

}  // namespace

void FieldWriter::raw(std::uint64_t tag, ByteView value) {
  m_out.varint(tag);
  m_out.blob(value);
}

void FieldWriter::number(std::uint64_t tag, std::string_view, std::uint64_t value, std::uint64_t, Presence presence) {
  if (value == 0 && presence == Presence::optional) return;
  m_value.clear();
  ByteWriter(m_value).varint(value);
  raw(tag, m_value);
}

void FieldWriter::flags(std::uint64_t tag, std::string_view name, std::uint64_t value, std::uint64_t known) {
  number(tag, name, value, known, Presence::optional);
}

void FieldWriter::signed_number(std::uint64_t tag, std::string_view, std::int64_t value, std::int64_t) {
  m_value.clear();
  ByteWriter(m_value).svarint(value);
  raw(tag, m_value);
}

void FieldWriter::id(std::uint64_t tag, std::string_view, const Id& value) { raw(tag, value); }

void FieldWriter::optional_id(std::uint64_t tag, std::string_view, const std::optional<Id>& value) {
  if (value) raw(tag, *value);
}

void FieldWriter::label(std::uint64_t tag, std::string_view, const std::string& value) {
  if (!value.empty()) raw(tag, as_bytes(clip(value, k_max_label_bytes)));
}

void FieldWriter::path_text(std::uint64_t tag, std::string_view, const std::string& value) {
  if (!value.empty()) raw(tag, as_bytes(value));
}

void FieldWriter::secret(std::uint64_t tag, std::string_view, const std::vector<std::byte>& value) {
  if (!value.empty()) raw(tag, value);
}

void FieldWriter::list(std::uint64_t tag, std::string_view, const std::vector<std::string>& value, std::size_t,
                       std::size_t) {
  if (value.empty()) return;
  m_value.clear();
  ByteWriter out(m_value);
  out.varint(value.size());
  for (const std::string& text : value) out.string(text);
  raw(tag, m_value);
}

void FieldReader::fail_with(Error error) {
  if (!m_error) m_error = std::move(error);
  m_tag = k_no_tag;
}

void FieldReader::fail_with(std::string_view detail) { fail_with(m_in.bad(detail).value()); }

void FieldReader::advance() {
  const std::uint64_t last = m_tag;
  if (m_in.at_end()) {
    m_tag = k_no_tag;
    return;
  }
  const Result<std::uint64_t> tag = m_in.varint();
  if (!tag) return fail_with(tag.error());
  const Result<ByteView> value = m_in.blob(k_max_message_bytes);
  if (!value) return fail_with(value.error());
  if (*tag <= last || *tag == k_no_tag) return fail_with("fields out of order");
  m_tag = *tag;
  m_value = *value;
}

void FieldReader::skip_until(std::uint64_t tag) {
  while (m_tag < tag) {
    if (m_tag % 2 != 0) return fail_with("a newer nbackup asks for something that this one does not know");
    advance();
  }
}

std::optional<ByteView> FieldReader::find(std::uint64_t tag, std::string_view name, Presence presence) {
  skip_until(tag);
  if (m_error) return std::nullopt;
  if (m_tag == tag) {
    const ByteView value = m_value;
    advance();
    return value;
  }
  if (presence == Presence::required) fail_with("field missing: " + std::string(name));
  return std::nullopt;
}

void FieldReader::number(std::uint64_t tag, std::string_view name, std::uint64_t& value, std::uint64_t max,
                         Presence presence) {
  value = 0;
  const std::optional<ByteView> raw = find(tag, name, presence);
  if (!raw) return;
  ByteReader in(*raw, Errc::protocol, name);
  const Result<std::uint64_t> number = in.varint();
  if (!number || !in.at_end() || *number > max) return fail_with("bad value of " + std::string(name));
  value = *number;
}

void FieldReader::flags(std::uint64_t tag, std::string_view name, std::uint64_t& value, std::uint64_t known) {
  number(tag, name, value, ~std::uint64_t{0}, Presence::optional);
  if ((value & ~known) != 0) fail_with("unknown bits in " + std::string(name));
}

void FieldReader::signed_number(std::uint64_t tag, std::string_view name, std::int64_t& value, std::int64_t min) {
  const std::optional<ByteView> raw = find(tag, name, Presence::required);
  if (!raw) return;
  ByteReader in(*raw, Errc::protocol, name);
  const Result<std::int64_t> number = in.svarint();
  if (!number || !in.at_end() || *number < min) return fail_with("bad value of " + std::string(name));
  value = *number;
}

void FieldReader::id(std::uint64_t tag, std::string_view name, Id& value) {
  std::optional<Id> found;
  optional_id(tag, name, found);
  if (found)
    value = *found;
  else
    fail_with("field missing: " + std::string(name));
}

void FieldReader::optional_id(std::uint64_t tag, std::string_view name, std::optional<Id>& value) {
  const std::optional<ByteView> raw = find(tag, name, Presence::optional);
  if (!raw) return;
  ByteReader in(*raw, Errc::protocol, name);
  const Result<Id> id = read_id(in, name);
  if (!id || !in.at_end()) return fail_with("bad length of " + std::string(name));
  value = *id;
}

void FieldReader::label(std::uint64_t tag, std::string_view name, std::string& value) {
  const std::optional<ByteView> raw = find(tag, name, Presence::optional);
  if (!raw) return;
  if (raw->size() > k_max_label_bytes) return fail_with("too long: " + std::string(name));
  value = as_text(*raw);
}

void FieldReader::path_text(std::uint64_t tag, std::string_view name, std::string& value) {
  const std::optional<ByteView> raw = find(tag, name, Presence::optional);
  if (!raw) return;
  if (raw->size() > k_max_path_bytes) return fail_with("too long: " + std::string(name));
  if (as_text(*raw).find('\0') != std::string_view::npos) return fail_with("NUL byte in " + std::string(name));
  value = as_text(*raw);
}

void FieldReader::secret(std::uint64_t tag, std::string_view name, std::vector<std::byte>& value) {
  const std::optional<ByteView> raw = find(tag, name, Presence::optional);
  if (!raw) return;
  if (raw->size() != hash::k_secret_bytes) return fail_with("bad length of " + std::string(name));
  value.assign(raw->begin(), raw->end());
}

void FieldReader::list(std::uint64_t tag, std::string_view name, std::vector<std::string>& value, std::size_t max_count,
                       std::size_t max_bytes) {
  const std::optional<ByteView> raw = find(tag, name, Presence::optional);
  if (!raw) return;
  // The error then reads as that of the message itself: "open: value out of range (sources)".
  Result<std::vector<std::string>> list = [&] {
    ByteReader in(*raw, Errc::protocol, "");
    return read_list(in, name, max_count, max_bytes);
  }();
  if (!list) return fail_with(std::string_view(list.error().context).substr(2));
  value = std::move(*list);
}

Status FieldReader::finish() {
  skip_until(k_no_tag);
  if (m_error) return tl::make_unexpected(std::move(*m_error));
  return {};
}

}  // namespace nb::wire
