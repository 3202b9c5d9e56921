// SPDX-License-Identifier: Apache-2.0
#include "txn/text_record.hpp"

#include <algorithm>
#include <charconv>

#include "base/text.hpp"
#include "hash/digest.hpp"

namespace nb::txn {
namespace {

constexpr std::string_view k_check = "check ";
constexpr std::size_t k_check_line_bytes = k_check.size() + 16 + 1;

std::string check_line(std::string_view text) {
  Bytes value;
  ByteWriter(value).u64(hash::check_of(as_bytes(text)));
  // Most significant digit first, as people write numbers.
  std::reverse(value.begin(), value.end());
  return std::string(k_check) + to_hex(value) + "\n";
}

}  // namespace

TextRecordWriter::TextRecordWriter(std::string_view title) : m_text(std::string(title) + "\n") {}

void TextRecordWriter::line(std::string_view key, std::string_view value) {
  m_text.append(key).append(1, ' ').append(value).append(1, '\n');
}

void TextRecordWriter::number(std::string_view key, std::uint64_t value) { line(key, std::to_string(value)); }

Bytes TextRecordWriter::finish() const {
  const std::string whole = m_text + check_line(m_text);
  const ByteView view = as_bytes(whole);
  return {view.begin(), view.end()};
}

Result<TextRecordReader> TextRecordReader::open(ByteView data, std::string_view title) {
  const TextRecordReader reporter(title, {});
  const std::string_view text = as_text(data);
  if (!text.starts_with(std::string(title) + "\n")) return reporter.bad("is not what its name says");
  if (text.size() < title.size() + 1 + k_check_line_bytes) return reporter.bad("truncated");
  const std::string_view body = text.substr(0, text.size() - k_check_line_bytes);
  const bool good = body.ends_with('\n') && text.substr(body.size()) == check_line(body);
  if (!good) return reporter.bad("check does not match");
  std::vector<std::string_view> lines = split(body.substr(0, body.size() - 1), '\n');
  lines.erase(lines.begin());
  return TextRecordReader(title, std::move(lines));
}

bool TextRecordReader::next_is(std::string_view key) const {
  if (m_next == m_lines.size()) return false;
  const std::string_view line = m_lines[m_next];
  return line.size() > key.size() && line.starts_with(key) && line[key.size()] == ' ';
}

Result<std::string_view> TextRecordReader::line(std::string_view key) {
  if (!next_is(key)) return bad("no '" + std::string(key) + "' where it should be");
  return m_lines[m_next++].substr(key.size() + 1);
}

Result<std::uint64_t> TextRecordReader::number(std::string_view key) {
  NB_TRY_ASSIGN(const std::string_view text, line(key));
  const std::optional<std::uint64_t> value = parse_u64(text);
  // One spelling only: no leading zeros.
  if (!value || std::to_string(*value) != text) return bad("bad number in '" + std::string(key) + "'");
  return *value;
}

Result<std::int64_t> TextRecordReader::signed_number(std::string_view key) {
  NB_TRY_ASSIGN(const std::string_view text, line(key));
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || std::to_string(value) != text) {
    return bad("bad number in '" + std::string(key) + "'");
  }
  return value;
}

Result<std::array<std::byte, 16>> TextRecordReader::id(std::string_view key) {
  NB_TRY_ASSIGN(const std::string_view text, line(key));
  const std::optional<Bytes> bytes = from_hex(text);
  if (!bytes || bytes->size() != 16) return bad("bad id in '" + std::string(key) + "'");
  std::array<std::byte, 16> value{};
  std::copy(bytes->begin(), bytes->end(), value.begin());
  return value;
}

Status TextRecordReader::finish() const {
  if (m_next != m_lines.size()) return bad("unknown line");
  return {};
}

tl::unexpected<Error> TextRecordReader::bad(std::string_view detail) const {
  return fail(Errc::bad_set, std::string(m_title) + ": " + std::string(detail));
}

}  // namespace nb::txn
