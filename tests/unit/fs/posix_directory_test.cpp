// SPDX-License-Identifier: Apache-2.0
// What only the real file system can show: the umask, ACLs, symlinks swapped in, close-on-exec.
#include "fs/posix_directory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "fs/metadata.hpp"
#include "unit/fs/world.hpp"

namespace nb::fs::test {
namespace {

// Pages of the file that the page cache holds.
std::size_t cached_pages(const std::string& path, std::size_t bytes) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  void* mapped = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
  REQUIRE(mapped != MAP_FAILED);
  std::vector<unsigned char> resident(bytes / 4096);
  REQUIRE(::mincore(mapped, bytes, resident.data()) == 0);
  ::munmap(mapped, bytes);
  ::close(fd);
  return static_cast<std::size_t>(std::count_if(resident.begin(), resident.end(), [](auto page) { return page & 1; }));
}

// Written, durable, and out of the page cache.
void make_cold(const std::string& path, std::size_t bytes) {
  std::ofstream(path, std::ios::binary) << std::string(bytes, 'x');
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(::fsync(fd) == 0);
  REQUIRE(::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0);
  ::close(fd);
}

// Whether this kernel and this file system can read without caching.
bool reads_uncached(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  char byte = 0;
  const struct iovec where { &byte, 1 };
  const bool can = ::preadv2(fd, &where, 1, 0, 0x80) == 1;
  ::close(fd);
  return can;
}

// Sets the umask and puts it back.
class Umask {
 public:
  explicit Umask(mode_t mask) : m_before(::umask(mask)) {}
  ~Umask() { ::umask(m_before); }
  Umask(const Umask&) = delete;
  Umask& operator=(const Umask&) = delete;

