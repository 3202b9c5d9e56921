// SPDX-License-Identifier: Apache-2.0
// Runs in which contents move: what is linked, what is copied, and what is left alone. tests/e2e/test_moves.py has the
// wire and the crashes.
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "unit/session/rig.hpp"

using namespace nb;
using namespace nb::test;
namespace stdfs = std::filesystem;

namespace {

std::uint64_t inode_of(const std::string& path) {
  struct stat stat {};
  REQUIRE(::lstat(path.c_str(), &stat) == 0);
  return stat.st_ino;
}

wire::RunResult pushed(Rig& rig) {
  const auto report = rig.push();
  REQUIRE(report.has_value());
  CHECK(report->exit_code == 0);
  return report->result;
}

}  // namespace

TEST_CASE("a renamed file is linked where its old name goes, and copied where it stays", "[session]") {
  Rig rig;
  const std::string content(200'000, 'c');
  put(rig.source("old"), content);
  pushed(rig);
  const std::uint64_t inode = inode_of(rig.pool("old"));
  stdfs::rename(rig.source("old"), rig.source("new"));
  const bool deletes = GENERATE(true, false);
  if (deletes) rig.job.options.flags = wire::k_flag_delete;
  const auto result = pushed(rig);
  CHECK(result.files_moved == 1);
  CHECK(result.moved_bytes == content.size());
  CHECK(result.content_bytes == 0);
  CHECK((inode_of(rig.pool("new")) == inode) == deletes);
  // History keeps the old name of what was linked.
  CHECK(stdfs::hard_link_count(rig.pool("new")) == (deletes ? 2 : 1));
  CHECK(stdfs::exists(rig.pool("old")) != deletes);
}

TEST_CASE("only one of several new names keeps the inode", "[session]") {
  Rig rig;
  put(rig.source("old"), std::string(200'000, 'c'));
  pushed(rig);
  stdfs::rename(rig.source("old"), rig.source("b"));
  for (const char* name : {"a", "c"}) {
    stdfs::copy_file(rig.source("b"), rig.source(name));
    stdfs::last_write_time(rig.source(name), stdfs::last_write_time(rig.source("b")));
  }
  rig.job.options.flags = wire::k_flag_delete;
  CHECK(pushed(rig).files_moved == 3);
  CHECK(tree_of(rig.source()) == tree_of(rig.pool()));
  CHECK(inode_of(rig.pool("a")) != inode_of(rig.pool("b")));
  CHECK(inode_of(rig.pool("b")) != inode_of(rig.pool("c")));
  CHECK(inode_of(rig.pool("a")) != inode_of(rig.pool("c")));
}

TEST_CASE("a file whose metadata changed with its name gets an inode of its own", "[session]") {
  Rig rig;
  put(rig.source("old"), std::string(200'000, 'c'));
  pushed(rig);
  const std::uint64_t inode = inode_of(rig.pool("old"));
  stdfs::rename(rig.source("old"), rig.source("new"));
  stdfs::permissions(rig.source("new"), stdfs::perms::owner_read);
  rig.job.options.flags = wire::k_flag_delete;
  CHECK(pushed(rig).files_moved == 1);
  CHECK(tree_of(rig.source()) == tree_of(rig.pool()));
  CHECK(inode_of(rig.pool("new")) != inode);
}

TEST_CASE("two equal files of a first push are both sent", "[session]") {
  Rig rig;
  put(rig.source("a"), std::string(200'000, 'c'));
  put(rig.source("b"), std::string(200'000, 'c'));
  const auto result = pushed(rig);
  CHECK(result.files_moved == 0);
  CHECK(result.content_bytes == 400'000);
}

TEST_CASE("a renamed directory brings its small files with it, an edited one of them not", "[session]") {
  Rig rig;
  for (int i = 0; i < 20; ++i) put(rig.source("old/sub/f" + std::to_string(i)), "content " + std::to_string(i));
  stdfs::create_symlink("f1", rig.source("old/sub/link"));
  pushed(rig);
  const std::uint64_t inode = inode_of(rig.pool("old/sub/f2"));
  const auto time = stdfs::last_write_time(rig.pool("old/sub/f1"));
  put(rig.pool("old/sub/f1"), "CONTENT 1");
  stdfs::last_write_time(rig.pool("old/sub/f1"), time);
  stdfs::rename(rig.source("old"), rig.source("new"));
  rig.job.options.flags = wire::k_flag_delete;
  const auto result = pushed(rig);
  CHECK(result.files_moved == 19);
  CHECK(result.content_bytes == 9);
  CHECK(tree_of(rig.source()) == tree_of(rig.pool()));
  CHECK(inode_of(rig.pool("new/sub/f2")) == inode);
}
