// SPDX-License-Identifier: Apache-2.0
// Listings of directories, on the simulated file system.
#include "scan/lister.hpp"

#include <catch2/catch.hpp>

#include "fs/sim_directory.hpp"

namespace nb::scan::test {
namespace {

void put(fs::Directory& in, std::string_view name, std::string_view content) {
  const auto file = in.create_file(name).value();
  REQUIRE(file->write_at(0, as_bytes(content)));
}

}  // namespace

TEST_CASE("a target that is kept as a file is read whole, however little one read gives", "[scan]") {
  fs::SimFileSystem disk({.most_read_bytes = 3});
  const auto root = disk.root();
  put(*root, "link", "somewhere/else");
  REQUIRE(root->open_node("link").value()->set_xattr("user.rsync.%stat", "120777 0,0 5:6"));
  const Listed listed = Lister({.view = MetadataView::kept}).read(*root, RelPath()).value();
  CHECK(listed.problems.empty());
  REQUIRE(listed.entries.size() == 1);
  CHECK(listed.entries[0].type == fs::FileType::symlink);
  CHECK(listed.entries[0].target == "somewhere/else");
}

TEST_CASE("reading contents ends when the run is to end", "[scan]") {
  fs::SimFileSystem disk;
  const auto root = disk.root();
  put(*root, "a", "content");
  put(*root, "b", "content");
  const auto secret = hash::Secret::from_bytes(Bytes(hash::k_secret_bytes, std::byte{1}), Errc::io).value();
  int asked = 0;
  const GoOn never = [&asked] { return ++asked > 1'000; };
  const auto listed = Lister({.compare = Compare::content, .secret = &secret, .go_on = never}).read(*root, RelPath());
  REQUIRE_FALSE(listed.has_value());
  CHECK(listed.error().code == Errc::interrupted);
  const auto file = root->open_file("a", fs::OpenMode::read).value();
  CHECK(content_digest(*file, 7, secret, never).error().code == Errc::interrupted);
  CHECK(content_digest(*file, 7, secret).has_value());
}

TEST_CASE("what belongs to a file set is not listed at any depth", "[scan]") {
  fs::SimFileSystem disk;
  const auto root = disk.root();
  REQUIRE(root->create_directory(k_control_name));
  REQUIRE(root->create_directory(k_control_new_name));
  put(*root, ".nbackup.newer", "x");
  const auto below = root->create_directory("below").value();
  REQUIRE(below->create_directory(k_control_new_name));
  CHECK(Lister({}).read(*root, RelPath()).value().entries.size() == 2);
  CHECK(Lister({}).read(*below, RelPath::parse("below").value()).value().entries.empty());
}

}  // namespace nb::scan::test
