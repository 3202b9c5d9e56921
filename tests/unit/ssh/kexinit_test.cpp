// SPDX-License-Identifier: Apache-2.0
// The first message of an SSH server, built byte by byte as RFC 4253 section 7.1 has it, and everything that is not one.
#include "ssh/kexinit.hpp"

#include <catch2/catch.hpp>

using namespace nb;
using namespace nb::ssh;

namespace {

void add_list(Bytes& out, std::string_view text) {
  for (const int shift : {24, 16, 8, 0}) out.push_back(static_cast<std::byte>(text.size() >> shift & 0xFF));
  const ByteView bytes = as_bytes(text);
  out.insert(out.end(), bytes.begin(), bytes.end());
}

Bytes message(const std::vector<std::string>& lists) {
  Bytes out{std::byte{20}};
  out.resize(17, std::byte{0xC0});  // the cookie
  for (const std::string& list : lists) add_list(out, list);
  out.resize(out.size() + 5);  // first_kex_packet_follows and the reserved number
  return out;
}

const std::vector<std::string> k_lists{"curve25519-sha256,mlkem768x25519-sha256",
                                       "ssh-ed25519",
                                       "aes128-ctr,aes128-cbc",
                                       "aes128-cbc,aes128-ctr",
                                       "hmac-sha2-256",
                                       "hmac-sha2-256,umac-64@openssh.com",
                                       "none,zlib@openssh.com",
                                       "none",
                                       "",
                                       ""};

}  // namespace

TEST_CASE("the server's algorithms come in its order", "[ssh]") {
  const auto found = parse_kexinit(message(k_lists));
  REQUIRE(found);
  CHECK(found->kex == std::vector<std::string>{"curve25519-sha256", "mlkem768x25519-sha256"});
  CHECK(found->host_keys == std::vector<std::string>{"ssh-ed25519"});
  CHECK(found->ciphers == std::vector<std::string>{"aes128-ctr", "aes128-cbc"});
  CHECK(found->macs == std::vector<std::string>{"hmac-sha2-256"});  // what one direction alone has does not count
  CHECK(found->compressions == std::vector<std::string>{"none"});
}

TEST_CASE("a message that is cut short anywhere within its lists is refused", "[ssh]") {
  const Bytes whole = message(k_lists);
  const std::size_t needed = whole.size() - 5 - 8;  // without the lists of languages and what follows
  CHECK(parse_kexinit(ByteView(whole).first(needed)));
  for (std::size_t size = 0; size < needed; ++size) {
    INFO(size);
    const auto found = parse_kexinit(ByteView(whole).first(size));
    REQUIRE_FALSE(found);
    CHECK(found.error().code == Errc::protocol);
  }
}

TEST_CASE("another message, a length beyond the end and names that are none are refused", "[ssh]") {
  Bytes other = message(k_lists);
  other.front() = std::byte{21};
  CHECK_FALSE(parse_kexinit(other));
  Bytes longer = message(k_lists);
  longer[17] = std::byte{0xFF};
  CHECK_FALSE(parse_kexinit(longer));
  for (const char* name : {"a b", "a\x1b[2J", "a\x7f", "\xc3\xa9"}) {
    auto lists = k_lists;
    lists[2] = name;
    CHECK_FALSE(parse_kexinit(message(lists)));
  }
  auto lists = k_lists;
  lists[0] = std::string(65, 'k');
  CHECK_FALSE(parse_kexinit(message(lists)));
}
