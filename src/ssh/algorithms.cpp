// SPDX-License-Identifier: Apache-2.0
// The orders. Figures behind them are in docs/decisions.md.
#include "ssh/algorithms.hpp"

#include <algorithm>
#include <cctype>

#include "base/cpu.hpp"
#include "base/text.hpp"

namespace nb::ssh {
namespace {

constexpr const char* k_gcm128 = "aes128-gcm@openssh.com";
constexpr const char* k_chacha = "chacha20-poly1305@openssh.com";

bool is_plain_name(std::string_view name) {
  const auto is_letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  const auto is_plain = [&](char c) { return is_letter(c) || c == '-' || c == '@' || c == '.' || c == '_'; };
  return !name.empty() && is_letter(name.front()) && std::all_of(name.begin(), name.end(), is_plain);
}

void put_first(const std::optional<std::string>& list, std::vector<std::string>& names) {
  if (!list) return;
  std::vector<std::string> first = only_known(as_names(*list), names);
  std::erase_if(names, [&](const std::string& name) { return has(first, name); });
  names.insert(names.begin(), first.begin(), first.end());
}

}  // namespace

bool both_have_aes(const CpuPair& cpus) { return (cpus.ours & cpus.theirs.value_or(0) & k_cpu_aes) != 0; }

AlgorithmNames preferred_algorithms(const CpuPair& cpus, const AlgorithmLists& measured) {
  AlgorithmNames names;
  names.ciphers = {k_chacha, k_gcm128, "aes256-gcm@openssh.com", "aes128-ctr", "aes192-ctr", "aes256-ctr"};
  if (both_have_aes(cpus)) std::swap(names.ciphers[0], names.ciphers[1]);
  names.macs = {"umac-64-etm@openssh.com",
                "umac-128-etm@openssh.com",
                "hmac-sha2-256-etm@openssh.com",
                "hmac-sha2-512-etm@openssh.com",
                "umac-64@openssh.com",
                "umac-128@openssh.com",
                "hmac-sha2-256",
                "hmac-sha2-512"};
  names.kex = {"mlkem768x25519-sha256",
               "curve25519-sha256",
               "curve25519-sha256@libssh.org",
               "ecdh-sha2-nistp256",
               "ecdh-sha2-nistp384",
               "ecdh-sha2-nistp521",
               "diffie-hellman-group14-sha256",
               "diffie-hellman-group16-sha512",
               "diffie-hellman-group18-sha512",
               "sntrup761x25519-sha512",
               "sntrup761x25519-sha512@openssh.com",
               "diffie-hellman-group-exchange-sha256"};
  put_first(measured.ciphers, names.ciphers);
  put_first(measured.macs, names.macs);
  return names;
}

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<std::string> only_known(const std::vector<std::string>& wanted, const std::vector<std::string>& known) {
  std::vector<std::string> names;
  for (const std::string& name : wanted) {
    if (has(known, name)) names.push_back(name);
  }
  return names;
}

std::optional<std::string> as_list(const std::vector<std::string>& names) {
  if (names.empty()) return std::nullopt;
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ",") + name;
  return list;
}

std::vector<std::string> as_names(std::string_view list) {
  std::vector<std::string> names;
  for (const std::string_view name : split(list, ',')) {
    if (!name.empty()) names.emplace_back(name);
  }
  return names;
}

Result<std::string> parse_algorithm_list(std::string_view text) {
  for (const std::string_view name : split(text, ',')) {
    if (name == k_none) {
      return fail(Errc::usage,
                  "'none' is nothing to begin a connection with; --ssh-security=integrity uses it after "
                  "the login, where both ends can");
    }
    if (!is_plain_name(name)) {
      return fail(Errc::usage, "'" + std::string(text) + "' is not a list of algorithm names with commas between them");
    }
  }
  return std::string(text);
}

bool authenticates_itself(std::string_view cipher) {
  return cipher.find("gcm@") != std::string_view::npos || cipher.starts_with("chacha20-poly1305");
}

}  // namespace nb::ssh
