// SPDX-License-Identifier: Apache-2.0
// What single syncs and checks are there for: each test here fails if one of them is left out (scripts/mutate). Beside
// crash_test, which cuts the power everywhere, these are the situations that need something special to happen before.
#include <catch2/catch.hpp>
#include <cerrno>
#include <memory>

#include "fs/sim_directory.hpp"
#include "sim_options.hpp"
#include "tree.hpp"
#include "txn/journal.hpp"
#include "txn/record_file.hpp"
#include "txn/small_file.hpp"

namespace nb::txn::test {
namespace {

using fs::CrashChoice;
using fs::SimEvent;
using fs::SimFileSystem;
using fs::SimOperation;

SimFileSystem rich_disk(fs::SimOptions options = {}) {
  SimFileSystem disk(options);
  make_set(disk.root(), rich_old(), rich_untouched());
  return disk.after_crash(CrashChoice::keep_all());
}

Result<CommitOutcome> change(const SimFileSystem& disk, std::uint8_t number = 2) {
  return run(disk.root(), rich_new(), rich_untouched(), tx_id(number));
}

bool is_tree(const SimFileSystem& disk, const Tree& expected) {
  const auto root = disk.root();
  return read_tree(*root, expected, rich_untouched()) == expected;
}

// What a power cut may leave, for the point with this number.
std::vector<CrashChoice> choices(std::uint64_t number) {
  return {CrashChoice::lose_all(), CrashChoice::keep_all(), CrashChoice::random(2 * number),
          CrashChoice::random(2 * number + 1)};
}

// Empty if the set recovers to the old or the new tree.
std::string judge(const SimFileSystem& disk, const Tree& after = rich_new()) {
  const Tree before = rich_old();
  const auto generation = recover_at(disk.root());
  if (!generation) return generation.error().message();
  const Tree& expected = *generation == 1 ? before : after;
  const auto root = disk.root();
  const Tree found = read_tree(*root, expected, rich_untouched());
  return found == expected ? std::string() : "a mix\n" + show(found) + "expected\n" + show(expected);
}

// Calls `action` with each event of this kind, until it says that it is done.
void on_first(SimFileSystem& disk, SimOperation kind, const std::function<bool(const SimEvent&)>& action) {
  disk.on_operation([kind, action, done = std::make_shared<bool>(false)](const SimEvent& event) {
    if (event.kind == kind && !*done) *done = action(event);
  });
}

// --- Where syncfs does not tell ---

// Symlinks cannot be synced by themselves, so their times depend on syncfs whatever it tells.
Tree new_without_symlinks() {
  Tree tree = rich_new();
  std::erase_if(tree, [](const auto& each) { return each.second.type == fs::FileType::symlink; });
  return tree;
}

TEST_CASE("what is synced by itself is enough where syncfs does not tell", "[txn][crash]") {
  const SimFileSystem base = rich_disk(without_reports());
  const Tree wanted = new_without_symlinks();
  for (std::uint64_t n = 1;; ++n) {
    SimFileSystem disk = base.after_crash(CrashChoice::keep_all());
    disk.ignore(SimOperation::sync_file_system);
    disk.die_at(n);
    const bool done = run(disk.root(), wanted, rich_untouched(), tx_id(2)).has_value();
    for (const CrashChoice& choice : choices(n)) {
      const std::string verdict = judge(disk.after_crash(choice), wanted);
      if (!verdict.empty()) FAIL("operation " << n << ": " << verdict);
    }
    if (done) break;
  }
}

TEST_CASE("a failed fsync poisons the stage where syncfs does not tell", "[txn][faults]") {
  SimFileSystem disk = rich_disk(without_reports());
  on_first(disk, SimOperation::sync_file, [&disk](const SimEvent& event) mutable {
    const bool staged = event.path.find("/new/") != std::string::npos;
    if (staged) disk.fail_at(event.number, EIO);
    return staged;
  });
  const auto result = change(disk);
  REQUIRE(!result);
  CHECK(result.error().code == Errc::sync_failed);
  CHECK(is_tree(disk, rich_old()));
}

TEST_CASE("a file that cannot be synced makes the commit unsure where syncfs does not tell", "[txn][faults]") {
  SimFileSystem disk = rich_disk(without_reports());
  on_first(disk, SimOperation::sync_file, [&disk](const SimEvent& event) mutable {
    const bool staged = event.path.find("/new/") != std::string::npos;
    if (staged) disk.fail_at(event.number, EINVAL);
    return staged;
  });
  const auto result = change(disk);
  REQUIRE(result);
  CHECK(!result->durable);
}

// --- Recovery of what was never synced ---

struct Killed {};

// As if the process had been killed right after it gave the journal its name: nothing of that is synced.
void die_at_commit_point(const SimFileSystem& disk) {
  CommitOptions options;
  options.on_commit_point = [] { throw Killed{}; };
  REQUIRE_THROWS_AS(run(disk.root(), rich_new(), rich_untouched(), tx_id(2), options), Killed);
  const auto control = disk.root()->open_directory(k_control_name).value();
  REQUIRE(control->rename(k_journal_new_name, *control, k_journal_name, fs::RenameMode::no_replace));
}

TEST_CASE("nothing is applied before a journal found after a kill is durable", "[txn][crash]") {
  for (std::uint64_t n = 1;; ++n) {
    SimFileSystem disk = rich_disk();
    die_at_commit_point(disk);
    disk.die_at(disk.operations() + n);
    const bool done = recover_at(disk.root()).has_value();
    for (const CrashChoice& choice : choices(n)) {
      const std::string verdict = judge(disk.after_crash(choice));
      if (!verdict.empty()) FAIL("operation " << n << " of the recovery: " << verdict);
    }
    if (done) break;
  }
}

TEST_CASE("a journal that cannot be made durable stays in doubt", "[txn][faults]") {
  SimFileSystem disk = rich_disk();
  die_at_commit_point(disk);
  disk.on_operation([&disk](const SimEvent& event) mutable {
    if (event.kind == SimOperation::sync_directory && event.path == k_control_name) disk.fail_at(event.number, EIO);
  });
  const auto recovered = recover_at(disk.root());
  REQUIRE(!recovered);
  CHECK(recovered.error().code == Errc::in_doubt);
  CHECK(is_tree(disk, rich_old()));
}

TEST_CASE("a rollback is over before the next run begins", "[txn][undo][crash]") {
  for (std::uint64_t n = 1;; ++n) {
    SimFileSystem disk = rich_disk();
    disk.on_operation([&disk](const SimEvent& event) mutable {
      if (event.kind == SimOperation::rename && event.new_path == ".nbackup/journal") disk.set_immutable("m");
    });
    REQUIRE(change(disk).error().code == Errc::rolled_back);
    disk.on_operation({});
    disk.clear_immutable("m");
    disk.die_at(disk.operations() + n);
    const bool done = change(disk, 3).has_value();
    for (const CrashChoice& choice : choices(n)) {
      const std::string verdict = judge(disk.after_crash(choice));
      if (!verdict.empty()) FAIL("operation " << n << " of the next run: " << verdict);
    }
    if (done) break;
  }
}

// --- What does not belong here ---

void put_journal(const SimFileSystem& disk, const JournalHeader& header, ByteView op) {
  const auto control = disk.root()->open_directory(k_control_name).value();
  auto journal = JournalWriter::create(*control, header);
  REQUIRE(journal);
  REQUIRE(journal->append(op));
  REQUIRE(journal->finish());
  REQUIRE(control->rename(k_journal_new_name, *control, k_journal_name, fs::RenameMode::no_replace));
}

// A header that fits the set; its stage exists.
JournalHeader fitting_header(const SimFileSystem& disk) {
  const auto set = FileSet::open(disk.root()).value();
  StepClock clock;
  const auto lock = WriterLock::acquire(*set, note_for(tx_id(2)), std::chrono::seconds(0), clock).value();
  REQUIRE(Transaction::begin(*set, *lock, tx_id(2), clock));
  JournalHeader header;
  header.transaction = tx_id(2);
  header.set = set->format().uuid;
  header.generation = set->head().generation + 1;
  return header;
}

Bytes removal_of_a(const SimFileSystem& disk) {
  return encode(JournalOp(Remove{RelPath::parse("a").value(), 1, ident_of(disk.root()->stat_at("a").value())}));
}

TEST_CASE("a journal of another set or generation is left alone", "[txn][journal]") {
  const SimFileSystem disk = rich_disk();
  JournalHeader header = fitting_header(disk);
  const int which = GENERATE(0, 1, 2);
  if (which == 0) header.set[0] ^= std::byte{1};
  if (which == 1) ++header.generation;
  put_journal(disk, header, removal_of_a(disk));
  const auto recovered = recover_at(disk.root());
  if (which == 2) {
    CHECK(recovered);
    CHECK(!find_name(*disk.root(), "a").value());
  } else {
    REQUIRE(!recovered);
    CHECK(recovered.error().code == Errc::recovery_failed);
    CHECK(is_tree(disk, rich_old()));
  }
}

TEST_CASE("a journal with an operation of a later version is refused as a whole", "[txn][journal]") {
  const SimFileSystem disk = rich_disk();
  put_journal(disk, fitting_header(disk), Bytes{std::byte{0x7f}});
  const auto control = disk.root()->open_directory(k_control_name).value();
  REQUIRE(!Journal::open(*control, k_journal_name));
  CHECK(Journal::open(*control, k_journal_name).error().code == Errc::bad_set);
}

TEST_CASE("a journal whose footer counts wrong is refused", "[txn][journal]") {
  const SimFileSystem disk;
  const auto root = disk.root();
  auto journal = JournalWriter::create(*root, {});
  REQUIRE(journal);
  REQUIRE(journal->finish());
  const auto file = root->open_file(k_journal_new_name, fs::OpenMode::read).value();
  RecordCursor cursor(*file, 0, file->stat().value().size);
  RecordWriter writer(root->create_file("other").value(), 0);
  REQUIRE(writer.append(*cursor.next().value()));
  const ByteView view = *cursor.next().value();
  Bytes footer(view.begin(), view.end());
  footer[1] = std::byte{1};  // kind, count, fold
  REQUIRE(writer.append(footer));
  REQUIRE(writer.flush());
  CHECK(Journal::open(*root, k_journal_new_name));
  CHECK(!Journal::open(*root, "other"));
}

TEST_CASE("a staged file that is gone or another is found before the commit point", "[txn][prepare]") {
  const SimFileSystem disk = rich_disk();
  StepClock clock;
  const auto set = FileSet::open(disk.root()).value();
  const auto lock = WriterLock::acquire(*set, note_for(tx_id(2)), std::chrono::seconds(0), clock).value();
  const auto transaction = Transaction::begin(*set, *lock, tx_id(2), clock).value();
  const std::uint64_t slot = transaction->next_slot();
  const std::string name = Transaction::slot_name(slot);
  REQUIRE(write_new_file(transaction->slots(), name, as_bytes("content")));
  const Ident staged = ident_of(transaction->slots().stat_at(name).value());
  REQUIRE(transaction->add(Place{RelPath::parse("fresh").value(), slot, staged, std::nullopt}));
  REQUIRE(transaction->slots().remove_file(name));
  if (GENERATE(true, false)) REQUIRE(write_new_file(transaction->slots(), name, as_bytes("something else")));
  CHECK(transaction->commit({}).error().code == Errc::internal);
  CHECK(!find_name(set->control(), k_journal_name).value());
  CHECK(is_tree(disk, rich_old()));
}

TEST_CASE("the stage of a committed transaction is no resume data", "[txn][resume]") {
  const SimFileSystem disk = rich_disk();
  StepClock clock;
  const auto set = FileSet::open(disk.root()).value();
  const auto lock = WriterLock::acquire(*set, note_for(tx_id(2)), std::chrono::seconds(0), clock).value();
  {
    const auto transaction = Transaction::begin(*set, *lock, tx_id(2), clock).value();
    const std::uint64_t slot = transaction->next_slot();
    const std::string name = Transaction::slot_name(slot);
    REQUIRE(write_new_file(transaction->slots(), name, as_bytes("content")));
    const Ident staged = ident_of(transaction->slots().stat_at(name).value());
    const RelPath path = RelPath::parse("fresh").value();
    REQUIRE(transaction->log_staged({path, slot, false, staged.size, staged.mtime, {}, false, 0, {}}));
    REQUIRE(transaction->add(Place{path, slot, staged, std::nullopt}));
    REQUIRE(transaction->commit({}));
  }
  CHECK(!Transaction::begin(*set, *lock, tx_id(3), clock).value()->has_resume_data());
}

// --- Other people's files, and the end of a set ---

bool holds(const fs::Directory& directory, std::string_view content) {
  const std::vector<fs::NamedType> entries = directory.list().value();
  for (const fs::NamedType& each : entries) {
    if (each.type == fs::FileType::directory) {
      if (holds(*directory.open_directory(each.name).value(), content)) return true;
    } else if (each.type == fs::FileType::regular) {
      if (as_text(read_small_file(directory, each.name).value_or(Bytes())) == content) return true;
    }
  }
  return false;
}

constexpr std::string_view k_foreign = "somebody else's, and safe on the disk";

// Replaces "a" right before the journal gets its name, durably.
void edit_at_commit_point(SimFileSystem& disk) {
  on_first(disk, SimOperation::rename, [&disk](const SimEvent& event) {
    if (event.new_path != ".nbackup/journal") return false;
    const auto root = disk.root();
    REQUIRE(root->remove_file("a"));
    REQUIRE(write_new_file(*root, "a", as_bytes(k_foreign)));
    REQUIRE(root->sync());
    return true;
  });
}

TEST_CASE("a foreign edit outlives a crash at any operation", "[txn][conflict][crash]") {
  const SimFileSystem base = rich_disk();
  for (std::uint64_t n = 1;; ++n) {
    SimFileSystem disk = base.after_crash(CrashChoice::keep_all());
    disk.die_at(n);
    edit_at_commit_point(disk);
    const bool done = change(disk).has_value();
    const bool was_there = holds(*disk.after_crash(CrashChoice::lose_all()).root(), k_foreign);
    for (std::uint64_t i = 0; i < 8; ++i) {
      const SimFileSystem left = disk.after_crash(CrashChoice::random(n * 8 + i));
      INFO("operation " << n << ", loss " << i);
      const bool before = holds(*left.root(), k_foreign);
      if (was_there) REQUIRE(before);
      const auto recovered = recover_at(left.root());
      if (!recovered) FAIL(recovered.error().message());
      if (before) REQUIRE(holds(*left.root(), k_foreign));
    }
    if (done) break;
  }
}

TEST_CASE("a control directory that is removed stays removed", "[txn][set][crash]") {
  const SimFileSystem disk;
  const auto set = FileSet::create(disk.root(), Lifetime::ephemeral, test_secret()).value();
  REQUIRE(set->remove_control());
  const auto names = disk.after_crash(CrashChoice::lose_all()).root()->list().value();
  CHECK(names.empty());
}

}  // namespace
}  // namespace nb::txn::test
