// SPDX-License-Identifier: Apache-2.0
// Errors of the file system during a commit, and stages that later runs adopt.
#include <catch2/catch.hpp>
#include <cerrno>

#include "rich_disk.hpp"
#include "txn/small_file.hpp"

namespace nb::txn::test {
namespace {

using fs::CrashChoice;
using fs::SimEvent;
using fs::SimFileSystem;
using fs::SimOperation;

TEST_CASE("any one failing operation leaves the old or the new tree", "[txn][faults]") {
  const SimFileSystem base = rich_disk();
  SimFileSystem whole = base.after_crash(CrashChoice::keep_all());
  REQUIRE(change(whole));
  const int error = GENERATE(EIO, ENOSPC, EPERM);
  for (std::uint64_t n = 1; n <= whole.operations(); ++n) {
    SimFileSystem disk = base.after_crash(CrashChoice::keep_all());
    disk.fail_at(n, error);
    const auto result = change(disk);
    INFO("operation " << n << ": " << (result ? "ok" : result.error().message()));
    if (result) CHECK(is_tree(disk, rich_new()));
    if (!result && result.error().code == Errc::rolled_back) {
      const auto root = disk.root();
      INFO(show(read_tree(*root)));
      CHECK(is_tree(disk, rich_old()));
    }
    const auto generation = recover_at(disk.root());
    REQUIRE(generation);
    REQUIRE(is_tree(disk, *generation == 1 ? rich_old() : rich_new()));
    // And the set is still good for the next run.
    REQUIRE(change(disk, 3));
    REQUIRE(is_tree(disk, rich_new()));
    std::string leftovers;
    const auto root = disk.root();
    CHECK(is_clean(*root, leftovers));
    CHECK(leftovers == "");
  }
}

TEST_CASE("a failed sync of the stage poisons it", "[txn][faults]") {
  SimFileSystem disk = rich_disk();
  disk.on_operation([&disk](const SimEvent& event) mutable {
    if (event.kind == SimOperation::sync_file_system) disk.fail_at(event.number, EIO);
  });
  StepClock clock;
  {
    const auto set = FileSet::open(disk.root()).value();
    const auto lock = WriterLock::acquire(*set, note_for(tx_id(2)), std::chrono::seconds(0), clock).value();
    const auto transaction = Transaction::begin(*set, *lock, tx_id(2), clock).value();
    REQUIRE(plan(*transaction, *set, rich_new(), rich_untouched()));
    CHECK(transaction->commit({}).error().code == Errc::sync_failed);
    disk.on_operation({});
    // Not even when the disk is well again.
    CHECK(transaction->commit({}).error().code == Errc::sync_failed);
  }
  CHECK(is_tree(disk, rich_old()));
  const auto set = FileSet::open(disk.root()).value();
  const auto lock = WriterLock::acquire(*set, note_for(tx_id(3)), std::chrono::seconds(0), clock).value();
  const auto next = Transaction::begin(*set, *lock, tx_id(3), clock).value();
  CHECK(!next->has_resume_data());
  CHECK(next->next_slot() == 1);
}

TEST_CASE("the run whose sync failed can begin again under its name", "[txn][faults]") {
  SimFileSystem disk = rich_disk();
  const auto fail_syncs = [&disk](const SimEvent& event) mutable {
    if (event.kind == SimOperation::sync_file_system) disk.fail_at(event.number, EIO);
  };
  for (int i = 0; i < 3; ++i) {
    disk.on_operation(fail_syncs);
    CHECK(change(disk).error().code == Errc::sync_failed);
    disk.on_operation({});
  }
  REQUIRE(change(disk));
  std::string left;
  CHECK(is_clean(*disk.root(), left));
  CHECK(left == "");
}

TEST_CASE("a stage is given up even where its mark cannot be made", "[txn][faults]") {
  SimFileSystem disk = rich_disk();
  const bool renames_work = GENERATE(true, false);
  // The disk is full from the failed sync on, and in the worse case nothing can be renamed either.
  auto failed = std::make_shared<bool>(false);
  disk.on_operation([&disk, failed, renames_work](const SimEvent& event) mutable {
    if (event.kind == SimOperation::sync_file_system) *failed = true;
    const bool makes = event.kind == SimOperation::create_file || event.kind == SimOperation::sync_file_system;
    if (*failed && makes) disk.fail_at(event.number, ENOSPC);
    if (*failed && !renames_work && event.kind == SimOperation::rename) disk.fail_at(event.number, EIO);
  });
  CHECK(change(disk).error().code == Errc::sync_failed);
  disk.on_operation({});
  StepClock clock;
  const auto set = FileSet::open(disk.root()).value();
  {
    const auto lock = WriterLock::acquire(*set, note_for(tx_id(3)), std::chrono::seconds(0), clock).value();
    const auto next = Transaction::begin(*set, *lock, tx_id(3), clock).value();
    CHECK(!next->has_resume_data());
    REQUIRE(next->clean_up());
  }
  REQUIRE(change(disk, 4));
  std::string left;
  CHECK(is_clean(set->root(), left));
  CHECK(left == "");
}

TEST_CASE("what an earlier run staged is synced file by file before it counts", "[txn][faults]") {
  SimFileSystem disk = rich_disk();
  StepClock clock;
  {
    const auto set = FileSet::open(disk.root()).value();
    const auto lock = WriterLock::acquire(*set, note_for(tx_id(2)), std::chrono::seconds(0), clock).value();
    const auto transaction = Transaction::begin(*set, *lock, tx_id(2), clock).value();
    const std::uint64_t slot = transaction->next_slot();
    REQUIRE(write_new_file(transaction->slots(), Transaction::slot_name(slot), as_bytes("data")));
    REQUIRE(transaction->log_staged({RelPath::parse("n").value(), slot, false, 4, {}, {}, false, 0, {}}));
  }
  const std::string staged = ".nbackup/tx/" + id_text(tx_id(3)) + "/new/1";
  disk.on_operation([&disk, staged](const SimEvent& event) mutable {
    if (event.kind == SimOperation::sync_file && event.path == staged) disk.fail_at(event.number, EIO);
  });
  CHECK(change(disk, 3).error().code == Errc::sync_failed);
  CHECK(is_tree(disk, rich_old()));
}

TEST_CASE("a commit point that could not be synced is in doubt, and nothing is applied", "[txn][faults]") {
  SimFileSystem disk = rich_disk();
  auto armed = std::make_shared<bool>(false);
  disk.on_operation([&disk, armed](const SimEvent& event) mutable {
    if (event.kind == SimOperation::rename && event.new_path == ".nbackup/journal") *armed = true;
    if (*armed && event.kind == SimOperation::sync_directory) {
      disk.fail_at(event.number, EIO);
      *armed = false;
    }
  });
  const auto result = change(disk);
  REQUIRE(!result);
  CHECK(result.error().code == Errc::in_doubt);
  CHECK(is_tree(disk, rich_old()));
  const auto set = FileSet::open(disk.root()).value();
  CHECK(set->needs_recovery().value());
  CHECK(set->head().generation == 1);
  disk.on_operation({});
  CHECK(recover_at(disk.root()).value() == 2);
  CHECK(is_tree(disk, rich_new()));
}

TEST_CASE("clean_up does not touch what an unfinished commit needs", "[txn][faults]") {
  SimFileSystem disk = rich_disk();
  StepClock clock;
  const auto set = FileSet::open(disk.root()).value();
  {
    const auto lock = WriterLock::acquire(*set, note_for(tx_id(2)), std::chrono::seconds(0), clock).value();
    const auto transaction = Transaction::begin(*set, *lock, tx_id(2), clock).value();
    REQUIRE(plan(*transaction, *set, rich_new(), rich_untouched()));
    // Everything fails from the second operation after the commit point on, until it is over.
    auto dead = std::make_shared<bool>(false);
    disk.on_operation([&disk, dead](const SimEvent& event) mutable {
      if (*dead) disk.fail_at(event.number, EIO);
      if (event.kind == SimOperation::create_directory && event.path == ".nbackup/history/2.new") *dead = true;
    });
    REQUIRE(transaction->commit({}).error().code == Errc::recovery_failed);
    disk.on_operation({});
    CHECK(transaction->clean_up().error().code == Errc::recovery_failed);
  }
  CHECK(recover_at(disk.root()).value() == 2);
  CHECK(is_tree(disk, rich_new()));
}

TEST_CASE("a damaged journal stops everything and is kept", "[txn][faults]") {
  SimFileSystem disk = rich_disk();
  const auto control = disk.root()->open_directory(k_control_name).value();
  REQUIRE(write_new_file(*control, "journal", as_bytes("garbage")));
  CHECK(recover_at(disk.root()).error().code == Errc::recovery_failed);
  CHECK(change(disk).error().code == Errc::recovery_failed);
  CHECK(find_name(*control, "journal").value().has_value());
  CHECK(is_tree(disk, rich_old()));
}

TEST_CASE("a commit point that was passed in spite of an error is in doubt", "[txn][faults]") {
  SimFileSystem disk = rich_disk();
  // As where rename is a link and the removal of the old name, and the second fails.
  at_commit_point(disk, [&disk](const SimEvent& event) mutable {
    const auto control = disk.root()->open_directory(k_control_name).value();
    REQUIRE(control->link("journal.new", *control, "journal"));
    disk.fail_at(event.number, EIO);
  });
  CHECK(change(disk).error().code == Errc::in_doubt);
  disk.on_operation({});
  CHECK(is_tree(disk, rich_old()));
  CHECK(recover_at(disk.root()).value() == 2);
  CHECK(is_tree(disk, rich_new()));
}

TEST_CASE("a commit point that was not reached leaves nothing in doubt", "[txn][faults]") {
  SimFileSystem disk = rich_disk();
  at_commit_point(disk, [&disk](const SimEvent& event) mutable { disk.fail_at(event.number, EIO); });
  CHECK(change(disk).error().code == Errc::io);
  CHECK(recover_at(disk.root()).value() == 1);
}

// --- prepare ---

TEST_CASE("what can be known before is refused before the commit point", "[txn][prepare]") {
  for (const std::string target : {"c", "d", "m", "s", ""}) {
    SimFileSystem disk = rich_disk();
    disk.set_immutable(target);
    const auto result = change(disk);
    INFO(target);
    REQUIRE(!result);
    CHECK(result.error().code == Errc::not_permitted);
    CHECK(is_tree(disk, rich_old()));
    CHECK(FileSet::open(disk.root()).value()->needs_recovery().value() == false);
  }
  for (const bool same_file_system : {false, true}) {
    SimFileSystem disk = rich_disk();
    if (same_file_system) disk.bind("d");
    if (!same_file_system) disk.mount("d");
    CHECK(change(disk).error().code == Errc::cross_device);
  }
}

TEST_CASE("a change below another mount of the same file system is refused before the commit point", "[txn][prepare]") {
  SimFileSystem disk;
  Tree tree{{"", dir()}, {"m", dir()}, {"m/sub", dir()}, {"m/sub/f", file("old")}};
  make_set(disk.root(), tree, {});
  disk.bind("m");
  tree["m/sub/f"] = file("new");
  const auto result = run(disk.root(), tree, {}, tx_id(2));
  REQUIRE(!result);
  CHECK(result.error().code == Errc::cross_device);
  CHECK(result.error().context.find("m/sub") != std::string::npos);
}

TEST_CASE("a directory that cannot be opened up is named before the commit point", "[txn][prepare]") {
  fs::SimOptions options;
  options.enforce_modes = true;
  SimFileSystem disk = rich_disk(options);
  // As for a directory of somebody else.
  disk.on_operation([&disk](const SimEvent& event) mutable {
    if (event.kind == SimOperation::set_mode && event.path == "locked") disk.fail_at(event.number, EPERM);
  });
  StepClock clock;
  const auto set = FileSet::open(disk.root()).value();
  const auto lock = WriterLock::acquire(*set, note_for(tx_id(2)), std::chrono::seconds(0), clock).value();
  const auto transaction = Transaction::begin(*set, *lock, tx_id(2), clock).value();
  const auto parent = set->root().open_directory("locked").value();
  const Ident ident = ident_of(parent->stat_at("y").value());
  const Ident directory = ident_of(set->root().stat_at("locked").value());
  REQUIRE(transaction->add(OpenUp{RelPath::parse("locked").value(), directory, 0555, 0755}));
  REQUIRE(transaction->add(Remove{RelPath::parse("locked/y").value(), transaction->next_slot(), ident}));
  const auto result = transaction->commit({});
  REQUIRE(!result);
  CHECK(result.error().code == Errc::not_permitted);
  CHECK(result.error().context.find("locked") != std::string::npos);
}

TEST_CASE("a directory without write permission is refused unless it is opened up", "[txn][prepare]") {
  fs::SimOptions options;
  options.enforce_modes = true;
  SimFileSystem disk = rich_disk(options);
  StepClock clock;
  const auto set = FileSet::open(disk.root()).value();
  const auto lock = WriterLock::acquire(*set, note_for(tx_id(2)), std::chrono::seconds(0), clock).value();
  const auto transaction = Transaction::begin(*set, *lock, tx_id(2), clock).value();
  const auto parent = set->root().open_directory("locked").value();
  const Ident ident = ident_of(parent->stat_at("y").value());
  REQUIRE(transaction->add(Remove{RelPath::parse("locked/y").value(), transaction->next_slot(), ident}));
  CHECK(transaction->commit({}).error().code == Errc::not_permitted);
  const Ident directory = ident_of(set->root().stat_at("locked").value());
  REQUIRE(transaction->add(OpenUp{RelPath::parse("locked").value(), directory, 0555, 0755}));
  const auto result = transaction->commit({});
  REQUIRE(result);
  CHECK(!find_name(*parent, "y").value());
  CHECK(parent->stat().value().mode == 0555);
}

// --- resume ---

TEST_CASE("a later run adopts the stage, and no slot number is used twice", "[txn][resume]") {
  SimFileSystem disk = rich_disk();
  StepClock clock;
  std::uint64_t highest = 0;
  for (std::uint8_t number = 2; number < 5; ++number) {
    const auto set = FileSet::open(disk.root()).value();
    const auto lock = WriterLock::acquire(*set, note_for(tx_id(number)), std::chrono::seconds(0), clock).value();
    const auto transaction = Transaction::begin(*set, *lock, tx_id(number), clock).value();
    CHECK(transaction->has_resume_data() == (number > 2));
    if (number > 2) CHECK(transaction->find_staged(RelPath::parse("n").value()).value()->slot <= highest);
    const std::uint64_t slot = transaction->next_slot();
    CHECK(slot > highest);
    REQUIRE(plan(*transaction, *set, rich_new(), rich_untouched()));
    highest = transaction->next_slot() - 1;  // the last one in use
    REQUIRE(transaction->flush_log());
    const auto stages = set->control().open_directory("tx").value();
    CHECK(stages->list().value().size() == 1);
  }
  REQUIRE(change(disk, 5));
  CHECK(is_tree(disk, rich_new()));
}

TEST_CASE("a stage that prepare has closed is open again for the next run", "[txn][resume]") {
  fs::SimOptions options;
  options.enforce_modes = true;
  SimFileSystem disk = rich_disk(options);
  StepClock clock;
  {
    const auto set = FileSet::open(disk.root()).value();
    const auto reader = ReaderLock::acquire(*set, std::chrono::seconds(0), clock).value();
    const auto lock = WriterLock::acquire(*set, note_for(tx_id(2)), std::chrono::seconds(0), clock).value();
    const auto transaction = Transaction::begin(*set, *lock, tx_id(2), clock).value();
    REQUIRE(plan(*transaction, *set, rich_new(), rich_untouched()));
    CHECK(transaction->commit({}).error().code == Errc::readers_busy);
  }
  CHECK(is_tree(disk, rich_old()));
  const auto set = FileSet::open(disk.root()).value();
  const auto lock = WriterLock::acquire(*set, note_for(tx_id(3)), std::chrono::seconds(0), clock).value();
  const auto transaction = Transaction::begin(*set, *lock, tx_id(3), clock).value();
  const auto staged = transaction->find_staged(RelPath::parse("t").value()).value();
  REQUIRE(staged);
  CHECK(staged->is_tree);
  const auto top = transaction->slots().open_directory(Transaction::slot_name(staged->slot)).value();
  const auto sub = top->open_directory("sub").value();
  CHECK(write_new_file(*sub, "more", as_bytes("x")));
}

TEST_CASE("the same commit can be tried again when readers have gone", "[txn][resume]") {
  fs::SimOptions options;
  options.enforce_modes = true;
  SimFileSystem disk = rich_disk(options);
  StepClock clock;
  const auto set = FileSet::open(disk.root()).value();
  auto reader = ReaderLock::acquire(*set, std::chrono::seconds(0), clock).value();
  const auto lock = WriterLock::acquire(*set, note_for(tx_id(2)), std::chrono::seconds(0), clock).value();
  const auto transaction = Transaction::begin(*set, *lock, tx_id(2), clock).value();
  REQUIRE(plan(*transaction, *set, rich_new(), rich_untouched()));
  CHECK(transaction->commit({}).error().code == Errc::readers_busy);
  CHECK(is_tree(disk, rich_old()));
  reader.reset();
  const auto result = transaction->commit({});
  INFO((result ? "" : result.error().message()));
  REQUIRE(result);
  CHECK(is_tree(disk, rich_new()));
}

TEST_CASE("nothing to do makes no generation", "[txn]") {
  SimFileSystem disk = rich_disk();
  const auto result = run(disk.root(), rich_old(), {"locked"}, tx_id(2));
  REQUIRE(result);
  CHECK(!result->changed);
  CHECK(result->generation == 1);
}

TEST_CASE("a transaction that is committed cannot begin again", "[txn]") {
  SimFileSystem disk = rich_disk();
  CHECK(change(disk, 1).error().code == Errc::exists);
}

TEST_CASE("an interrupt right before the commit point is the last that counts", "[txn]") {
  SimFileSystem disk = rich_disk();
  CommitOptions options;
  bool at_commit_point = false;
  options.on_commit_point = [&] { at_commit_point = true; };
  SECTION("before it nothing is committed") {
    options.go_on = [&] {
      // Late enough: everything but the journal's name is there.
      return !find_name(*disk.root()->open_directory(k_control_name).value(), "journal.new").value();
    };
    CHECK(run(disk.root(), rich_new(), rich_untouched(), tx_id(2), options).error().code == Errc::interrupted);
    CHECK(!at_commit_point);
    CHECK(recover_at(disk.root()).value() == 1);
    CHECK(is_tree(disk, rich_old()));
  }
  SECTION("after it everything is") {
    options.go_on = [&] { return !at_commit_point; };
    CHECK(run(disk.root(), rich_new(), rich_untouched(), tx_id(2), options));
    CHECK(is_tree(disk, rich_new()));
  }
}

TEST_CASE("the callbacks come in order, the commit point before the journal has its name", "[txn]") {
  SimFileSystem disk = rich_disk();
  std::string order;
  CommitOptions options;
  options.on_phase = [&](CommitPhase phase) { order += std::to_string(static_cast<int>(phase)); };
  options.on_commit_point = [&] {
    order += "!";
    const auto control = disk.root()->open_directory(k_control_name).value();
    CHECK(!find_name(*control, "journal").value());
    CHECK(find_name(*control, "journal.new").value());
  };
  REQUIRE(run(disk.root(), rich_new(), rich_untouched(), tx_id(2), options));
  CHECK(order == "01!2");
}

}  // namespace
}  // namespace nb::txn::test
