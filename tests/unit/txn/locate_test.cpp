// SPDX-License-Identifier: Apache-2.0
// Finding the set above a directory, on a real file system.
#include <sys/stat.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include "scratch.hpp"
#include "tree.hpp"
#include "txn/locate.hpp"

namespace nb::txn::test {
namespace {

void make_at(const std::string& path) {
  REQUIRE(FileSet::create(fs::open_user_directory(path).value(), Lifetime::permanent, test_secret()));
}

TEST_CASE("the set is found from any directory in it", "[txn][locate]") {
  const Scratch scratch;
  std::filesystem::create_directories(scratch.path() + "/set/a/b");
  make_at(scratch.path() + "/set");
  for (const std::string below : {"", "a", "a/b"}) {
    const Located found = locate_set(scratch.path() + "/set/" + below, std::nullopt).value();
    CHECK(found.is_set);
    CHECK(found.root_path == scratch.path() + "/set");
    CHECK(found.below.str() == below);
    CHECK(FileSet::open(found.root->reopen().value()));
  }
}

TEST_CASE("the nearest set wins", "[txn][locate]") {
  const Scratch scratch;
  std::filesystem::create_directories(scratch.path() + "/outer/inner/x");
  make_at(scratch.path() + "/outer");
  make_at(scratch.path() + "/outer/inner");
  CHECK(locate_set(scratch.path() + "/outer/inner/x", std::nullopt).value().root_path ==
        scratch.path() + "/outer/inner");
}

TEST_CASE("without a set the directory itself is the answer", "[txn][locate]") {
  const Scratch scratch;
  std::filesystem::create_directories(scratch.path() + "/plain");
  const Located found = locate_set(scratch.path() + "/plain", std::nullopt).value();
  CHECK(!found.is_set);
  CHECK(found.root_path == scratch.path() + "/plain");
  CHECK(found.below.is_root());
  CHECK(found.root);
  CHECK(locate_set(scratch.path() + "/missing", std::nullopt).error().code == Errc::not_found);
}

TEST_CASE("the walk does not leave the confined directory", "[txn][locate]") {
  const Scratch scratch;
  std::filesystem::create_directories(scratch.path() + "/set/jail/x");
  make_at(scratch.path() + "/set");
  CHECK(!locate_set(scratch.path() + "/set/jail/x", scratch.path() + "/set/jail").value().is_set);
  CHECK(locate_set(scratch.path() + "/set/jail/x", scratch.path() + "/set").value().is_set);
  CHECK(locate_set(scratch.path() + "/set", scratch.path() + "/set/jail").error().code == Errc::path);
  // A name that merely begins like the confined one.
  std::filesystem::create_directories(scratch.path() + "/set/jailbreak");
  CHECK(locate_set(scratch.path() + "/set/jailbreak", scratch.path() + "/set/jail").error().code == Errc::path);
}

TEST_CASE("symlinks on the way are followed before the walk", "[txn][locate]") {
  const Scratch scratch;
  std::filesystem::create_directories(scratch.path() + "/set/a");
  std::filesystem::create_directories(scratch.path() + "/elsewhere");
  make_at(scratch.path() + "/set");
  std::filesystem::create_directory_symlink(scratch.path() + "/set/a", scratch.path() + "/elsewhere/link");
  const Located found = locate_set(scratch.path() + "/elsewhere/link", std::nullopt).value();
  CHECK(found.root_path == scratch.path() + "/set");
  CHECK(found.below.str() == "a");
}

// What a user who is not root finds from there. The real user id stays root's, so that the way back is open.
Result<Located> locate_as(uid_t uid, const std::string& path) {
  REQUIRE(::seteuid(uid) == 0);
  auto found = locate_set(path, std::nullopt);
  REQUIRE(::seteuid(0) == 0);
  return found;
}

TEST_CASE("a control directory of somebody else is passed over, and root is told", "[txn][locate]") {
  if (::geteuid() != 0) {
    WARN("needs root to give a directory to somebody else");
    return;
  }
  constexpr uid_t k_one = 65534;
  constexpr uid_t k_other = 65533;
  const Scratch scratch;
  const std::string set = scratch.path() + "/set";
  std::filesystem::create_directories(set + "/a/.nbackup");
  make_at(set);
  for (const std::string& path : {scratch.path(), set, set + "/a"}) REQUIRE(::chmod(path.c_str(), 0755) == 0);
  REQUIRE(::chown((set + "/.nbackup").c_str(), k_one, k_one) == 0);
  REQUIRE(::chown((set + "/a/.nbackup").c_str(), k_other, k_other) == 0);
  CHECK(locate_as(k_one, set + "/a").value().root_path == set);
  const auto refused = locate_set(set + "/a", std::nullopt);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::path);
  CHECK(refused.error().context.find("65533") != std::string::npos);
}

TEST_CASE("nothing is put into a control directory", "[txn][locate]") {
  const Scratch scratch;
  make_at(scratch.path());
  CHECK(locate_set(scratch.path() + "/.nbackup/tx", std::nullopt).error().code == Errc::path);
}

}  // namespace
}  // namespace nb::txn::test
