// SPDX-License-Identifier: Apache-2.0
// The contract of Node and File, on the real and the simulated file system.
#include <unistd.h>

#include "unit/fs/world.hpp"

namespace nb::fs::test {
namespace {

bool is_root() { return ::geteuid() == 0; }

}  // namespace

TEMPLATE_TEST_CASE("content is read back as written", "[fs]", PosixWorld, SimWorld) {
  TestType world;
  auto file = write(world.root(), "f", "hello");
  good(file->write_at(3, as_bytes("LOWER")));
  CHECK(read_all(*file) == "helLOWER");
  std::array<std::byte, 4> buffer{};
  CHECK(good(file->read_at(8, buffer)) == 0);
  CHECK(good(file->read_at(100, buffer)) == 0);
  CHECK(good(file->read_at(7, buffer)) == 1);
  good(file->set_size(2));
  good(file->set_size(4));
  CHECK(read_all(*file) == std::string("he\0\0", 4));
  good(file->sync());
  file->expect_sequential_read();
  file->start_writeback({0, 4});
  auto reader = good(world.root().open_file("f", OpenMode::read));
  CHECK_FALSE(reader->write_at(0, as_bytes("x")));
  CHECK_FALSE(reader->set_size(0));
  CHECK(read(world.root(), "f").size() == 4);
}

TEMPLATE_TEST_CASE("content over many blocks survives unaligned writes", "[fs]", PosixWorld, SimWorld) {
  TestType world;
  auto file = good(world.root().create_file("f"));
  std::string expected(50'000, '\0');
  for (std::size_t at = 0; at + 777 <= expected.size(); at += 3'333) {
    const std::string piece(777, static_cast<char>('a' + at % 26));
    expected.replace(at, piece.size(), piece);
    good(file->write_at(at, as_bytes(piece)));
  }
  good(file->set_size(expected.size()));
  CHECK(read_all(*file) == expected);
}

TEMPLATE_TEST_CASE("holes are found", "[fs]", PosixWorld, SimWorld) {
  constexpr std::uint64_t k_mib = 1 << 20;
  TestType world;
  auto file = good(world.root().create_file("f"));
  CHECK_FALSE(good(file->next_data(0)).has_value());
  good(file->set_size(8 * k_mib));
  good(file->write_at(4 * k_mib, as_bytes(std::string(4096, 'x'))));
  const std::optional<Extent> data = good(file->next_data(0));
  REQUIRE(data.has_value());
  // A file system that knows no holes says that all is data.
  const bool whole = data->offset == 0 && data->length == 8 * k_mib;
  CHECK((whole || (data->offset == 4 * k_mib && data->length == 4096)));
  if (!whole) CHECK_FALSE(good(file->next_data(4 * k_mib + 4096)).has_value());
  CHECK_FALSE(good(file->next_data(8 * k_mib)).has_value());
  CHECK_FALSE(good(file->next_data(9 * k_mib)).has_value());
}

namespace {

// Also where nothing can be shared: then nothing has changed, and the caller copies.
class NoReflinkWorld {
 public:
  Directory& root() { return *m_root; }

 private:
  static SimOptions options() {
    SimOptions options;
    options.reflink = false;
    return options;
  }
  SimFileSystem m_fs{options()};
  std::unique_ptr<Directory> m_root = m_fs.root();
};

}  // namespace

TEMPLATE_TEST_CASE("a clone is a copy, or nothing where blocks cannot be shared", "[fs]", PosixWorld, SimWorld,
                   NoReflinkWorld) {
  constexpr std::uint64_t k_page = 65'536;  // no file system has larger blocks
  TestType world;
  const std::string text = std::string(k_page, 'a') + std::string(k_page, 'b') + "tail";
  const auto source = write(world.root(), "source", text);
  auto whole = good(world.root().create_file("whole"));
  const bool can = good(whole->clone_from(*source));
  CHECK(read_all(*whole) == (can ? text : ""));
  auto part = write(world.root(), "part", std::string(k_page, 'x'));
  CHECK(good(part->clone_range(*source, {k_page, k_page + 4}, k_page)) == can);
  CHECK(read_all(*part) == std::string(k_page, 'x') + (can ? text.substr(k_page) : ""));
  CHECK_FALSE(good(part->clone_range(*source, {1, k_page}, 0)));
  CHECK_FALSE(good(part->clone_range(*source, {0, k_page}, 1)));
  CHECK_FALSE(good(part->clone_range(*source, {0, 100}, 0)));
  CHECK_FALSE(good(part->clone_range(*source, {0, 4 * k_page}, 0)));
  // Each has its own content from then on.
  good(source->write_at(k_page, as_bytes("changed")));
  good(whole->write_at(0, as_bytes("other")));
  CHECK(read_all(*source).starts_with("aaaaa"));
  if (can) CHECK(read_all(*whole).substr(k_page) == text.substr(k_page));
  auto reader = good(world.root().open_file("part", OpenMode::read));
  if (can) CHECK_FALSE(reader->clone_from(*source));
}

TEST_CASE("nothing is cloned between a real and a simulated file", "[fs]") {
  PosixWorld posix;
  SimWorld sim;
  const auto real = write(posix.root(), "f", "real");
  const auto simulated = write(sim.root(), "f", "simulated");
  CHECK_FALSE(good(real->clone_from(*simulated)));
  CHECK_FALSE(good(simulated->clone_from(*real)));
  CHECK_FALSE(good(simulated->clone_range(*real, {0, 4}, 0)));
}

TEMPLATE_TEST_CASE("a punched hole reads as zeros and keeps the size", "[fs]", PosixWorld, SimWorld) {
  constexpr std::uint64_t k_mib = 1 << 20;
  TestType world;
  std::string expected(2 * k_mib + 5, 'x');
  const auto file = write(world.root(), "f", expected);
  for (const Extent range : {Extent{100, 50}, {4000, 200}, {k_mib - 1, k_mib / 2 + 2}, {2 * k_mib, 1000}}) {
    if (!good(file->punch_hole(range))) return;  // not on this file system
    for (std::uint64_t i = 0; i < range.length && range.offset + i < expected.size(); ++i) {
      expected[range.offset + i] = '\0';
    }
    CHECK((read_all(*file) == expected));
  }
  good(file->punch_hole({0, 0}));
  good(file->sync());
  CHECK(good(file->stat()).allocated_bytes < 2 * k_mib);
  CHECK_FALSE(good(world.root().open_file("f", OpenMode::read))->punch_hole({0, 10}));
}

TEMPLATE_TEST_CASE("times keep seconds and nanoseconds before 1970 and after 2106", "[fs]", PosixWorld, SimWorld) {
  TestType world;
  Directory& root = world.root();
  write(root, "file", "x");
  good(root.create_symlink("sym", "x"));
  good(root.create_directory("dir"));
  good(root.create_node("pipe", FileType::fifo, {}));
  // Within what ext4 can hold: 1901 to 2446.
  for (const Timestamp time : {Timestamp{-1, 999'999'999}, {-2'000'000'000, 1}, {0, 0}, {5'000'000'000, 123'456'789}}) {
    for (const char* name : {"file", "sym", "dir", "pipe"}) {
      CAPTURE(name, time.sec, time.nsec);
      good(good(root.open_node(name))->set_mtime(time));
      CHECK(good(root.stat_at(name)).mtime == time);
    }
  }
  auto file = good(root.open_file("file", OpenMode::read_write));
  good(file->set_mtime({77, 88}));
  CHECK(good(file->stat()).mtime == Timestamp{77, 88});
}

TEMPLATE_TEST_CASE("modes are set exactly, and not on symlinks", "[fs]", PosixWorld, SimWorld) {
  TestType world;
  Directory& root = world.root();
  good(root.create_symlink("sym", "file"));
  auto file = write(root, "file", "x");
  good(root.create_node("pipe", FileType::fifo, {}));
  auto dir = good(root.create_directory("dir"));
  for (const std::uint32_t mode : {0U, 0644U, 0777U, 01755U, 04711U}) {
    good(file->set_mode(mode));
    good(dir->set_mode(mode));
    good(good(root.open_node("pipe"))->set_mode(mode));
    for (const char* name : {"file", "dir", "pipe"}) CHECK(good(root.stat_at(name)).mode == mode);
  }
  CHECK(code(good(root.open_node("sym"))->set_mode(0600)) == Errc::unsupported);
  CHECK(good(root.stat_at("file")).mode == 04711);
}

TEMPLATE_TEST_CASE("owners are set on every type, symlinks themselves too", "[fs]", PosixWorld, SimWorld) {
  TestType world;
  Directory& root = world.root();
  const Stat mine = good(write(root, "file", "x")->stat());
  good(root.create_symlink("sym", "file"));
  const Owner owner = is_root() ? Owner{1234, 56789} : mine.owner;
  good(good(root.open_node("file"))->set_mode(06755));
  good(good(root.open_node("sym"))->set_owner(owner));
  CHECK(good(root.stat_at("sym")).owner == owner);
  CHECK(good(root.stat_at("file")).owner == mine.owner);
  good(good(root.open_node("file"))->set_owner(owner));
  CHECK(good(root.stat_at("file")).owner == owner);
  CHECK(good(root.stat_at("file")).mode == 0755);
}

TEMPLATE_TEST_CASE("a change moves ctime on", "[fs]", PosixWorld, SimWorld) {
  TestType world;
  Directory& root = world.root();
  auto file = write(root, "f", "x");
  const Timestamp before = good(file->stat()).ctime;
  // The kernel's clock ticks coarsely: change until it shows.
  Timestamp after = before;
  for (int i = 0; i < 10'000'000 && after == before; ++i) {
    good(file->set_mode(0600));
    after = good(file->stat()).ctime;
  }
  CHECK(after > before);
}

TEMPLATE_TEST_CASE("extended attributes are listed sorted, set, replaced and removed", "[fs]", PosixWorld, SimWorld) {
  TestType world;
  Directory& root = world.root();
  auto file = write(root, "f", "x");
  CHECK(good(file->xattrs()).empty());
  CHECK(good(root.xattrs_at("f")).empty());
  const std::string binary("a\0\xff\n", 4);
  const std::string large(2000, 'L');
  good(file->set_xattr("user.z", "last"));
  good(file->set_xattr("user.binary", binary));
  good(file->set_xattr("user.empty", ""));
  good(good(root.open_node("f"))->set_xattr("user.large", large));
  const Xattrs expected{{"user.binary", binary}, {"user.empty", ""}, {"user.large", large}, {"user.z", "last"}};
  CHECK(good(file->xattrs()) == expected);
  CHECK(good(root.xattrs_at("f")) == expected);
  CHECK(good(good(root.open_node("f"))->xattrs()) == expected);
  good(file->set_xattr("user.z", "new"));
  CHECK(good(file->xattrs()).back().value == "new");
  good(good(root.open_node("f"))->remove_xattr("user.z"));
  CHECK(good(file->xattrs()).size() == 3);
  CHECK(code(file->remove_xattr("user.z")) == Errc::not_found);
  CHECK(code(file->set_xattr("wrong.namespace", "x")) == Errc::unsupported);
}

TEMPLATE_TEST_CASE("extended attributes of a symlink are its own", "[fs]", PosixWorld, SimWorld) {
  TestType world;
  Directory& root = world.root();
  good(write(root, "f", "x")->set_xattr("user.of", "file"));
  good(root.create_symlink("sym", "f"));
  good(root.create_node("pipe", FileType::fifo, {}));
  CHECK(good(root.xattrs_at("sym")).empty());
  CHECK(good(good(root.open_node("sym"))->xattrs()).empty());
  CHECK(code(good(root.open_node("sym"))->set_xattr("user.x", "y")) == Errc::not_permitted);
  CHECK(code(good(root.open_node("pipe"))->set_xattr("user.x", "y")) == Errc::not_permitted);
  if (is_root()) {
    good(good(root.open_node("sym"))->set_xattr("trusted.x", "y"));
    CHECK(good(root.xattrs_at("sym")) == Xattrs{{"trusted.x", "y"}});
    CHECK(good(root.xattrs_at("f")) == Xattrs{{"user.of", "file"}});
  }
}

TEMPLATE_TEST_CASE("locks exclude other files and end with theirs", "[fs]", PosixWorld, SimWorld) {
  TestType world;
  Directory& root = world.root();
  auto first = write(root, "lock", "");
  auto second = good(root.open_file("lock", OpenMode::read_write));
  auto reader = good(root.open_file("lock", OpenMode::read));
  CHECK(good(first->try_lock(LockKind::exclusive, 0)));
  CHECK(good(first->try_lock(LockKind::exclusive, 0)));
  CHECK_FALSE(good(second->try_lock(LockKind::exclusive, 0)));
  CHECK_FALSE(good(reader->try_lock(LockKind::shared, 0)));
  CHECK(good(second->try_lock(LockKind::exclusive, 1)));
  CHECK(good(first->try_lock(LockKind::shared, 0)));
  CHECK(good(reader->try_lock(LockKind::shared, 0)));
  CHECK_FALSE(good(first->try_lock(LockKind::exclusive, 0)));
  CHECK_FALSE(reader->try_lock(LockKind::exclusive, 7));
  reader.reset();
  CHECK(good(first->try_lock(LockKind::exclusive, 0)));
  first.reset();
  CHECK(good(second->try_lock(LockKind::exclusive, 0)));
}

TEMPLATE_TEST_CASE("an offset beyond the range of files is an error", "[fs]", PosixWorld, SimWorld) {
  TestType world;
  auto file = good(world.root().create_file("f"));
  CHECK_FALSE(file->set_size(~std::uint64_t{0}));
  CHECK_FALSE(file->write_at(std::uint64_t{1} << 63, as_bytes("x")));
  std::array<std::byte, 4> buffer{};
  CHECK_FALSE(file->read_at(std::uint64_t{1} << 63, buffer));
}

}  // namespace nb::fs::test
