// SPDX-License-Identifier: Apache-2.0
#include "ssh/kex_log.hpp"

#include <cctype>
#include <utility>

#include "base/text.hpp"

namespace nb::ssh {
namespace {

constexpr std::string_view k_level = "debug";
constexpr std::string_view k_place = ": kex.c:";
constexpr std::string_view k_end_of_place = "): kex: ";

// "debug1: kex.c:...".
bool is_logged_by_kex(std::string_view line) {
  return line.size() > k_level.size() && line.starts_with(k_level) &&
         std::isdigit(static_cast<unsigned char>(line[k_level.size()])) != 0 &&
         line.substr(k_level.size() + 1).starts_with(k_place);
}

// The rest of `text` behind `words`, where it begins with them.
std::optional<std::string_view> after(std::string_view text, std::string_view words) {
  return text.starts_with(words) ? std::optional(text.substr(words.size())) : std::nullopt;
}

struct Way {
  std::string& cipher;
  std::string& mac;
};

// "aes128-ctr MAC: umac-64-etm@openssh.com compression: none"
void take_way(std::string_view text, Way way, std::string& compression) {
  const std::vector<std::string_view> words = split(text, ' ');
  if (words.size() != 5 || words[1] != "MAC:" || words[3] != "compression:") return;
  way.cipher = words[0];
  way.mac = words[2] == "<implicit>" ? "" : words[2];
  if (compression.empty()) {
    compression = words[4];
  } else if (compression != words[4]) {
    compression += "/" + std::string(words[4]);
  }
}

bool is_whole(const Negotiated& made) {
  return !made.kex.empty() && !made.host_key_type.empty() && !made.cipher_in.empty() && !made.cipher_out.empty();
}

}  // namespace

bool can_log_kex(const EffectiveConfig& effective) {
  return first_value(effective, "logverbose") == "none" && !first_value(effective, "loglevel").starts_with("DEBUG");
}

bool KexLog::take(std::string_view line) {
  if (!is_logged_by_kex(line)) return false;
  const std::size_t end = line.find(k_end_of_place);
  if (end == std::string_view::npos) return true;
  const std::string_view text = line.substr(end + k_end_of_place.size());
  if (const auto kex = after(text, "algorithm: ")) m_pending.kex = *kex;
  if (const auto host_key = after(text, "host key algorithm: ")) m_pending.host_key_type = *host_key;
  if (const auto in = after(text, "server->client cipher: ")) {
    take_way(*in, {m_pending.cipher_in, m_pending.mac_in}, m_pending.compression);
  }
  if (const auto out = after(text, "client->server cipher: ")) {
    take_way(*out, {m_pending.cipher_out, m_pending.mac_out}, m_pending.compression);
  }
  if (is_whole(m_pending)) m_latest = std::exchange(m_pending, {});
  return true;
}

}  // namespace nb::ssh
