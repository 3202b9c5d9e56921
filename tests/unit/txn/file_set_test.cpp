// SPDX-License-Identifier: Apache-2.0
// Making, opening and removing the control directory.
#include <catch2/catch.hpp>

#include "fs/metadata.hpp"
#include "fs/sim_directory.hpp"
#include "tree.hpp"
#include "txn/small_file.hpp"

namespace nb::txn::test {
namespace {

using fs::CrashChoice;
using fs::SimFileSystem;

Status make(const SimFileSystem& disk) {
  const auto made = FileSet::create(disk.root(), Lifetime::permanent, test_secret());
  return made ? Status() : tl::make_unexpected(made.error());
}

TEST_CASE("a new set opens with what it was made with", "[txn][set]") {
  const SimFileSystem disk;
  REQUIRE(make(disk));
  const auto set = FileSet::open(disk.root()).value();
  CHECK(set->head().generation == 0);
  CHECK(set->head().recent.empty());
  CHECK(set->format().lifetime == Lifetime::permanent);
  CHECK(set->format().uuid != Uuid{});
  CHECK(set->secret().id() == test_secret().id());
  CHECK(set->needs_recovery().value() == false);
  CHECK(disk.root()->stat_at(k_control_name).value().mode == 0700);
  CHECK(make(disk).error().code == Errc::exists);
}

TEST_CASE("a set is there whole or not at all", "[txn][set][crash]") {
  SimFileSystem probe;
  REQUIRE(make(probe));
  for (std::uint64_t n = 1; n <= probe.operations() + 1; ++n) {
    SimFileSystem disk;
    disk.die_at(n);
    const bool reported = make(disk).has_value();
    for (const CrashChoice choice :
         {CrashChoice::lose_all(), CrashChoice::keep_all(), CrashChoice::random(n), CrashChoice::random(n + 1000)}) {
      const SimFileSystem left = disk.after_crash(choice);
      auto set = FileSet::open(left.root());
      INFO("operation " << n << (set ? "" : ": " + set.error().message()));
      if (!set) {
        REQUIRE(FileSet::is_gone(set.error()));
        REQUIRE(!reported);
        REQUIRE(make(left));
      }
      const auto root = left.root();
      REQUIRE(root->list().value().size() == 1);
      REQUIRE(FileSet::open(left.root()));
    }
  }
}

TEST_CASE("somebody's own files under the temporary name are not removed", "[txn][set]") {
  const SimFileSystem disk;
  const auto root = disk.root();
  const auto theirs = root->create_directory(".nbackup.new").value();
  REQUIRE(write_new_file(*theirs, "thesis", as_bytes("x")));
  CHECK(make(disk).error().code == Errc::exists);
  CHECK(find_name(*theirs, "thesis").value());
}

// docs/formats.md, "The control directory".
TEST_CASE("whatever a set may hold, what is left of its removal is removed", "[txn][set]") {
  const SimFileSystem disk;
  const auto root = disk.root();
  const auto left = root->create_directory(".nbackup.new").value();
  for (const char* name : {"arrivals", "conflict", "history", "lost", "tx"}) REQUIRE(left->create_directory(name));
  for (const char* name : {"beside",
                           "contents.db",
                           "contents.db-wal",
                           "damage",
                           "damage.new",
                           "format.damaged",
                           "head.new",
                           "journal",
                           "journal.new",
                           "journal.undo",
                           "kept.db",
                           "kept.db-shm",
                           "lock",
                           "manifest.db.lock",
                           "manifest.db.damaged-1",
                           "past",
                           "policy",
                           "policy.new",
                           "scrub",
                           "scrub.new",
                           "secret",
                           "secret.new",
                           "spare",
                           "spare.new"}) {
    REQUIRE(write_new_file(*left, name, {}));
  }
  CHECK(make(disk));
  CHECK(root->list().value().size() == 1);
}

TEST_CASE("a set whose name cannot be given is taken back", "[txn][set]") {
  SimFileSystem disk;
  disk.on_operation([&disk](const fs::SimEvent& event) mutable {
    if (event.kind == fs::SimOperation::rename) disk.fail_at(event.number, EIO);
  });
  CHECK(make(disk).error().code == Errc::io);
  CHECK(disk.root()->list().value().empty());
}

TEST_CASE("one maker of a set does not take another's away", "[txn][set]") {
  SimFileSystem disk;
  disk.on_operation([&disk](const fs::SimEvent& event) mutable {
    if (event.kind != fs::SimOperation::create_file) return;
    // The other one took ours, which is not locked yet, for a leftover.
    const auto root = disk.root();
    REQUIRE(fs::remove_tree(*root, ".nbackup.new"));
    REQUIRE(root->create_directory(".nbackup.new").value()->create_file("lock"));
  });
  CHECK(!make(disk));
  CHECK(find_name(*disk.root(), ".nbackup.new").value());
}

TEST_CASE("two processes do not make one set at the same time", "[txn][set]") {
  const SimFileSystem disk;
  const auto temporary = disk.root()->create_directory(".nbackup.new").value();
  auto lock = temporary->create_file("lock").value();
  REQUIRE(lock->try_lock(fs::LockKind::exclusive, 0).value());
  CHECK(make(disk).error().code == Errc::locked);
  lock.reset();
  CHECK(make(disk));
}

TEST_CASE("damage to a set's records is found", "[txn][set]") {
  for (const std::string_view name : {"format", "head", "secret"}) {
    const SimFileSystem disk;
    REQUIRE(make(disk));
    const auto control = disk.root()->open_directory(k_control_name).value();
    {
      const auto file = control->open_file(name, fs::OpenMode::read_write).value();
      REQUIRE(file->write_at(20, as_bytes("?")));
    }
    INFO(name);
    CHECK(FileSet::open(disk.root()).error().code == Errc::bad_set);
    REQUIRE(control->remove_file(name));
    CHECK(FileSet::open(disk.root()).error().code == Errc::bad_set);
  }
  CHECK(FileSet::is_gone(FileSet::open(SimFileSystem().root()).error()));
}

TEST_CASE("removing the control directory is safe to interrupt", "[txn][set][crash]") {
  SimFileSystem base;
  REQUIRE(make(base));
  base = base.after_crash(CrashChoice::keep_all());
  for (std::uint64_t n = 1;; ++n) {
    SimFileSystem disk = base.after_crash(CrashChoice::keep_all());
    disk.die_at(n);
    const bool done = FileSet::open(disk.root()).value()->remove_control().has_value();
    for (const CrashChoice choice : {CrashChoice::lose_all(), CrashChoice::keep_all(), CrashChoice::random(n)}) {
      const SimFileSystem left = disk.after_crash(choice);
      const auto set = FileSet::open(left.root());
      INFO("operation " << n << (set ? "" : ": " + set.error().message()));
      CHECK((set || FileSet::is_gone(set.error())));
      if (set) CHECK(!done);
      if (!set) CHECK(make(left));
    }
    if (done) break;
  }
}

}  // namespace
}  // namespace nb::txn::test
