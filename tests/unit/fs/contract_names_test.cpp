// SPDX-License-Identifier: Apache-2.0
// The contract of Directory, on the real and the simulated file system: names.
#include <algorithm>

#include "unit/fs/world.hpp"

namespace nb::fs::test {

TEMPLATE_TEST_CASE("what is created has the promised type and mode", "[fs]", PosixWorld, SimWorld) {
  TestType world;
  Directory& root = world.root();
  good(root.create_file("file"));
  good(root.create_directory("dir"));
  good(root.create_symlink("sym", "to/nowhere"));
  good(root.create_node("pipe", FileType::fifo, {}));
  good(root.create_node("sock", FileType::socket, {}));

  const Stat file = good(root.stat_at("file"));
  CHECK(file.type == FileType::regular);
  CHECK(file.mode == 0600);
  CHECK(file.size == 0);
  CHECK(file.links == 1);
  // Whatever the umask leaves of it.
  for (const std::uint32_t mode : {0644U, 0777U, 0400U, 0U}) {
    const auto made = good(root.create_file("mode" + std::to_string(mode), mode));
    CHECK(good(made->stat()).mode == mode);
    good(made->write_at(0, as_bytes("written")));
  }
  const Stat dir = good(root.stat_at("dir"));
  CHECK(dir.type == FileType::directory);
  CHECK(dir.mode == 0700);
  CHECK(dir.size == 0);
  CHECK(dir.device == file.device);
  CHECK(dir.inode != file.inode);
  CHECK_FALSE(dir.mount_root);
  CHECK(good(root.stat_at("sym")).type == FileType::symlink);
  CHECK(good(root.stat_at("sym")).size == 0);
  CHECK(good(root.read_link("sym")) == "to/nowhere");
  CHECK(good(root.stat_at("pipe")).type == FileType::fifo);
  CHECK(good(root.stat_at("pipe")).mode == 0600);
  CHECK(good(root.stat_at("sock")).type == FileType::socket);
}

TEMPLATE_TEST_CASE("a taken name is refused whatever is made", "[fs]", PosixWorld, SimWorld) {
  TestType world;
  Directory& root = world.root();
  good(root.create_symlink("taken", "x"));
  write(root, "other", "1");
  CHECK(code(root.create_file("taken")) == Errc::exists);
  CHECK(code(root.create_directory("taken")) == Errc::exists);
  CHECK(code(root.create_symlink("taken", "y")) == Errc::exists);
  CHECK(code(root.create_node("taken", FileType::fifo, {})) == Errc::exists);
  CHECK(code(root.link("other", root, "taken")) == Errc::exists);
  CHECK(code(root.rename("other", root, "taken", RenameMode::no_replace)) == Errc::exists);
  CHECK(good(root.read_link("taken")) == "x");
}

TEMPLATE_TEST_CASE("a missing name is not_found everywhere", "[fs]", PosixWorld, SimWorld) {
  TestType world;
  Directory& root = world.root();
  CHECK(code(root.stat_at("no")) == Errc::not_found);
  CHECK(code(root.xattrs_at("no")) == Errc::not_found);
  CHECK(code(root.read_link("no")) == Errc::not_found);
  CHECK(code(root.open_node("no")) == Errc::not_found);
  CHECK(code(root.open_file("no", OpenMode::read)) == Errc::not_found);
  CHECK(code(root.open_directory("no")) == Errc::not_found);
  CHECK(code(root.open_directory_path(rel("no/where"))) == Errc::not_found);
  CHECK(code(root.link("no", root, "b")) == Errc::not_found);
  CHECK(code(root.rename("no", root, "b", RenameMode::replace)) == Errc::not_found);
  CHECK(code(root.remove_file("no")) == Errc::not_found);
  CHECK(code(root.remove_directory("no")) == Errc::not_found);
}

TEMPLATE_TEST_CASE("a symlink or another wrong type is never opened or followed", "[fs]", PosixWorld, SimWorld) {
  TestType world;
  Directory& root = world.root();
  write(root, "file", "x");
  good(good(root.create_directory("dir"))->create_directory("sub"));
  good(root.create_symlink("to_file", "file"));
  good(root.create_symlink("to_dir", "dir"));
  good(root.create_node("pipe", FileType::fifo, {}));
  good(root.create_node("sock", FileType::socket, {}));
  for (const OpenMode mode : {OpenMode::read, OpenMode::read_write}) {
    for (const char* name : {"to_file", "dir", "pipe", "sock"}) {
      CAPTURE(name);
      CHECK(code(root.open_file(name, mode)) == Errc::path);
    }
  }
  for (const char* name : {"to_dir", "file", "pipe"}) {
    CAPTURE(name);
    CHECK(code(root.open_directory(name)) == Errc::path);
  }
  CHECK(code(root.open_directory_path(rel("to_dir"))) == Errc::path);
  CHECK(code(root.open_directory_path(rel("to_dir/sub"))) == Errc::path);
  CHECK(code(root.open_directory_path(rel("file/sub"))) == Errc::path);
  CHECK(code(root.read_link("file")) == Errc::path);
  good(root.open_directory_path(rel("dir/sub")));
  CHECK(good(good(root.open_node("to_file"))->stat()).type == FileType::symlink);
}

TEMPLATE_TEST_CASE("odd names are plain bytes, sorted as bytes", "[fs]", PosixWorld, SimWorld) {
  TestType world;
  Directory& root = world.root();
  const Names odd{"\n", "\x01", " ", "-rf", "a", "a ", "a\nb", "a\\b", std::string(255, 'z'), "\xc3\xa4", "\xff\xfe"};
  for (const std::string& name : odd) write(root, name, name);
  Names sorted = odd;
  std::sort(sorted.begin(), sorted.end());
  CHECK(names(root) == sorted);
  for (const std::string& name : odd) CHECK(read(root, name) == name);
}

TEMPLATE_TEST_CASE("list tells types and sees changes made since", "[fs]", PosixWorld, SimWorld) {
  TestType world;
  Directory& root = world.root();
  CHECK(good(root.list()).empty());
  for (int i = 0; i < 3000; ++i) good(root.create_symlink("entry-with-a-longer-name-" + std::to_string(i), "t"));
  CHECK(good(root.list()).size() == 3000);
  good(root.create_directory("a"));
  const std::vector<NamedType> all = good(root.list());
  REQUIRE(all.size() == 3001);
  CHECK(all.front().name == "a");
  CHECK(all.front().type == FileType::directory);
  CHECK(all.back().type == FileType::symlink);
}

TEMPLATE_TEST_CASE("rename replaces, refuses and moves as rename(2) does", "[fs]", PosixWorld, SimWorld) {
  TestType world;
  Directory& root = world.root();
  auto dir = good(root.create_directory("dir"));
  write(root, "a", "A");
  write(root, "b", "B");
  good(root.rename("a", root, "b", RenameMode::replace));
  CHECK(read(root, "b") == "A");
  good(root.rename("b", *dir, "c", RenameMode::no_replace));
  CHECK(names(root) == Names{"dir"});
  CHECK(read(*dir, "c") == "A");

  write(root, "file", "F");
  CHECK(code(root.rename("file", root, "dir", RenameMode::replace)) == Errc::path);
  CHECK(code(root.rename("dir", root, "file", RenameMode::replace)) == Errc::path);
  auto other = good(root.create_directory("other"));
  CHECK(code(root.rename("other", root, "dir", RenameMode::replace)) == Errc::not_empty);
  CHECK(code(root.rename("other", root, "dir", RenameMode::no_replace)) == Errc::exists);
  good(root.rename("dir", root, "other", RenameMode::replace));
  CHECK(names(root) == Names{"file", "other"});
  CHECK(read(*good(root.open_directory("other")), "c") == "A");
  // Into itself.
  auto moved = good(root.open_directory("other"));
  CHECK_FALSE(root.rename("other", *moved, "x", RenameMode::replace));
}

TEMPLATE_TEST_CASE("rename between two names of one inode changes nothing", "[fs]", PosixWorld, SimWorld) {
  TestType world;
  Directory& root = world.root();
  write(root, "a", "A");
  good(root.link("a", root, "b"));
  good(root.rename("a", root, "b", RenameMode::replace));
  CHECK(names(root) == Names{"a", "b"});
  CHECK(code(root.rename("a", root, "b", RenameMode::no_replace)) == Errc::exists);
}

TEMPLATE_TEST_CASE("hard links share the inode and count", "[fs]", PosixWorld, SimWorld) {
  TestType world;
  Directory& root = world.root();
  auto dir = good(root.create_directory("dir"));
  auto file = write(root, "a", "A");
  good(root.create_symlink("sym", "a"));
  good(root.link("a", *dir, "b"));
  good(root.link("sym", *dir, "sym2"));
  CHECK(good(dir->stat_at("b")).inode == good(root.stat_at("a")).inode);
  CHECK(good(file->stat()).links == 2);
  CHECK(good(dir->stat_at("sym2")).type == FileType::symlink);
  CHECK(code(root.link("dir", root, "dir2")) == Errc::not_permitted);
  good(root.remove_file("a"));
  CHECK(read(*dir, "b") == "A");
  CHECK(good(file->stat()).links == 1);
}

TEMPLATE_TEST_CASE("removing takes the right type only", "[fs]", PosixWorld, SimWorld) {
  TestType world;
  Directory& root = world.root();
  auto dir = good(root.create_directory("dir"));
  auto file = write(*dir, "f", "text");
  CHECK(code(root.remove_file("dir")) == Errc::path);
  CHECK(code(root.remove_directory("dir")) == Errc::not_empty);
  CHECK(code(dir->remove_directory("f")) == Errc::path);
  good(dir->remove_file("f"));
  CHECK(read_all(*file) == "text");  // stays while it is open
  good(root.remove_directory("dir"));
  CHECK(names(root).empty());
  CHECK(code(dir->create_file("late")) == Errc::not_found);
}

TEMPLATE_TEST_CASE("several handles on a directory see the same names", "[fs]", PosixWorld, SimWorld) {
  TestType world;
  Directory& root = world.root();
  auto again = good(root.reopen());
  write(*again, "x", "1");
  CHECK(names(root) == Names{"x"});
  CHECK(good(again->stat()).inode == good(root.stat()).inode);
  CHECK(good(good(root.open_directory_path(RelPath()))->stat()).inode == good(root.stat()).inode);
  CHECK(root.writable());
  CHECK(good(root.space()).total_bytes > 0);
  good(root.sync());
  good(root.sync_file_system());
}

TEMPLATE_TEST_CASE("a symlink target has limits", "[fs]", PosixWorld, SimWorld) {
  TestType world;
  Directory& root = world.root();
  CHECK(code(root.create_symlink("empty", "")) == Errc::path);
  CHECK(code(root.create_symlink("nul", std::string("a\0b", 3))) == Errc::path);
  CHECK(code(root.create_symlink("long", std::string(5000, 'x'))) == Errc::path);
  const std::string longest(1000, 'y');
  good(root.create_symlink("fits", longest));
  CHECK(good(root.read_link("fits")) == longest);
  CHECK(names(root) == Names{"fits"});
}

TEMPLATE_TEST_CASE("two mounts of one file system are told apart", "[fs]", PosixWorld, SimWorld) {
  TestType world;
  good(good(world.root().create_directory("m"))->create_directory("sub"));
  write(world.root(), "f", "x");
  if (!world.bind("m")) {
    WARN("needs the right to mount");
    return;
  }
  Directory& root = world.root();
  const auto mounted = good(root.open_directory("m"));
  const auto sub = good(mounted->open_directory("sub"));
  const Stat here = good(root.stat());
  const std::vector<Stat> elsewhere{good(root.stat_at("m")), good(mounted->stat()), good(sub->stat()),
                                    good(mounted->stat_at("sub"))};
  for (const Stat& there : elsewhere) {
    CHECK(there.device == here.device);
    CHECK_FALSE(same_mount(there, here));
  }
  CHECK(same_mount(good(root.stat_at("f")), here));
  CHECK(good(root.stat_at("m")).mount_root);
  CHECK_FALSE(good(mounted->stat_at("sub")).mount_root);
  CHECK(code(root.rename("f", *sub, "f", RenameMode::replace)) == Errc::cross_device);
  CHECK(code(root.link("f", *sub, "f")) == Errc::cross_device);
}

}  // namespace nb::fs::test
