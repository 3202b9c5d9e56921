// SPDX-License-Identifier: Apache-2.0
#include "base/fd.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "base/bytes.hpp"
#include "support/temp_dir.hpp"

namespace nb::test {

TEST_CASE("the beginning of a file, up to a limit", "[base]") {
  const TempDir dir;
  const std::string path = dir.path("file");
  const std::string text(200'000, 'x');
  std::ofstream(path) << text << "y";
  CHECK(read_file_prefix(path, 1 << 20) == text + "y");
  CHECK(read_file_prefix(path, text.size()) == text);
  CHECK(read_file_prefix(path, 3) == "xxx");
  CHECK(read_file_prefix(path, 0) == "");
  CHECK_FALSE(read_file_prefix(dir.path("missing"), 10).has_value());
  CHECK_FALSE(read_file_prefix(dir.path(), 10).has_value());
}

TEST_CASE("a file without a name leaves nothing behind", "[base]") {
  const TempDir dir;
  const auto file = make_nameless_file(dir.path());
  REQUIRE(file);
  CHECK(write_full(file->get(), as_bytes("text")));
  CHECK(std::filesystem::is_empty(dir.path()));
  const auto refused = make_nameless_file(dir.path("missing"));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().sys_errno == ENOENT);
}

TEST_CASE("temporary files go where TMPDIR says, if that is a whole path", "[base]") {
  const char* before = std::getenv("TMPDIR");
  const std::optional<std::string> saved = before != nullptr ? std::optional<std::string>(before) : std::nullopt;
  using Places = std::vector<std::string>;
  REQUIRE(::setenv("TMPDIR", "/large", 1) == 0);
  CHECK(temporary_places() == Places{"/large", "/var/tmp", "/tmp"});
  for (const char* other : {"", "relative"}) {
    REQUIRE(::setenv("TMPDIR", other, 1) == 0);
    CHECK(temporary_places() == Places{"/var/tmp", "/tmp"});
  }
  REQUIRE(::unsetenv("TMPDIR") == 0);
  CHECK(temporary_places() == Places{"/var/tmp", "/tmp"});
  if (saved) REQUIRE(::setenv("TMPDIR", saved->c_str(), 1) == 0);
}

}  // namespace nb::test
