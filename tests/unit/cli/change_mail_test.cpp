// SPDX-License-Identifier: Apache-2.0
// When there is a mail and what is in it.
#include "cli/change_mail.hpp"

#include <catch2/catch.hpp>

using namespace nb;
using namespace nb::cli;

TEST_CASE("another outcome than last time's is news, and a first success is none", "[cli]") {
  CHECK_FALSE(is_news(std::nullopt, 0));
  CHECK(is_news(std::nullopt, 23));
  CHECK(is_news(0, 10));
  CHECK(is_news(10, 12));
  CHECK(is_news(12, 0));
  CHECK_FALSE(is_news(10, 10));
  CHECK_FALSE(is_news(0, 0));
}

TEST_CASE("a subject says where, what and how it ended, in ASCII", "[cli]") {
  CHECK(mail_subject("root@nas", "push /data to h:/p", 10) ==
        "nbackup on root@nas: push /data to h:/p failed (exit code 10)");
  CHECK(mail_subject("root@nas", "push /\xc3\xbc\n", 0) == "nbackup on root@nas: push /??? works again");
  const std::string longest = mail_subject("root@nas", std::string(5000, 'x'), 10);
  CHECK(longest.size() < 250);
  CHECK(longest.ends_with(" failed (exit code 10)"));
}

TEST_CASE("a message has headers, an empty line, and lines that mail allows", "[cli]") {
  const std::string text = mail_text("a@b", "subject", "first\n" + std::string(5000, 'x') + "\n");
  CHECK(text.starts_with("To: a@b\nSubject: subject\nAuto-Submitted: auto-generated\n"));
  CHECK(text.find("\n\nfirst\n" + std::string(990, 'x') + "\n") != std::string::npos);
  // Two bytes each: half of one would end the line.
  std::string umlauts;
  for (int i = 0; i < 494; ++i) umlauts += "\xc3\xbc";
  const std::string cut = mail_text("a@b", "subject", "x" + umlauts + umlauts + "\nnext\n");
  CHECK(cut.find("\nx" + umlauts + "\nnext\n") != std::string::npos);
}

TEST_CASE("an address is one word that is no option", "[cli]") {
  for (const char* address : {"root", "admin@example.org", "a+b@[192.0.2.1]"}) CHECK(check_mail_address(address));
  for (const char* address : {"", "-t", "a b", "a\nb", "a@b\r", "\xc3\xbc@b"}) {
    INFO(address);
    const auto checked = check_mail_address(address);
    REQUIRE_FALSE(checked);
    CHECK(checked.error().code == Errc::usage);
  }
}
