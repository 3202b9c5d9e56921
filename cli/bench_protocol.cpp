// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_protocol.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/text.hpp"
#include "session/interrupt.hpp"

namespace nb::cli {
namespace {

constexpr std::chrono::milliseconds k_look_for_signal{100};
constexpr std::size_t k_piece_bytes = 64 << 10;

tl::unexpected<Error> no_answer(std::string_view line) {
  return fail(Errc::protocol, "bench: no answer is '" + std::string(line.substr(0, 80)) + "'");
}

Errc code_named(std::string_view name) {
  for (const ErrcInfo& row : errc_table()) {
    if (row.name == name) return row.code;
  }
  return Errc::protocol;
}

// "error CODE TEXT"
tl::unexpected<Error> error_in(std::string_view line) {
  const auto words = split(line, ' ');
  if (words.size() < 2) return no_answer(line);
  const std::size_t text_at = std::min(line.size(), words[0].size() + words[1].size() + 2);
  return fail(code_named(words[1]), "the other end: " + std::string(line.substr(text_at)));
}

}  // namespace

bool ends_connection(Errc code) {
  return code == Errc::connection_lost || code == Errc::timeout || code == Errc::interrupted || code == Errc::protocol;
}

Result<double> number_in(const BenchFields& fields, std::string_view key) {
  const std::string text = text_in(fields, key);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && std::isfinite(value) && value >= 0) return value;
  return fail(Errc::protocol, "bench: no number for " + std::string(key) + " is '" + text + "'");
}

std::string text_in(const BenchFields& fields, std::string_view key) {
  const auto found = fields.find(key);
  return found == fields.end() ? std::string() : found->second;
}

Result<std::size_t> BenchChannel::read_stream(std::span<std::byte> out) {
  std::chrono::milliseconds waited{0};
  while (true) {
    if (session::interrupt_requested()) return fail(Errc::interrupted, "");
    auto count = m_stream.read(out, k_look_for_signal);
    if (count || count.error().code != Errc::timeout) return count;
    waited += k_look_for_signal;
    if (waited >= m_silence) return fail(Errc::timeout, "bench");
  }
}

Status BenchChannel::more() {
  std::array<std::byte, k_piece_bytes> piece{};
  NB_TRY_ASSIGN(const std::size_t count, read_stream(piece));
  if (count == 0) return fail(Errc::connection_lost, "bench");
  m_buffer.insert(m_buffer.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(count));
  return {};
}

Result<std::string> BenchChannel::read_line() {
  while (true) {
    const auto newline = std::find(m_buffer.begin(), m_buffer.end(), std::byte{'\n'});
    const auto size = static_cast<std::size_t>(newline - m_buffer.begin());
    if (size > k_bench_line_bytes) return fail(Errc::protocol, "bench: a line without an end");
    if (newline != m_buffer.end()) {
      std::string line(as_text(ByteView(m_buffer).first(size)));
      m_buffer.erase(m_buffer.begin(), newline + 1);
      return line;
    }
    NB_TRY(more());
  }
}

Result<std::vector<std::string>> BenchChannel::read_words() {
  auto line = read_line();
  if (!line && line.error().code == Errc::connection_lost && m_buffer.empty()) return std::vector<std::string>();
  if (!line) return tl::make_unexpected(line.error());
  std::vector<std::string> words;
  for (const std::string_view word : split(*line, ' ')) words.emplace_back(word);
  return words;
}

Result<std::size_t> BenchChannel::read_some(std::span<std::byte> out) {
  if (m_buffer.empty()) {
    NB_TRY_ASSIGN(const std::size_t count, read_stream(out));
    if (count == 0) return fail(Errc::connection_lost, "bench");
    return count;
  }
  const std::size_t count = std::min(out.size(), m_buffer.size());
  const auto end = m_buffer.begin() + static_cast<std::ptrdiff_t>(count);
  std::copy(m_buffer.begin(), end, out.begin());
  m_buffer.erase(m_buffer.begin(), end);
  return count;
}

Status BenchChannel::write_line(std::string_view text) {
  if (text.size() > k_bench_line_bytes) return fail(Errc::path, "too long for bench to ask about");
  return m_stream.write(as_bytes(std::string(text) + "\n"));
}

Status BenchChannel::write_answer(const BenchFields& fields) {
  std::string text = "ok " + std::to_string(fields.size()) + "\n";
  for (const auto& [key, value] : fields) text += key + "=" + value.substr(0, k_bench_line_bytes / 2) + "\n";
  return m_stream.write(as_bytes(text));
}

Status BenchChannel::write_error(const Error& error) {
  const std::string text = "error " + std::string(info(error.code).name) + " " + escape(error.message());
  return write_line(text.substr(0, k_bench_line_bytes));
}

Result<BenchFields> BenchChannel::read_answer() {
  NB_TRY_ASSIGN(const std::string head, read_line());
  if (head.starts_with("error ")) return error_in(head);
  const auto count = head.starts_with("ok ") ? parse_u64(std::string_view(head).substr(3)) : std::nullopt;
  if (!count || *count > k_bench_most_fields) return no_answer(head);
  BenchFields fields;
  for (std::uint64_t i = 0; i < *count; ++i) {
    NB_TRY_ASSIGN(const std::string line, read_line());
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos) return no_answer(line);
    fields.insert_or_assign(escape(line.substr(0, equals)), line.substr(equals + 1));
  }
  return fields;
}

}  // namespace nb::cli
