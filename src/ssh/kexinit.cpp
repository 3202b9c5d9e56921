// SPDX-License-Identifier: Apache-2.0
#include "ssh/kexinit.hpp"

#include <algorithm>
#include <array>

#include "ssh/algorithms.hpp"

namespace nb::ssh {
namespace {

constexpr std::uint8_t k_msg_kexinit = 20;
constexpr std::size_t k_cookie_bytes = 16;
constexpr std::size_t k_max_name_bytes = 64;
constexpr std::size_t k_lists = 8;  // two of languages follow, which nobody uses

bool is_name(const std::string& name) {
  const auto is_printable = [](char c) { return c > 0x20 && c < 0x7F; };
  return name.size() <= k_max_name_bytes && std::all_of(name.begin(), name.end(), is_printable);
}

Result<std::vector<std::string>> read_list(ByteReader& in) {
  NB_TRY_ASSIGN(const ByteView head, in.raw(4));
  std::size_t size = 0;
  for (const std::byte byte : head) size = size << 8 | std::to_integer<std::size_t>(byte);
  NB_TRY_ASSIGN(const ByteView text, in.raw(size));
  std::vector<std::string> names = as_names(as_text(text));
  if (!std::all_of(names.begin(), names.end(), is_name)) return in.bad("a name that is none");
  return names;
}

}  // namespace

Result<ServerAlgorithms> parse_kexinit(ByteView payload) {
  ByteReader in(payload, Errc::protocol, "the server's list of algorithms");
  NB_TRY_ASSIGN(const std::uint8_t type, in.u8());
  if (type != k_msg_kexinit) return in.bad("another message");
  NB_TRY(in.raw(k_cookie_bytes));
  std::array<std::vector<std::string>, k_lists> lists;
  for (auto& list : lists) {
    NB_TRY_ASSIGN(list, read_list(in));
  }
  auto& [kex, host_keys, ciphers_in, ciphers_out, macs_in, macs_out, compressions_in, compressions_out] = lists;
  return ServerAlgorithms{std::move(kex), std::move(host_keys), only_known(ciphers_in, ciphers_out),
                          only_known(macs_in, macs_out), only_known(compressions_in, compressions_out)};
}

}  // namespace nb::ssh
