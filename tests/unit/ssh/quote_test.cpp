// SPDX-License-Identifier: Apache-2.0
#include "ssh/quote.hpp"

#include <catch2/catch.hpp>

namespace nb::ssh {

using Words = std::vector<std::string>;

TEST_CASE("-e is split at blanks, and quotes group", "[ssh]") {
  CHECK(split_command("ssh -p 2222").value() == Words{"ssh", "-p", "2222"});
  CHECK(split_command("  ssh\t-i  'my key'  ").value() == Words{"ssh", "-i", "my key"});
  CHECK(split_command("ssh -o\"User name\" x").value() == Words{"ssh", "-oUser name", "x"});
  CHECK(split_command("a 'it''s' \"say \"\"so\"\"\"").value() == Words{"a", "it's", "say \"so\""});
  CHECK(split_command("a '' b").value() == Words{"a", "", "b"});
  CHECK(split_command("a\\ b $HOME").value() == Words{"a\\", "b", "$HOME"});
}

TEST_CASE("-e without a program or with an open quote is a usage error", "[ssh]") {
  for (const char* text : {"", "   ", "ssh 'x", "ssh \"", "'' x"}) {
    CAPTURE(text);
    CHECK(split_command(text).error().code == Errc::usage);
  }
}

TEST_CASE("words are quoted for a POSIX shell only where needed", "[ssh]") {
  CHECK(shell_quote("nbackup") == "nbackup");
  CHECK(shell_quote("/opt/n-b_1.2:3,4+5@6%7") == "/opt/n-b_1.2:3,4+5@6%7");
  CHECK(shell_quote("") == "''");
  CHECK(shell_quote("a b") == "'a b'");
  CHECK(shell_quote("it's") == "'it'\\''s'");
  CHECK(shell_quote("$x`y`") == "'$x`y`'");
  CHECK(shell_quote("~") == "'~'");
  CHECK(shell_quote("a=b") == "'a=b'");
  CHECK(shell_command({"nbackup", "serve", "--root", "/my pool"}) == "nbackup serve --root '/my pool'");
}

}  // namespace nb::ssh
