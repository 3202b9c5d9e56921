// SPDX-License-Identifier: Apache-2.0
#include "base/errc.hpp"

#include <catch2/catch.hpp>
#include <cerrno>
#include <set>

#include "base/result.hpp"

using namespace nb;

TEST_CASE("codes, numbers and names are unique, and numbers have no gaps", "[base]") {
  std::set<std::string_view> names;
  std::uint16_t expected = 1;
  for (const ErrcInfo& row : errc_table()) {
    CHECK(static_cast<std::uint16_t>(row.code) == expected++);
    CHECK(names.insert(row.name).second);
    CHECK_FALSE(row.text.empty());
    CHECK(&info(row.code) == &row);
    CHECK(errc_from_number(static_cast<std::uint64_t>(row.code)) == row.code);
  }
  CHECK_FALSE(errc_from_number(0).has_value());
  CHECK_FALSE(errc_from_number(expected).has_value());
  CHECK_FALSE(errc_from_number(65536 + 1).has_value());
}

TEST_CASE("exit codes are rsync's or nbackup's own, and per-file errors exit 23 or 24", "[base]") {
  for (const ErrcInfo& row : errc_table()) {
    CHECK(row.exit_code > 0);
    CHECK((row.exit_code <= 35 || (row.exit_code >= 40 && row.exit_code <= 60)));
    if (row.cls == ErrorClass::per_file) CHECK((row.exit_code == 23 || row.exit_code == 24));
  }
}

TEST_CASE("errno maps to the code that names it", "[base]") {
  CHECK(errc_from_errno(ENOSPC) == Errc::no_space);
  CHECK(errc_from_errno(EDQUOT) == Errc::no_space);
  CHECK(errc_from_errno(ENOENT) == Errc::not_found);
  CHECK(errc_from_errno(EXDEV) == Errc::cross_device);
  CHECK(errc_from_errno(EIO) == Errc::io);
  CHECK(errc_from_errno(12345) == Errc::io);
}

TEST_CASE("a message has context and reason", "[base]") {
  const Error with_errno{Errc::no_space, ENOSPC, "write data/x"};
  CHECK(with_errno.message() == "write data/x: No space left on device");
  const Error without{Errc::vanished, 0, "data/x"};
  CHECK(without.message() == "data/x: vanished before it could be read");
  const Error whole{Errc::path, 0, "/x is not a directory; name one"};
  CHECK(whole.message() == "/x is not a directory; name one");
  const Error of_system{Errc::path, ELOOP, "open /x"};
  CHECK(of_system.message() == "open /x: Too many levels of symbolic links");
  CHECK(Error{Errc::path, 0, ""}.message() == "path not usable");
  const Result<int> wrapped = wrap(without, "push");
  CHECK(wrapped.error().context == "push: data/x");
}
