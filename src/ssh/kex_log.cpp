// SPDX-License-Identifier: Apache-2.0
#include "ssh/kex_log.hpp"

#include <cctype>
#include <utility>

#include "base/text.hpp"

namespace nb::ssh {
namespace {

constexpr std::string_view k_level = "debug";
constexpr std::string_view k_place = ": kex.c:";

struct LogLine {
  std::string_view process;  // "pid=7", "bin=ssh, pid=7"
  std::string_view text;
};

// "debug1: kex.c:choose_kex():929 (pid=7): kex: algorithm: ...".
std::optional<LogLine> take_apart(std::string_view line) {
  const std::size_t place = k_level.size() + 1;
  if (line.size() < place || !line.starts_with(k_level)) return std::nullopt;
  if (std::isdigit(static_cast<unsigned char>(line[k_level.size()])) == 0) return std::nullopt;
  if (!line.substr(place).starts_with(k_place)) return std::nullopt;
  const std::size_t begin = line.find(" (", place);
  const std::size_t end = line.find("): ", place);
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return std::nullopt;
  return LogLine{line.substr(begin + 2, end - begin - 2), line.substr(end + 3)};
}

// The rest of `text` behind `words`, where it begins with them.
std::optional<std::string_view> after(std::string_view text, std::string_view words) {
  return text.starts_with(words) ? std::optional(text.substr(words.size())) : std::nullopt;
}

struct Way {
  std::string& cipher;
  std::string& mac;
  std::string& compression;
};

// "aes128-ctr MAC: umac-64-etm@openssh.com compression: none"
void take_way(std::string_view text, Way way) {
  const std::vector<std::string_view> words = split(text, ' ');
  if (words.size() != 5 || words[1] != "MAC:" || words[3] != "compression:") return;
  way.cipher = words[0];
  way.mac = words[2] == "<implicit>" ? "" : words[2];
  way.compression = words[4];
}

bool is_whole(const Negotiated& made) {
  return !made.kex.empty() && !made.host_key_type.empty() && !made.cipher_in.empty() && !made.cipher_out.empty();
}

}  // namespace

bool can_log_kex(const EffectiveConfig& effective) {
  return first_value(effective, "logverbose") == "none" && !first_value(effective, "loglevel").starts_with("DEBUG");
}

void KexLog::take_text(std::string_view text) {
  if (const auto kex = after(text, "kex: algorithm: ")) m_pending.kex = *kex;
  if (const auto host_key = after(text, "kex: host key algorithm: ")) m_pending.host_key_type = *host_key;
  if (const auto in = after(text, "kex: server->client cipher: ")) {
    take_way(*in, {m_pending.cipher_in, m_pending.mac_in, m_compression_in});
  }
  if (const auto out = after(text, "kex: client->server cipher: ")) {
    take_way(*out, {m_pending.cipher_out, m_pending.mac_out, m_compression_out});
  }
}

bool KexLog::take(std::string_view line) {
  const auto log_line = take_apart(line);
  if (!log_line) return false;
  if (m_process.empty()) m_process = log_line->process;
  if (log_line->process != m_process) return false;
  take_text(log_line->text);
  if (!is_whole(m_pending)) return true;
  m_pending.compression =
      m_compression_out == m_compression_in ? m_compression_out : m_compression_out + "/" + m_compression_in;
  m_latest = std::exchange(m_pending, {});
  return true;
}

}  // namespace nb::ssh
