// SPDX-License-Identifier: Apache-2.0
// Whole runs between two sessions in this process.
#include <sys/xattr.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "unit/session/largest_file.hpp"
#include "unit/session/rig.hpp"

using namespace nb;
using namespace nb::test;
namespace stdfs = std::filesystem;

namespace {

// Something of everything that a session treats differently.
void make_tree(const Rig& rig, std::size_t large_bytes = 300'000) {
  put(rig.source("a"), "alpha");
  put(rig.source("dir/small"), std::string(1000, 's'));
  put(rig.source("dir/large"), std::string(large_bytes, 'l'));
  put(rig.source("dir/deep/deeper/file"), "x");
  put(rig.source("odd\nname\xFF"), "odd");
  stdfs::create_directory(rig.source("empty"));
  stdfs::create_symlink("../a", rig.source("dir/link"));
  stdfs::create_hard_link(rig.source("a"), rig.source("dir/hard"));
  for (int i = 0; i < 60; ++i)
    put(rig.source("many/f" + std::to_string(i)), std::string(static_cast<std::size_t>(i), 'm'));
}

void change_tree(const Rig& rig, std::size_t large_bytes = 310'000) {
  put(rig.source("a"), "alpha and more");
  put(rig.source("dir/large"), std::string(large_bytes, 'L'));
  stdfs::remove_all(rig.source("dir/deep"));
  put(rig.source("dir/deep"), "a file now");
  stdfs::remove(rig.source("dir/link"));
  put(rig.source("dir/link/inside"), "a directory now");
  stdfs::permissions(rig.source("dir/small"), stdfs::perms::owner_read);
  put(rig.source("many/new"), "new");
  stdfs::remove(rig.source("many/f7"));
}

// A default ACL: the owner, a user, the group, the mask and the others. The kernel's format, little-endian.
std::string default_acl() {
  std::string text("\x02\0\0\0", 4);
  const auto add = [&text](char tag, char rights, const std::string& id) {
    text += std::string{tag, '\0', rights, '\0'} + id;
  };
  const std::string none("\xFF\xFF\xFF\xFF");
  add(0x01, 7, none);
  add(0x02, 7, std::string("\x39\x30\0\0", 4));
  add(0x04, 5, none);
  add(0x10, 7, none);
  add(0x20, 0, none);
  return text;
}

bool has_acl(const std::string& path) {
  return ::lgetxattr(path.c_str(), "system.posix_acl_access", nullptr, 0) > 0 ||
         ::lgetxattr(path.c_str(), "system.posix_acl_default", nullptr, 0) > 0;
}

session::Limits least() { return {1, 1, 0}; }

}  // namespace

TEST_CASE("push, change, push again, and nothing is left over", "[session]") {
  Rig rig;
  make_tree(rig);
  rig.job.options.flags = wire::k_flag_delete;
  const auto first = rig.push();
  REQUIRE(first.has_value());
  CHECK(first->exit_code == 0);
  CHECK(first->result.committed);
  CHECK(first->result.generation == 1);
  CHECK(tree_of(rig.source()) == tree_of(rig.pool()));
  const auto unchanged = rig.push();
  REQUIRE(unchanged.has_value());
  CHECK_FALSE(unchanged->result.committed);
  CHECK(unchanged->result.generation == 1);
  CHECK(unchanged->counts.content_bytes == 0);
  change_tree(rig);
  const auto second = rig.push();
  REQUIRE(second.has_value());
  CHECK(second->exit_code == 0);
  CHECK(second->result.generation == 2);
  CHECK(tree_of(rig.source()) == tree_of(rig.pool()));
  CHECK(leftovers(rig.pool()).empty());
}

TEST_CASE("the smallest credits and a one-byte buffer change nothing but the time", "[session]") {
  Rig rig;
  rig.pipe.buffer_bytes = 1;
  rig.job.limits = least();
  rig.serve.limits = least();
  make_tree(rig, 3000);
  rig.job.options.flags = wire::k_flag_delete | wire::k_flag_itemize;
  REQUIRE(rig.push().has_value());
  CHECK(tree_of(rig.source()) == tree_of(rig.pool()));
  change_tree(rig, 3100);
  REQUIRE(rig.push().has_value());
  CHECK(tree_of(rig.source()) == tree_of(rig.pool()));
  rig.job.operation = wire::Operation::pull;
  rig.job.sources = {rig.pool()};
  rig.job.destination = rig.scratch("restored");
  const auto pulled = rig.run();
  REQUIRE(pulled.has_value());
  CHECK(tree_of(rig.source()) == tree_of(rig.scratch("restored")));
  CHECK_FALSE(stdfs::exists(rig.scratch("restored/.nbackup")));
}

TEST_CASE("a dry run and a verification change nothing", "[session]") {
  Rig rig;
  make_tree(rig);
  rig.job.options.flags = wire::k_flag_dry_run | wire::k_flag_itemize;
  REQUIRE(rig.push().has_value());
  CHECK(tree_of(rig.pool()).empty());
  CHECK_FALSE(stdfs::exists(rig.pool(".nbackup")));
  CHECK(rig.seen.items.size() == 73);
  rig.job.options.flags = 0;
  REQUIRE(rig.push().has_value());
  const auto before = tree_of(rig.pool());
  rig.job.options.flags = wire::k_flag_verify;
  CHECK(rig.push()->exit_code == 0);
  // The same size and time, other content: only reading finds it.
  const auto time = stdfs::last_write_time(rig.pool("dir/small"));
  put(rig.pool("dir/small"), std::string(1000, 't'));
  stdfs::last_write_time(rig.pool("dir/small"), time);
  CHECK(rig.push()->exit_code == 40);
  rig.job.options.flags = wire::k_flag_checksum;
  CHECK(rig.push()->result.files_changed == 1);
  CHECK(tree_of(rig.pool()) == before);
}

