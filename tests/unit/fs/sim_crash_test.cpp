// SPDX-License-Identifier: Apache-2.0
// What the simulated file system keeps and loses at a power cut, and its chosen faults.
#include <cerrno>
#include <set>

#include "unit/fs/world.hpp"

namespace nb::fs::test {
namespace {

std::string after(const SimFileSystem& fs, CrashChoice choice, std::string_view name) {
  return read(*fs.after_crash(choice).root(), name);
}

Names names_after(const SimFileSystem& fs, CrashChoice choice) { return names(*fs.after_crash(choice).root()); }

const CrashChoice k_lose = CrashChoice::lose_all();
const CrashChoice k_keep = CrashChoice::keep_all();

}  // namespace

TEST_CASE("nothing unsynced is sure", "[fs][sim]") {
  SimFileSystem fs;
  auto root = fs.root();
  write(*root, "f", "text");
  CHECK(names_after(fs, k_lose).empty());
  CHECK(after(fs, k_keep, "f") == "text");
  CHECK(read(*root, "f") == "text");
}

TEST_CASE("a synced file without its name is lost, a synced name without content is empty", "[fs][sim]") {
  SimFileSystem fs;
  auto root = fs.root();
  auto file = write(*root, "f", "text");
  good(file->set_mode(0644));
  SECTION("file only") {
    good(file->sync());
    CHECK(names_after(fs, k_lose).empty());
  }
  SECTION("name only") {
    good(root->sync());
    CHECK(after(fs, k_lose, "f").empty());
    CHECK(good(fs.after_crash(k_lose).root()->stat_at("f")).mode == 0600);
  }
  SECTION("both") {
    good(file->sync());
    good(root->sync());
    CHECK(after(fs, k_lose, "f") == "text");
    CHECK(good(fs.after_crash(k_lose).root()->stat_at("f")).mode == 0644);
  }
  SECTION("the whole file system") {
    good(root->sync_file_system());
    CHECK(after(fs, k_lose, "f") == "text");
  }
}

TEST_CASE("a rename is kept or lost whole, by a sync of either directory", "[fs][sim]") {
  SimFileSystem fs;
  auto root = fs.root();
  auto a = good(root->create_directory("a"));
  auto b = good(root->create_directory("b"));
  write(*a, "x", "new");
  write(*b, "y", "old");
  good(root->sync_file_system());
  const std::uint64_t inode = good(a->stat_at("x")).inode;
  good(a->rename("x", *b, "y", RenameMode::replace));
  {
    const SimFileSystem lost = fs.after_crash(k_lose);
    CHECK(read(*good(lost.root()->open_directory("a")), "x") == "new");
    CHECK(read(*good(lost.root()->open_directory("b")), "y") == "old");
  }
  good(GENERATE(0, 1) == 0 ? a->sync() : b->sync());
  const SimFileSystem kept = fs.after_crash(k_lose);
  CHECK(names(*good(kept.root()->open_directory("a"))).empty());
  CHECK(read(*good(kept.root()->open_directory("b")), "y") == "new");
  CHECK(good(good(kept.root()->open_directory("b"))->stat_at("y")).inode == inode);
}

TEST_CASE("a synced rename brings what it rests on", "[fs][sim]") {
  SimFileSystem fs;
  auto root = fs.root();
  auto a = good(root->create_directory("a"));
  auto b = good(root->create_directory("b"));
  good(root->sync());
  write(*a, "x", "1");
  good(a->rename("x", *a, "y", RenameMode::replace));
  good(a->rename("y", *b, "z", RenameMode::replace));
  good(b->sync());
  const SimFileSystem crashed = fs.after_crash(k_lose);
  CHECK(names(*good(crashed.root()->open_directory("a"))).empty());
  CHECK(names(*good(crashed.root()->open_directory("b"))) == Names{"z"});
}

TEST_CASE("random crashes show old, new, torn and reordered states, and repeat by seed", "[fs][sim]") {
  SimFileSystem fs;
  auto root = fs.root();
  auto file = write(*root, "f", std::string(10'000, 'o'));
  good(root->sync_file_system());
  good(file->write_at(0, as_bytes(std::string(10'000, 'n'))));
  write(*root, "first", "");
  write(*root, "second", "");
  std::set<Names> seen_names;
  bool old_seen = false;
  bool new_seen = false;
  bool mixed_seen = false;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const SimFileSystem crashed = fs.after_crash(CrashChoice::random(seed));
    seen_names.insert(names(*crashed.root()));
    const std::string text = read(*crashed.root(), "f");
    old_seen = old_seen || text == std::string(10'000, 'o');
    new_seen = new_seen || text == std::string(10'000, 'n');
    mixed_seen = mixed_seen || (text.starts_with('n') && text.ends_with('o'));
    CHECK(after(fs, CrashChoice::random(seed), "f") == text);
  }
  CHECK(seen_names == std::set<Names>{{"f"}, {"f", "first"}, {"f", "second"}, {"f", "first", "second"}});
  CHECK(old_seen);
  CHECK(new_seen);
  CHECK(mixed_seen);
}

namespace {

// Every directory once, every name resolvable; the inodes found.
void walk(const Directory& dir, std::set<std::uint64_t>& directories) {
  CHECK(directories.insert(good(dir.stat()).inode).second);
  for (const NamedType& entry : good(dir.list())) {
    CHECK(good(dir.stat_at(entry.name)).type == entry.type);
    if (entry.type == FileType::directory) walk(*good(dir.open_directory(entry.name)), directories);
  }
}

// A few hundred random operations on a small tree with occasional syncs.
void churn(const SimFileSystem& fs, std::uint64_t seed) {
  std::uint64_t state = seed * 2'654'435'761U + 1;
  const auto pick = [&state](std::uint64_t bound) {
    state = state * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U;
    return (state >> 33) % bound;
  };
  const auto any_directory = [&] {
    auto at = fs.root();
    for (auto depth = pick(3); depth > 0; --depth) {
      if (auto below = at->open_directory("d" + std::to_string(pick(3)))) at = std::move(*below);
    }
    return at;
  };
  for (int i = 0; i < 300; ++i) {
    auto from = any_directory();
    auto to = any_directory();
    const std::string a = (pick(2) != 0 ? "d" : "f") + std::to_string(pick(3));
    const std::string b = (pick(2) != 0 ? "d" : "f") + std::to_string(pick(3));
    // Most of these fail now and then, which is fine here.
    switch (pick(9)) {
      case 0: static_cast<void>(from->create_file(a)); break;
      case 1: static_cast<void>(from->create_directory("d" + std::to_string(pick(3)))); break;
      case 2: static_cast<void>(from->remove_file(a)); break;
      case 3: static_cast<void>(from->remove_directory(a)); break;
      case 4: static_cast<void>(from->link(a, *to, b)); break;
      case 5: static_cast<void>(from->sync()); break;
      case 6:
        if (pick(10) == 0) static_cast<void>(from->sync_file_system());
        break;
      default: static_cast<void>(from->rename(a, *to, b, RenameMode::replace)); break;
    }
  }
}

}  // namespace

TEST_CASE("every crash leaves a well-formed tree", "[fs][sim]") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SimFileSystem fs;
    churn(fs, seed);
    std::set<std::uint64_t> live;
    walk(*fs.root(), live);
    for (const CrashChoice choice : {k_lose, k_keep, CrashChoice::random(seed), CrashChoice::random(seed + 1000)}) {
      const SimFileSystem crashed = fs.after_crash(choice);
      std::set<std::uint64_t> directories;
      walk(*crashed.root(), directories);
      if (choice.kind() == CrashChoice::Kind::keep_all) CHECK(directories == live);
    }
    good(fs.root()->sync_file_system());
    std::set<std::uint64_t> durable;
    walk(*fs.after_crash(k_lose).root(), durable);
    CHECK(durable == live);
  }
}

TEST_CASE("clones and punched holes are lost like writes", "[fs][sim]") {
  SimFileSystem disk;
  auto root = disk.root();
  const std::string text(3 * 4096, 'a');
  auto source = write(*root, "source", text);
  auto file = write(*root, "file", std::string(3 * 4096, 'b'));
  good(root->sync_file_system());
  CHECK(good(file->clone_range(*source, {0, 4096}, 0)));
  CHECK(good(file->punch_hole({4096, 4096})));
  CHECK(read_all(*file) == std::string(4096, 'a') + std::string(4096, '\0') + std::string(4096, 'b'));
  CHECK(read(*disk.after_crash(CrashChoice::lose_all()).root(), "file") == std::string(3 * 4096, 'b'));
  CHECK(read(*disk.after_crash(CrashChoice::keep_all()).root(), "file") == read_all(*file));
}

TEST_CASE("a dead machine does nothing any more", "[fs][sim]") {
  SimFileSystem fs;
  auto root = fs.root();
  write(*root, "f", "1");
  CHECK(fs.operations() == 2);
  fs.die_at(3);
  CHECK(code(root->create_file("g")) == Errc::io);
  CHECK(code(root->remove_file("f")) == Errc::io);
  CHECK(code(root->sync_file_system()) == Errc::io);
  CHECK(code(root->list()) == Errc::io);
  const SimFileSystem crashed = fs.after_crash(k_keep);
  CHECK(names(*crashed.root()) == Names{"f"});
  good(crashed.root()->create_file("alive"));
}

TEST_CASE("a failed file sync loses the data for good", "[fs][sim]") {
  SimFileSystem fs;
  auto root = fs.root();
  auto file = write(*root, "f", "old");
  good(root->sync_file_system());
  good(file->write_at(0, as_bytes("new")));
  fs.fail_at(fs.operations() + 1, EIO);
  CHECK(code(file->sync()) == Errc::io);
  good(file->sync());
  CHECK(read_all(*file) == "new");
  CHECK(after(fs, k_keep, "f") == "old");
  good(file->write_at(0, as_bytes("again")));
  good(file->sync());
  CHECK(after(fs, k_lose, "f") == "again");
}

TEST_CASE("a failed directory sync leaves its names in doubt", "[fs][sim]") {
  SimFileSystem fs;
  auto root = fs.root();
  write(*root, "f", "");
  fs.fail_at(fs.operations() + 1, EIO);
  CHECK(code(root->sync()) == Errc::io);
  good(root->sync());
  good(root->rename("f", *root, "g", RenameMode::replace));
  good(root->sync());
  CHECK(names_after(fs, k_lose).empty());
  CHECK(names_after(fs, k_keep) == Names{"g"});
}

TEST_CASE("one chosen operation fails alone", "[fs][sim]") {
  SimFileSystem fs;
  auto root = fs.root();
  fs.fail_at(2, ENOSPC);
  auto file = good(root->create_file("f"));
  CHECK(code(file->write_at(0, as_bytes("x"))) == Errc::no_space);
  CHECK(read_all(*file).empty());
  good(file->write_at(0, as_bytes("x")));
}

TEST_CASE("ignored syncs report success and do nothing", "[fs][sim]") {
  SimFileSystem fs;
  fs.ignore(SimOperation::sync_directory);
  auto root = fs.root();
  write(*root, "f", "x");
  good(root->sync());
  CHECK(names_after(fs, k_lose).empty());
  CHECK(fs.operations() == 3);
}

TEST_CASE("the hook sees each operation first and may interfere", "[fs][sim]") {
  SimFileSystem fs;
  auto root = fs.root();
  good(root->create_directory("d"));
  std::vector<std::string> seen;
  fs.on_operation([&](const SimEvent& event) {
    seen.push_back(std::to_string(event.number) + " " + std::string(to_string(event.kind)) + " " + event.path + " " +
                   event.new_path);
    if (event.kind == SimOperation::rename) good(fs.root()->create_file("taken"));
    if (event.kind == SimOperation::remove_file) fs.fail_at(event.number, EROFS);
  });
  auto d = good(root->open_directory("d"));
  good(d->create_file("x"));
  CHECK(code(d->rename("x", *root, "taken", RenameMode::no_replace)) == Errc::exists);
  CHECK(code(root->remove_file("taken")) == Errc::read_only);
  CHECK(seen == Names{"2 create_file d/x ", "3 rename d/x taken", "4 remove_file taken "});
}

TEST_CASE("space runs out and comes back with the last handle", "[fs][sim]") {
  SimFileSystem fs({.total_bytes = 8192});
  auto root = fs.root();
  auto file = write(*root, "f", std::string(8192, 'x'));
  auto other = good(root->create_file("g"));
  CHECK(good(root->space()).free_bytes == 0);
  CHECK(code(other->write_at(0, as_bytes("y"))) == Errc::no_space);
  good(root->remove_file("f"));
  CHECK(code(other->write_at(0, as_bytes("y"))) == Errc::no_space);
  file.reset();
  good(other->write_at(0, as_bytes("y")));
  CHECK(good(root->space()).free_bytes == 4096);
  CHECK(good(fs.after_crash(k_keep).root()->space()).free_bytes == 4096);
}

TEST_CASE("immutable inodes and names in immutable directories stay", "[fs][sim]") {
  SimFileSystem fs;
  auto root = fs.root();
  auto d = good(root->create_directory("d"));
  write(*d, "in", "");
  auto file = write(*root, "f", "x");
  fs.set_immutable("f");
  fs.set_immutable("d");
  CHECK(good(root->stat_at("f")).immutable);
  CHECK(code(file->write_at(0, as_bytes("y"))) == Errc::not_permitted);
  CHECK(code(file->set_mode(0644)) == Errc::not_permitted);
  CHECK(code(root->remove_file("f")) == Errc::not_permitted);
  CHECK(code(root->rename("f", *root, "g", RenameMode::replace)) == Errc::not_permitted);
  CHECK(code(root->link("f", *root, "g")) == Errc::not_permitted);
  CHECK(code(d->create_file("new")) == Errc::not_permitted);
  CHECK(code(d->remove_file("in")) == Errc::not_permitted);
  CHECK_FALSE(d->writable());
  fs.clear_immutable("f");
  good(root->remove_file("f"));
}

TEST_CASE("a mount is another device and stays in its place", "[fs][sim]") {
  SimFileSystem fs;
  auto root = fs.root();
  auto mounted = good(root->create_directory("m"));
  good(good(mounted->create_directory("sub"))->create_file("deep"));
  write(*root, "f", "");
  fs.mount("m");
  CHECK(good(root->stat_at("m")).mount_root);
  CHECK(good(mounted->stat_at("sub")).device != good(root->stat()).device);
  CHECK(code(root->rename("f", *mounted, "f", RenameMode::replace)) == Errc::cross_device);
  CHECK(code(root->link("f", *mounted, "f")) == Errc::cross_device);
  CHECK_FALSE(root->rename("m", *root, "n", RenameMode::replace));
  CHECK_FALSE(root->remove_directory("m"));
  // A sync of one device says nothing about the other.
  good(root->sync_file_system());
  CHECK(names(*good(fs.after_crash(k_lose).root()->open_directory("m"))).empty());
}

TEST_CASE("options take abilities away", "[fs][sim]") {
  SimFileSystem fs({.xattrs = false, .hard_links = false, .enforce_modes = true, .reports_sync_errors = false});
  auto root = fs.root();
  auto file = write(*root, "f", "x");
  CHECK(code(file->set_xattr("user.x", "y")) == Errc::unsupported);
  CHECK(good(file->xattrs()).empty());
  CHECK(code(root->link("f", *root, "g")) == Errc::not_permitted);
  CHECK_FALSE(root->sync_file_system_reports());
  auto d = good(root->create_directory("d"));
  good(d->set_mode(0555));
  CHECK(code(d->create_file("x")) == Errc::not_permitted);
  CHECK_FALSE(d->writable());
  good(d->set_mode(0));
  CHECK(code(root->open_directory("d")) == Errc::not_permitted);
  good(file->set_mode(0));
  CHECK(code(root->open_file("f", OpenMode::read)) == Errc::not_permitted);
}

TEST_CASE("a crash ends locks and keeps inode numbers unused before", "[fs][sim]") {
  SimFileSystem fs;
  auto root = fs.root();
  auto file = write(*root, "f", "");
  CHECK(good(file->try_lock(LockKind::exclusive, 0)));
  const std::uint64_t removed = good(write(*root, "gone", "")->stat()).inode;
  good(root->remove_file("gone"));
  const SimFileSystem crashed = fs.after_crash(k_keep);
  CHECK(good(crashed.root()->stat_at("f")).inode == good(file->stat()).inode);
  CHECK(good(good(crashed.root()->open_file("f", OpenMode::read_write))->try_lock(LockKind::exclusive, 0)));
  CHECK(good(write(*crashed.root(), "new", "")->stat()).inode > removed);
}

}  // namespace nb::fs::test
