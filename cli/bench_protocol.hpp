// SPDX-License-Identifier: Apache-2.0
// What `nbackup bench` and `doctor` say to `nbackup bench --far-end` over a ByteStream, in the manner of SMTP:
//
//   far end:  nbackup-bench 1                      at once, both; no command that only echoes can pass for the other
//   client:   nbackup-bench client 1
//   client:   VERB WORD...                         a line of at most 4 KiB
//             blocks, for `swallow`; the far end's for `send` (bench_blocks.hpp)
//   far end:  ok N, and N lines KEY=VALUE          or: error CODE TEXT
//
// and so on, until the client closes its side. Codes are the names of base/errc.hpp; texts and values are escaped,
// paths are in hexadecimal. Neither side believes the other: every line, count and number has its limit.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "transport/byte_stream.hpp"

namespace nb::cli {

inline constexpr std::string_view k_bench_greeting = "nbackup-bench 1";
inline constexpr std::string_view k_bench_client_greeting = "nbackup-bench client 1";
inline constexpr std::size_t k_bench_line_bytes = 4096;
inline constexpr std::size_t k_bench_most_fields = 64;
// The most that a request may ask for: a client that is gone is noticed between requests.
inline constexpr std::chrono::milliseconds k_bench_longest{600'000};
// Beyond the time that a request asks for, how long its answer may take.
inline constexpr std::chrono::milliseconds k_bench_silence{60'000};

using BenchFields = std::map<std::string, std::string, std::less<>>;

// Whether after this error nobody knows where in the stream the other side is.
bool ends_connection(Errc code);

// A number out of an answer: finite and not negative; Errc::protocol where it is missing or is none.
Result<double> number_in(const BenchFields& fields, std::string_view key);
// The text, "" where it is missing.
std::string text_in(const BenchFields& fields, std::string_view key);

// Lines and bytes over one stream. Not thread-safe.
class BenchChannel {
 public:
  // `stream` outlives the channel. Nothing for `silence`: Errc::timeout. A signal: Errc::interrupted within 100 ms.
  BenchChannel(transport::ByteStream& stream, std::chrono::milliseconds silence)
      : m_stream(stream), m_silence(silence) {}

  void set_silence(std::chrono::milliseconds silence) { m_silence = silence; }

  // Without its newline. Errc::protocol for a line over k_bench_line_bytes, connection_lost at the end.
  Result<std::string> read_line();
  // At the orderly end before a line: an empty list. Words are separated by single blanks.
  Result<std::vector<std::string>> read_words();
  // At least one byte, at most out.size(); connection_lost at the end.
  Result<std::size_t> read_some(std::span<std::byte> out);

  Status write(ByteView data) { return m_stream.write(data); }
  // Errc::path for a line over k_bench_line_bytes: a path is all that can make it so long.
  Status write_line(std::string_view text);

  Status write_answer(const BenchFields& fields);
  // A text that is too long is cut.
  Status write_error(const Error& error);
  // The other side's error with its own code; Errc::protocol for what is no answer.
  Result<BenchFields> read_answer();

 private:
  Result<std::size_t> read_stream(std::span<std::byte> out);
  Status more();
  transport::ByteStream& m_stream;
  std::chrono::milliseconds m_silence;
  Bytes m_buffer;  // read and not yet taken
};

}  // namespace nb::cli