TEST_CASE("guards stop a run before it changes anything", "[session]") {
  Rig rig;
  make_tree(rig);
  REQUIRE(rig.push().has_value());
  const auto before = tree_of(rig.pool());
  rig.job.options.flags = wire::k_flag_delete;
  SECTION("an empty source") {
    stdfs::remove_all(rig.source());
    stdfs::create_directory(rig.source());
    CHECK(rig.push().error().code == Errc::guard_empty_source);
    CHECK(tree_of(rig.pool()) == before);
    rig.job.options.flags |= wire::k_flag_allow_empty;
    CHECK(rig.push().has_value());
    CHECK(tree_of(rig.pool()).empty());
  }
  SECTION("too many deletions") {
    stdfs::remove_all(rig.source("many"));
    rig.job.options.max_delete = 10;
    CHECK(rig.push().error().code == Errc::max_delete);
    CHECK(tree_of(rig.pool()) == before);
    rig.job.options.max_delete = 61;
    CHECK(rig.push()->result.deleted == 61);
  }
  SECTION("another set than the known one") {
    rig.job.expected_set = wire::Id{};
    CHECK(rig.push().error().code == Errc::guard_set_missing);
    CHECK(tree_of(rig.pool()) == before);
    rig.job.options.flags |= wire::k_flag_new_set;
    CHECK(rig.push().has_value());
  }
  SECTION("a mount point that is none any more") {
    rig.job.expected_mounts = {rig.source("many")};
    CHECK(rig.push().error().code == Errc::guard_mount_point);
    rig.job.allow_unmounted = true;
    CHECK(rig.push().has_value());
  }
}

TEST_CASE("a read-only server refuses a push and serves the rest", "[session]") {
  Rig rig;
  make_tree(rig);
  REQUIRE(rig.push().has_value());
  rig.serve.read_only = true;
  put(rig.source("a"), "changed");
  CHECK(rig.push().error().code == Errc::read_only);
  rig.job.options.flags = wire::k_flag_dry_run;
  CHECK(rig.push()->result.files_changed > 0);
}

TEST_CASE("a server confined to a root stays there", "[session]") {
  Rig rig;
  make_tree(rig);
  rig.serve.root = stdfs::canonical(rig.pool()).string();
  REQUIRE(rig.push().has_value());
  rig.job.operation = wire::Operation::push;
  for (const std::string& outside : {rig.scratch("elsewhere"), std::string("../elsewhere"), rig.source()}) {
    rig.job.destination = outside;
    CHECK(rig.run().error().code == Errc::path);
  }
  CHECK_FALSE(stdfs::exists(rig.scratch("elsewhere")));
  rig.job.operation = wire::Operation::pull;
  rig.job.sources = {rig.source("a")};
  rig.job.destination = rig.scratch("out");
  CHECK(rig.run().error().code == Errc::path);
  stdfs::create_symlink(rig.source(), rig.pool("way-out"));
  rig.job.sources = {"way-out/a"};
  CHECK(rig.run().error().code == Errc::path);
}

TEST_CASE("a file that the destination cannot hold leaves no part of it in a new directory", "[session]") {
  constexpr std::size_t k_mib = std::size_t{1} << 20;
  Rig rig;
  put(rig.source("d/fits"), "fits");
  put(rig.source("d/large"), std::string(2 * k_mib, 'l'));
  put(rig.source("d/sparse"), std::string(100'000, 'x'));
  stdfs::resize_file(rig.source("d/sparse"), 3 * k_mib);  // all of its data fits
  const LargestFile limit(k_mib + k_mib / 4);             // as does the stage's reserve
  const auto report = rig.push();
  REQUIRE(report.has_value());
  CHECK(report->exit_code == 23);
  CHECK(rig.seen.problems.size() == 2);
  CHECK(stdfs::exists(rig.pool("d/fits")));
  CHECK_FALSE(stdfs::exists(rig.pool("d/large")));
  CHECK_FALSE(stdfs::exists(rig.pool("d/sparse")));
}

TEST_CASE("what is new in a directory with a default ACL does not inherit it", "[session]") {
  Rig rig;
  // Few names: d/sub is made before d gets its ACL. Many: after it, and d/sub/below before d/sub is settled.
  const bool are_many = GENERATE(false, true);
  for (int i = 0; i < (are_many ? 600 : 1); ++i) put(rig.source("d/f" + std::to_string(i)), "x");
  const std::string last = are_many ? "d/sub/below" : "d/sub";
  put(rig.source(last + "/f"), "x");
  const std::string acl = default_acl();
  if (::setxattr(rig.source("d").c_str(), "system.posix_acl_default", acl.data(), acl.size(), 0) != 0) {
    WARN("no POSIX ACLs here");
    return;
  }
  REQUIRE(rig.push().has_value());
  CHECK(has_acl(rig.pool("d")));
  for (const std::string& path : {std::string("d/f0"), std::string("d/sub"), last, last + "/f"}) {
    INFO(path);
    CHECK_FALSE(has_acl(rig.pool(path)));
  }
}
