// SPDX-License-Identifier: Apache-2.0
// remove_tree on both file systems, and read_fully.
#include "fs/metadata.hpp"

#include "unit/fs/world.hpp"

namespace nb::fs::test {

TEMPLATE_TEST_CASE("remove_tree removes everything below and follows nothing", "[fs]", PosixWorld, SimWorld) {
  TestType world;
  Directory& root = world.root();
  auto outside = good(root.create_directory("outside"));
  write(*outside, "keep", "1");
  auto tree = good(root.create_directory("tree"));
  good(tree->create_symlink("link", "../outside"));
  good(tree->create_node("pipe", FileType::fifo, {}));
  for (int i = 0; i < 20; ++i) {
    auto sub = good(tree->create_directory("d" + std::to_string(i)));
    for (int j = 0; j < 20; ++j) write(*sub, "f" + std::to_string(j), "x");
    good(sub->set_mode(0500));
  }
  good(good(tree->create_directory("closed"))->create_file("f"));
  good(good(tree->open_node("closed"))->set_mode(0));
  good(remove_tree(root, "tree"));
  CHECK(names(root) == Names{"outside"});
  CHECK(names(*outside) == Names{"keep"});
  write(root, "file", "x");
  good(remove_tree(root, "file"));
  good(root.create_symlink("sym", "outside"));
  good(remove_tree(root, "sym"));
  CHECK(names(root) == Names{"outside"});
  CHECK(code(remove_tree(root, "tree")) == Errc::not_found);
}

TEMPLATE_TEST_CASE("remove_tree goes to any depth", "[fs]", PosixWorld, SimWorld) {
  constexpr int k_depth = 5000;
  TestType world;
  auto at = good(world.root().create_directory("deep"));
  for (int i = 0; i < k_depth; ++i) {
    good(at->create_symlink("entry", "x"));
    // Names that the remover might choose itself.
    at = good(at->create_directory(i % 2 == 0 ? "deep-0" : "a-rather-long-name-to-get-beyond-any-path-limit"));
  }
  at.reset();
  good(remove_tree(world.root(), "deep"));
  CHECK(names(world.root()).empty());
}

TEST_CASE("remove_tree opens up directories of an ordinary user, deep ones too", "[fs][sim]") {
  SimFileSystem fs({.enforce_modes = true});
  auto root = fs.root();
  auto at = good(root->create_directory("tree"));
  std::vector<std::unique_ptr<Directory>> all;
  for (int i = 0; i < 100; ++i) {
    good(at->create_file("f"));
    auto below = good(at->create_directory("d"));
    all.push_back(std::move(at));
    at = std::move(below);
  }
  for (std::size_t i = 0; i < all.size(); ++i) good(all[i]->set_mode(i % 2 == 0 ? 0555 : 0));
  good(remove_tree(*root, "tree"));
  CHECK(names(*root).empty());
}

TEST_CASE("remove_tree stops at a mount and does not touch it", "[fs][sim]") {
  SimFileSystem fs;
  auto root = fs.root();
  auto tree = good(root->create_directory("tree"));
  auto mounted = good(tree->create_directory("mounted"));
  write(*mounted, "precious", "1");
  good(mounted->set_mode(0500));
  if (GENERATE(false, true)) {
    fs.mount("tree/mounted");
  } else {
    fs.bind("tree/mounted");
  }
  CHECK(code(remove_tree(*root, "tree")) == Errc::cross_device);
  CHECK(code(remove_tree(*tree, "mounted")) == Errc::cross_device);
  CHECK(read(*mounted, "precious") == "1");
  CHECK(good(mounted->stat()).mode == 0500);
}

TEST_CASE("remove_tree reports what cannot be removed", "[fs][sim]") {
  SimFileSystem fs;
  auto root = fs.root();
  good(good(root->create_directory("tree"))->create_file("fixed"));
  fs.set_immutable("tree/fixed");
  CHECK(code(remove_tree(*root, "tree")) == Errc::not_permitted);
}

TEST_CASE("read_fully goes on after short reads and stops at the end", "[fs][sim]") {
  SimFileSystem fs({.most_read_bytes = 2});
  auto file = write(*fs.root(), "f", "seven..");
  std::array<std::byte, 5> buffer{};
  CHECK(good(read_fully(*file, 0, buffer)) == 5);
  CHECK(as_text(buffer) == "seven");
  CHECK(good(read_fully(*file, 4, buffer)) == 3);
  CHECK(good(read_fully(*file, 7, buffer)) == 0);
}

}  // namespace nb::fs::test
