// SPDX-License-Identifier: Apache-2.0
// Names of file systems: one for everything in a file system, another elsewhere, none where stat data promise nothing;
// and the path by which a library finds an open directory.
#include <fcntl.h>
#include <sys/mman.h>

#include <filesystem>

#include "base/fd.hpp"
#include "unit/fs/world.hpp"

using namespace nb;
using namespace nb::fs;
using namespace nb::fs::test;

TEST_CASE("a file system has one name for all that is in it", "[fs]") {
  const nb::test::TempDir temp;
  const auto directory = good(open_user_directory(temp.path()));
  const auto identity = directory->file_system_identity();
  if (!identity) {
    WARN("the temporary directory is on a file system without a name of its own: nothing to compare");
    return;
  }
  CHECK_FALSE(identity->empty());
  const auto below = good(directory->create_directory("d"));
  CHECK(below->file_system_identity() == identity);
  CHECK(write(*below, "f", "x")->file_system_identity() == identity);
  CHECK(good(open_user_directory(temp.path("d")))->file_system_identity() == identity);
}

TEST_CASE("file systems whose stat data promise nothing have no name", "[fs]") {
  CHECK_FALSE(good(open_user_directory("/proc"))->file_system_identity());
  CHECK_FALSE(good(open_user_directory("/sys"))->file_system_identity());
  if (std::filesystem::exists("/dev/shm")) {
    CHECK_FALSE(good(open_user_directory("/dev/shm"))->file_system_identity());
  }
}

TEST_CASE("two file systems have two names", "[fs]") {
  const nb::test::TempDir temp;
  const auto one = good(open_user_directory(temp.path()));
  const auto other = good(open_user_directory("/dev/shm"));
  if (good(one->stat()).device == good(other->stat()).device) return;
  if (one->file_system_identity()) CHECK(one->file_system_identity() != other->file_system_identity());
}

TEST_CASE("a node that is held by its path alone has no file system name", "[fs]") {
  const nb::test::TempDir temp;
  const auto directory = good(open_user_directory(temp.path()));
  write(*directory, "f", "x");
  CHECK_FALSE(good(directory->open_node("f"))->file_system_identity());
}

TEST_CASE("a file that is open for writing, or mapped so, has a writer", "[fs]") {
  const nb::test::TempDir temp;
  const auto directory = good(open_user_directory(temp.path()));
  REQUIRE(write(*directory, "f", "x"));
  const auto file = good(directory->open_file("f", OpenMode::read));
  if (!file->file_system_identity()) return;  // one that knows no leases
  CHECK_FALSE(file->may_have_writer());
  nb::Fd writer(::open(temp.path("f").c_str(), O_RDWR | O_CLOEXEC));
  REQUIRE(writer.valid());
  CHECK(file->may_have_writer());
  void* const mapped = ::mmap(nullptr, 1, PROT_READ | PROT_WRITE, MAP_SHARED, writer.get(), 0);
  REQUIRE(mapped != MAP_FAILED);
  writer = nb::Fd();
  CHECK(file->may_have_writer());
  ::munmap(mapped, 1);
  CHECK_FALSE(file->may_have_writer());
}

TEST_CASE("the simulated file system names its devices and has no path", "[fs]") {
  const SimFileSystem simulated;
  const auto directory = simulated.root();
  CHECK(directory->file_system_identity());
  CHECK_FALSE(directory->kernel_path());
}

TEST_CASE("the kernel's path follows a directory that is renamed", "[fs]") {
  const nb::test::TempDir temp;
  const auto parent = good(open_user_directory(temp.path()));
  const auto directory = good(parent->create_directory("one"));
  const auto path = directory->kernel_path();
  REQUIRE(path);
  std::filesystem::rename(temp.path("one"), temp.path("two"));
  write(*directory, "f", "x");
  CHECK(std::filesystem::exists(*path + "/f"));
  CHECK(std::filesystem::exists(temp.path("two/f")));
}
