// SPDX-License-Identifier: Apache-2.0
// The checked reads that all messages share.
#include "wire/body.hpp"

#include <algorithm>

namespace nb::wire {
namespace {

tl::unexpected<Error> bad_field(const ByteReader& in, std::string_view detail, std::string_view field) {
  return in_field(in.bad(detail).value(), field);
}

}  // namespace

tl::unexpected<Error> in_field(Error error, std::string_view field) {
  error.context.append(" (").append(field).append(")");
  return tl::make_unexpected(std::move(error));
}

Result<std::uint64_t> read_number(ByteReader& in, std::string_view field, std::uint64_t max) {
  Result<std::uint64_t> value = in.varint();
  if (!value) return in_field(std::move(value).error(), field);
  if (*value > max) return bad_field(in, "value out of range", field);
  return value;
}

Result<std::uint32_t> read_u32(ByteReader& in, std::string_view field, std::uint32_t max) {
  NB_TRY_ASSIGN(const std::uint64_t value, read_number(in, field, max));
  return static_cast<std::uint32_t>(value);
}

Result<std::uint8_t> read_kind(ByteReader& in, std::string_view field, std::uint8_t max) {
  Result<std::uint8_t> value = in.u8();
  if (!value) return in_field(std::move(value).error(), field);
  if (*value < 1 || *value > max) return bad_field(in, "unknown value", field);
  return value;
}

Result<std::uint8_t> read_bits(ByteReader& in, std::string_view field, std::uint8_t known) {
  Result<std::uint8_t> value = in.u8();
  if (!value) return in_field(std::move(value).error(), field);
  if ((*value & ~known) != 0) return bad_field(in, "unknown bits", field);
  return value;
}

Result<std::string> read_c_string(ByteReader& in, std::string_view field, std::size_t max_bytes, Emptiness emptiness) {
  Result<std::string> text = in.string(max_bytes);
  if (!text) return in_field(std::move(text).error(), field);
  if (text->empty() && emptiness == Emptiness::refused) return bad_field(in, "empty", field);
  if (text->find('\0') != std::string::npos) return bad_field(in, "NUL byte", field);
  return text;
}

Result<std::string> read_name(ByteReader& in, std::string_view field) {
  Result<std::string> name = in.string(k_max_name_bytes);
  if (!name) return in_field(std::move(name).error(), field);
  if (!is_sendable_name(*name)) return bad_field(in, "unsafe name", field);
  return name;
}

Result<RelPath> read_path(ByteReader& in, std::string_view field, Emptiness emptiness) {
  const Result<ByteView> raw = in.blob(k_max_path_bytes);
  if (!raw) return in_field(raw.error(), field);
  const std::string_view text = as_text(*raw);
  if (text.empty() && emptiness == Emptiness::refused) return bad_field(in, "empty", field);
  Result<RelPath> path = RelPath::parse(text, Errc::protocol);
  if (!path) return wrap(std::move(path).error(), in.bad(field).value().context);
  if (has_reserved_name(text)) return bad_field(in, "unsafe name", field);
  return path;
}

Result<Id> read_id(ByteReader& in, std::string_view field) {
  const Result<ByteView> raw = in.raw(std::tuple_size_v<Id>);
  if (!raw) return in_field(raw.error(), field);
  Id id;
  std::copy(raw->begin(), raw->end(), id.begin());
  return id;
}

Result<hash::Digest> read_digest(ByteReader& in, std::string_view field) {
  Result<hash::Digest> digest = hash::Digest::read(in);
  if (!digest) return in_field(std::move(digest).error(), field);
  return digest;
}

void write_key(ByteWriter& out, const FileKey& key) {
  out.varint(key.directory);
  out.varint(key.index);
}

Result<FileKey> read_key(ByteReader& in) {
  FileKey key;
  NB_TRY_ASSIGN(key.directory, read_number(in, "directory", k_max_directory_id));
  NB_TRY_ASSIGN(key.index, read_number(in, "index", k_max_entries));
  return key;
}

bool is_sendable_name(std::string_view name) { return is_safe_name(name) && !is_reserved_name(name); }

std::string_view clip(std::string_view text, std::size_t max_bytes) { return text.substr(0, max_bytes); }

}  // namespace nb::wire
