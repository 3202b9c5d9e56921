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

}  // namespace nb::test