 private:
  mode_t m_before;
};

void append_le(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

// A POSIX ACL as the kernel wants it: version 2, then tag, permissions and id of each entry.
std::string acl() {
  struct Entry {
    unsigned tag;
    unsigned permissions;
    std::uint32_t id;
  };
  constexpr std::uint32_t k_none = 0xffffffffU;
  std::string text;
  append_le(text, 2, 4);
  for (const Entry entry : {Entry{1, 6, k_none}, {2, 5, 4321}, {4, 4, k_none}, {0x10, 5, k_none}, {0x20, 0, k_none}}) {
    append_le(text, entry.tag, 2);
    append_le(text, entry.permissions, 2);
    append_le(text, entry.id, 4);
  }
  return text;
}

}  // namespace

TEST_CASE("a user's path may lead through symlinks; it must be a directory", "[fs]") {
  const nb::test::TempDir temp;
  std::filesystem::create_directory(temp.path("real"));
  std::filesystem::create_symlink("real", temp.path("link"));
  std::ofstream(temp.path("file")) << "x";
  good(good(open_user_directory(temp.path("link")))->create_file("made"));
  CHECK(std::filesystem::exists(temp.path("real/made")));
  CHECK(code(open_user_directory(temp.path("file"))) == Errc::path);
  CHECK(code(open_user_directory(temp.path("none"))) == Errc::not_found);
  CHECK(code(open_user_directory(temp.path("real") + std::string("\0x", 2))) == Errc::path);
}

TEST_CASE("a directory swapped for a symlink is not followed", "[fs]") {
  const nb::test::TempDir temp;
  const nb::test::TempDir outside;
  auto root = good(open_user_directory(temp.path()));
  auto a = good(root->create_directory("a"));
  good(a->create_directory("b"));
  std::filesystem::create_directory(outside.path("b"));
  good(root->open_directory_path(rel("a/b")));
  good(root->rename("a", *root, "was", RenameMode::replace));
  good(root->create_symlink("a", outside.path()));
  CHECK(code(root->open_directory_path(rel("a/b"))) == Errc::path);
  CHECK(code(root->open_directory_path(rel("a"))) == Errc::path);
  CHECK(code(root->open_directory("a")) == Errc::path);
  // The held handle is still the old one.
  good(a->create_file("made"));
  CHECK(std::filesystem::exists(temp.path("was/made")));
}

TEST_CASE("the umask does not change what is created", "[fs]") {
  const nb::test::TempDir temp;
  auto root = good(open_user_directory(temp.path()));
  const Umask mask(GENERATE(0U, 0077U, 0777U));
  good(root->create_file("f"));
  good(root->create_node("p", FileType::fifo, {}));
  good(good(root->create_directory("d"))->create_file("in"));
  CHECK(good(root->stat_at("f")).mode == 0600);
  CHECK(good(root->stat_at("p")).mode == 0600);
  CHECK(good(root->stat_at("d")).mode == 0700);
}

TEST_CASE("a set-group-id parent does not change the promised modes", "[fs]") {
  const nb::test::TempDir temp;
  REQUIRE(::chmod(temp.path().c_str(), 02777) == 0);
  auto root = good(open_user_directory(temp.path()));
  good(root->create_directory("d"));
  CHECK(good(root->stat_at("d")).mode == 0700);
}

TEST_CASE("POSIX ACLs are extended attributes, access and default", "[fs]") {
  const nb::test::TempDir temp;
  auto root = good(open_user_directory(temp.path()));
  auto file = good(root->create_file("f"));
  Status set = file->set_xattr("system.posix_acl_access", acl());
  if (!set && set.error().code == Errc::unsupported) {
    WARN("no POSIX ACLs here");
    return;
  }
  good(std::move(set));
  CHECK(good(root->xattrs_at("f")) == Xattrs{{"system.posix_acl_access", acl()}});
  CHECK(good(file->stat()).mode == 0650);  // the group bits are the mask
  auto d = good(root->create_directory("d"));
  good(d->set_xattr("system.posix_acl_default", acl()));
  CHECK(good(d->xattrs()) == Xattrs{{"system.posix_acl_default", acl()}});
  good(d->create_file("inherits"));
  CHECK(good(d->stat_at("inherits")).mode == 0600);
}

TEST_CASE("large sets of attributes are read whole", "[fs]") {
  const nb::test::TempDir temp;
  auto root = good(open_user_directory(temp.path()));
  auto file = good(root->create_file("f"));
  Xattrs expected;
  for (int i = 100; i < 140; ++i) {
    expected.push_back({"user.with-a-longer-name-for-a-large-list-" + std::to_string(i), std::to_string(i)});
    good(file->set_xattr(expected.back().name, expected.back().value));
  }
  CHECK(good(file->xattrs()) == expected);
  CHECK(good(root->xattrs_at("f")) == expected);
}

TEST_CASE("device files carry their numbers", "[fs]") {
  if (::geteuid() != 0) {
    WARN("needs root");
    return;
  }
  const nb::test::TempDir temp;
  auto root = good(open_user_directory(temp.path()));
  good(root->create_node("null", FileType::char_device, {1, 3}));
  good(root->create_node("disk", FileType::block_device, {259, 70'000}));
  CHECK(good(root->stat_at("null")).node == DeviceNumber{1, 3});
  CHECK(good(root->stat_at("disk")).node == DeviceNumber{259, 70'000});
  CHECK(code(root->open_file("null", OpenMode::read)) == Errc::path);
}

TEST_CASE("a file that is read once leaves the page cache as it was", "[fs]") {
  constexpr std::size_t k_size = std::size_t{8} << 20;
  const nb::test::TempDir temp;
  const std::string path = temp.path("f");
  make_cold(path, k_size);
  if (!reads_uncached(path)) {
    WARN("skipped: no uncached reads here (Linux before 6.14, or " << temp.path() << " is on a file system without)");
    return;
  }
  make_cold(path, k_size);
  auto root = good(open_user_directory(temp.path()));
  const auto read_all = [&](bool once) {
    const auto file = good(root->open_file("f", OpenMode::read));
    if (once) file->expect_sequential_read();
    Bytes buffer(k_size);
    CHECK(good(read_fully(*file, 0, buffer)) == k_size);
    CHECK(std::all_of(buffer.begin(), buffer.end(), [](std::byte b) { return b == std::byte{'x'}; }));
  };
  read_all(true);
  CHECK(cached_pages(path, k_size) < k_size / 4096 / 4);
  read_all(false);
  CHECK(cached_pages(path, k_size) == k_size / 4096);
  read_all(true);
  CHECK(cached_pages(path, k_size) == k_size / 4096);
}

TEST_CASE("no descriptor survives an exec", "[fs]") {
  const nb::test::TempDir temp;
  auto root = good(open_user_directory(temp.path()));
  auto file = good(root->create_file("f"));
  auto node = good(root->open_node("f"));
  auto reader = good(root->open_file("f", OpenMode::read));
  auto dir = good(root->create_directory("d"));
  auto again = good(root->reopen());
  auto path = good(root->open_directory_path(rel("d")));
  int seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    if (!std::filesystem::read_symlink(entry, error).string().starts_with(temp.path())) continue;
    ++seen;
    CHECK((::fcntl(std::stoi(entry.path().filename()), F_GETFD) & FD_CLOEXEC) != 0);
  }
  CHECK(seen == 7);
}

}  // namespace nb::fs::test
