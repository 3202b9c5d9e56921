// SPDX-License-Identifier: Apache-2.0
// Other people's edits between plan and apply.
#include <catch2/catch.hpp>

#include "rich_disk.hpp"
#include "txn/small_file.hpp"

namespace nb::txn::test {
namespace {

using fs::SimEvent;
using fs::SimFileSystem;
using fs::SimOperation;

std::string content_at(fs::Directory& root, const std::string& path) {
  const RelPath rel = RelPath::parse(path).value();
  const auto parent = rel.parent().is_root() ? root.reopen().value() : root.open_directory_path(rel.parent()).value();
  const Bytes bytes = read_small_file(*parent, rel.name()).value();
  return std::string(as_text(bytes));
}

enum class Edit { replace, rewrite, remove, make_directory };

void edit(fs::Directory& root, const std::string& name, Edit how) {
  if (how == Edit::rewrite) {
    const auto file = root.open_file(name, fs::OpenMode::read_write).value();
    REQUIRE(file->write_at(0, as_bytes("somebody was here")));
    return;
  }
  if (find_name(root, name).value()) REQUIRE(root.rename(name, root, "moved-away", fs::RenameMode::replace));
  if (how == Edit::replace) REQUIRE(write_new_file(root, name, as_bytes("foreign")));
  if (how == Edit::make_directory) {
    const auto made = root.create_directory(name).value();
    REQUIRE(write_new_file(*made, "inside", as_bytes("foreign")));
  }
}

TEST_CASE("a foreign edit of what is replaced or removed is kept aside and reported", "[txn][conflict]") {
  const Edit how = GENERATE(Edit::replace, Edit::rewrite, Edit::make_directory);
  // Replaced, removed, new, file to directory, directory to file, cycle.
  for (const std::string name : {"c", "d", "n", "e", "f", "a", "g", "t"}) {
    if (how == Edit::rewrite && name != "c" && name != "e") continue;
    SimFileSystem disk = rich_disk();
    at_commit_point(disk, [&disk, name, how](const SimEvent&) { edit(*disk.root(), name, how); });
    const auto result = change(disk);
    INFO(name << " " << static_cast<int>(how) << " " << (result ? "ok" : result.error().message()));
    REQUIRE(result);
    CHECK(result->generation == 2);
    CHECK(result->conflicts == std::vector<RelPath>{RelPath::parse(name).value()});
    const auto root = disk.root();
    Tree found = read_tree(*root, rich_new(), rich_untouched());
    found.erase("moved-away");
    std::erase_if(found, [](const auto& each) { return each.first.starts_with("moved-away/"); });
    INFO(show(found));
    CHECK(found == rich_new());
    // The foreign content is under conflict/, whatever its slot is.
    const std::string kept = ".nbackup/conflict/" + id_text(tx_id(2));
    const auto conflicts = root->open_directory_path(RelPath::parse(kept).value()).value();
    const auto entries = conflicts->list().value();
    REQUIRE(entries.size() == 2);
    CHECK(content_at(*root, kept + "/" + entries[1].name) == name + "\n");
    if (how == Edit::replace) CHECK(content_at(*root, kept + "/" + entries[0].name) == "foreign");
    if (how == Edit::make_directory) CHECK(content_at(*root, kept + "/" + entries[0].name + "/inside") == "foreign");
    if (how == Edit::rewrite) CHECK(content_at(*root, kept + "/" + entries[0].name).starts_with("somebody was here"));
  }
}

TEST_CASE("a foreign edit that goes by itself is no conflict", "[txn][conflict]") {
  for (const std::string name : {"c", "n", "d"}) {
    SimFileSystem disk = rich_disk();
    at_commit_point(disk, [&disk, name](const SimEvent&) {
      edit(*disk.root(), name, Edit::replace);
      disk.on_operation([&disk, name](const SimEvent& later) {
        const bool is_taken = later.kind == SimOperation::rename && later.path == name &&
                              later.new_path.find("/conflict/") != std::string::npos;
        if (is_taken) REQUIRE(disk.root()->remove_file(name));
      });
    });
    const auto result = change(disk);
    INFO(name << " " << (result ? "ok" : result.error().message()));
    REQUIRE(result);
    CHECK(result->generation == 2);
    CHECK(result->conflicts.empty());
    const auto root = disk.root();
    CHECK_FALSE(root->open_directory(k_control_name).value()->stat_at("conflict"));
    Tree found = read_tree(*root, rich_new(), rich_untouched());
    std::erase_if(found, [](const auto& each) { return each.first.starts_with("moved-away"); });
    INFO(show(found));
    CHECK(found == rich_new());
  }
}

TEST_CASE("a recovery that is through says so, whatever has become of the notes", "[txn][conflict]") {
  SimFileSystem disk = rich_disk();
  at_commit_point(disk, [&disk](const SimEvent& event) mutable { disk.die_at(event.number + 1); });
  CHECK(!change(disk));
  SimFileSystem left = disk.after_crash(fs::CrashChoice::keep_all());
  edit(*left.root(), "c", Edit::replace);
  // Somebody writes into the note as soon as it is there.
  left.on_operation([&left](const SimEvent& event) {
    if (event.kind != SimOperation::rename || event.path != "c") return;
    const RelPath place = RelPath::parse(".nbackup/conflict/" + id_text(tx_id(2))).value();
    const auto kept = left.root()->open_directory_path(place).value();
    const std::vector<fs::NamedType> entries = kept->list().value();
    for (const fs::NamedType& entry : entries) {
      REQUIRE(kept->open_file(entry.name, fs::OpenMode::read_write).value()->set_size(0));
    }
  });
  StepClock clock;
  const auto set = FileSet::open(left.root()).value();
  const auto lock = WriterLock::acquire(*set, note_for(tx_id(3)), std::chrono::seconds(0), clock).value();
  const auto report = recover(*set, *lock, clock);
  REQUIRE(report);
  CHECK(report->action == RecoveryAction::completed);
  REQUIRE(report->conflicts.size() == 1);
  CHECK(report->conflicts[0].str().find(".nbackup/conflict/" + id_text(tx_id(2))) == 0);
}

TEST_CASE("a foreign edit through a link that is staged is rolled back from", "[txn][conflict][undo]") {
  // The new b is a link to the present a: what is written there now is in neither generation.
  SimFileSystem disk = rich_disk();
  at_commit_point(disk, [&disk](const SimEvent&) { edit(*disk.root(), "a", Edit::rewrite); });
  const auto result = change(disk);
  REQUIRE(!result);
  CHECK(result.error().code == Errc::rolled_back);
  const auto root = disk.root();
  Tree found = read_tree(*root, rich_old(), rich_untouched());
  CHECK(found["a"].content == "somebody was here");
  found["a"] = rich_old()["a"];
  CHECK(found == rich_old());
}

TEST_CASE("what somebody removed is no obstacle", "[txn][conflict]") {
  for (const std::string name : {"c", "d", "e", "f", "a", "m", "r", "s"}) {
    SimFileSystem disk = rich_disk();
    at_commit_point(disk, [&disk, name](const SimEvent&) { edit(*disk.root(), name, Edit::remove); });
    const auto result = change(disk);
    INFO(name << " " << (result ? "ok" : result.error().message()));
    REQUIRE(result);
    CHECK(result->conflicts.empty());
    const auto root = disk.root();
    const Tree found = read_tree(*root, rich_new(), rich_untouched());
    // What is only changed in place is gone, everything else is as wanted.
    for (const auto& [path, entry] : rich_new()) {
      const bool gone = (name == "m" && path == "m") || (name == "s" && path.starts_with("s"));
      INFO(path);
      CHECK(found.contains(path) == !gone);
    }
  }
}

TEST_CASE("a foreign file where only metadata change is left alone and reported", "[txn][conflict]") {
  const Edit how = GENERATE(Edit::replace, Edit::rewrite);
  SimFileSystem disk = rich_disk();
  at_commit_point(disk, [&disk, how](const SimEvent&) { edit(*disk.root(), "m", how); });
  const auto result = change(disk);
  REQUIRE(result);
  CHECK(result->conflicts == std::vector<RelPath>{RelPath::parse("m").value()});
  const auto root = disk.root();
  CHECK(content_at(*root, "m").starts_with(how == Edit::replace ? "foreign" : "somebody was here"));
  CHECK(root->stat_at("m").value().mtime.sec != rich_new()["m"].mtime);
}

TEST_CASE("a directory that somebody took away is rolled back from", "[txn][conflict]") {
  SimFileSystem disk = rich_disk();
  at_commit_point(disk, [&disk](const SimEvent&) {
    const auto root = disk.root();
    REQUIRE(root->rename("locked", *root, "moved-away", fs::RenameMode::no_replace));
  });
  const auto result = change(disk);
  REQUIRE(!result);
  CHECK(result.error().code == Errc::rolled_back);
  disk.on_operation({});
  const auto root = disk.root();
  REQUIRE(root->rename("moved-away", *root, "locked", fs::RenameMode::no_replace));
  CHECK(recover_at(disk.root()).value() == 1);
  // The root's own time is that of the renames above.
  CHECK(read_tree(*root, rich_old(), {"locked", ""}) == rich_old());
}

TEST_CASE("a foreign edit is put back by a rollback", "[txn][conflict][undo]") {
  SimFileSystem disk = rich_disk();
  at_commit_point(disk, [&disk](const SimEvent&) mutable {
    edit(*disk.root(), "c", Edit::replace);
    disk.set_immutable("m");
  });
  const auto result = change(disk);
  REQUIRE(!result);
  CHECK(result.error().code == Errc::rolled_back);
  const auto root = disk.root();
  CHECK(content_at(*root, "c") == "foreign");
  CHECK(content_at(*root, "moved-away") == "c before");
}

}  // namespace
}  // namespace nb::txn::test
