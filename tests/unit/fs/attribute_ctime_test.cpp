// SPDX-License-Identifier: Apache-2.0
// What attribute_identity() promises, on each kind of file system that has one: whatever changes an attribute or an ACL
// moves the inode's ctime. And who must not have the same one: a process that sees less, a mount that shows less.
#include <sys/wait.h>
#include <unistd.h>

#include "support/mounted.hpp"
#include "unit/fs/world.hpp"

using namespace nb;
using namespace nb::fs;
using namespace nb::fs::test;
using nb::test::Mounted;

namespace {

// user::rw-, user:1234:r--, group::r--, mask::r--, other::r-- as linux/posix_acl_xattr.h lays it out.
std::string acl_for_another_user() {
  std::string acl("\x02\0\0\0", 4);
  acl += std::string("\x01\0\x06\0\xff\xff\xff\xff", 8);
  acl += std::string("\x02\0\x04\0\xd2\x04\0\0", 8);
  acl += std::string("\x04\0\x04\0\xff\xff\xff\xff", 8);
  acl += std::string("\x10\0\x04\0\xff\xff\xff\xff", 8);
  return acl + std::string("\x20\0\x04\0\xff\xff\xff\xff", 8);
}

// File systems count time in ticks: until this one's clock has left the tick of `time`.
void wait_for_tick_after(Directory& in, Timestamp time) {
  while (true) {
    const Timestamp now = good(good(in.create_file("clock"))->stat()).ctime;
    good(in.remove_file("clock"));
    if (now > time) return;
  }
}

template <class Change>
void check_moves(Directory& in, const char* name, const Change& change) {
  const auto node = good(in.open_node(name));
  const Timestamp before = good(node->stat()).ctime;
  wait_for_tick_after(in, before);
  good(change(*node));
  CHECK(good(node->stat()).ctime > before);
}

void check_attributes_move_ctime(Directory& root) {
  write(root, "file", "x");
  good(root.create_symlink("link", "somewhere"));
  for (const char* name : {"file", "link"}) {
    INFO(name);
    const std::string attribute = name == std::string("file") ? "user.tag" : "trusted.tag";
    check_moves(root, name, [&](Node& node) { return node.set_xattr(attribute, "one"); });
    check_moves(root, name, [&](Node& node) { return node.set_xattr(attribute, "two"); });
    check_moves(root, name, [&](Node& node) { return node.set_xattr(attribute, std::string(3000, 'l')); });
    check_moves(root, name, [&](Node& node) { return node.remove_xattr(attribute); });
  }
  const std::string access = "system.posix_acl_access";
  check_moves(root, "file", [&](Node& node) { return node.set_xattr(access, acl_for_another_user()); });
  check_moves(root, "file", [&](Node& node) { return node.remove_xattr(access); });
  check_moves(root, "file", [&](Node& node) { return node.set_xattr("security.tag", "s"); });
  check_moves(root, "file", [&](Node& node) { return node.remove_xattr("security.tag"); });
}

// What the identity ends with after "+", as a process without privileges has it.
char sight_without_privileges(const Directory& root) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const bool dropped = ::setresgid(1234, 1234, 1234) == 0 && ::setresuid(1234, 1234, 1234) == 0;
    const auto identity = root.attribute_identity();
    const char seen = dropped && identity ? identity->back() : '?';
    ::_exit(::write(ends[1], &seen, 1) == 1 ? 0 : 1);
  }
  char seen = 0;
  CHECK(::read(ends[0], &seen, 1) == 1);
  ::close(ends[0]);
  ::close(ends[1]);
  int status = 0;
  CHECK(::waitpid(child, &status, 0) == child);
  return seen;
}

}  // namespace

TEST_CASE("where attributes have an identity they move ctime", "[fs][mount]") {
  for (const char* make : {"mkfs.ext4 -F", "mkfs.xfs", "mkfs.btrfs"}) {
    INFO(make);
    const Mounted mounted(make);
    if (!mounted.ok()) continue;
    const auto root = good(open_user_directory(mounted.path()));
    const auto identity = root->attribute_identity();
    REQUIRE(identity);
    CHECK(identity->starts_with(*root->file_system_identity()));
    CHECK(good(root->create_directory("below"))->attribute_identity() == identity);
    check_attributes_move_ctime(*root);
    // Who is not shown trusted.* must not have found for others that there are none.
    if (identity->back() == 'a') CHECK(sight_without_privileges(*root) == 'u');
  }
}

TEST_CASE("a mount that hides ACLs has no attribute identity", "[fs][mount]") {
  const Mounted mounted("mkfs.btrfs", "loop,noacl");
  if (!mounted.ok()) return;
  const auto root = good(open_user_directory(mounted.path()));
  CHECK(root->file_system_identity());
  CHECK_FALSE(root->attribute_identity());
}

TEST_CASE("where it is not known what moves ctime there is no attribute identity", "[fs]") {
  for (const char* path : {"/proc", "/sys", "/dev/shm"}) {
    INFO(path);
    CHECK_FALSE(good(open_user_directory(path))->attribute_identity());
  }
  const SimFileSystem simulated;
  CHECK_FALSE(simulated.root()->attribute_identity());
}
