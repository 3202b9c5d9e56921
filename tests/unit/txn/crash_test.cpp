// SPDX-License-Identifier: Apache-2.0
// The power is cut at every operation of a run that needs every kind of journal operation, and again at every
// operation of the recovery from that; what was not synced is lost, kept, or both by chance. Afterwards the tree is the
// old one or the new one, to the last mode bit.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <functional>

#include "fs/sim_directory.hpp"
#include "sim_options.hpp"
#include "tree.hpp"
#include "txn/journal.hpp"
#include "txn/past_tree.hpp"

namespace nb::txn::test {
namespace {

using fs::CrashChoice;
using fs::SimFileSystem;
using fs::SimOperation;

// NBACKUP_TEST_SEEDS=N tries N random losses at each point instead of 2.
std::uint64_t seeds() {
  const char* text = std::getenv("NBACKUP_TEST_SEEDS");
  return text == nullptr ? 2 : static_cast<std::uint64_t>(std::atoi(text));
}

std::vector<CrashChoice> choices(std::uint64_t salt) {
  std::vector<CrashChoice> all{CrashChoice::lose_all(), CrashChoice::keep_all()};
  for (std::uint64_t i = 0; i < seeds(); ++i) all.push_back(CrashChoice::random(salt * 1000 + i));
  return all;
}

bool needs_recovery(const SimFileSystem& disk) {
  const auto set = FileSet::open(disk.root());
  REQUIRE(set);
  return (*set)->needs_recovery().value() || (*set)->control().stat_at(k_journal_name).has_value();
}

struct Scenario {
  Tree before = rich_old();
  Tree after = rich_new();
  Untouched untouched = rich_untouched();
  SimFileSystem base;

  explicit Scenario(fs::SimOptions options) : base(options) {
    make_set(base.root(), before, untouched);
    base = base.after_crash(CrashChoice::keep_all());
  }

  // How many operations a whole run has.
  std::uint64_t length() const {
    const SimFileSystem disk = base.after_crash(CrashChoice::keep_all());
    const auto done = run(disk.root(), after, untouched, tx_id(2));
    INFO((done ? std::string("ok") : done.error().message()));
    REQUIRE(done);
    return disk.operations();
  }

  // Empty if the set on `disk` recovers to one of the two trees.
  std::string judge(const SimFileSystem& disk, bool must_be_new) const {
    const auto generation = recover_at(disk.root());
    if (!generation) return "recovery: " + generation.error().message();
    if (*generation != 1 && *generation != 2) return "generation " + std::to_string(*generation);
    if (must_be_new && *generation != 2) return "a commit that was reported is gone";
    const Tree& expected = *generation == 1 ? before : after;
    const auto root = disk.root();
    const Tree found = read_tree(*root, expected, untouched);
    if (found != expected) {
      return "generation " + std::to_string(*generation) + "\n" + show(found) + "expected\n" + show(expected);
    }
    return judge_past(disk);
  }

  // Whatever the live tree is, the old one can be seen.
  std::string judge_past(const SimFileSystem& disk) const {
    const auto set = FileSet::open(disk.root()).value();
    const auto past = open_past(*set, 1);
    if (!past) return "the generation before: " + past.error().message();
    const Tree found = read_tree(**past, before, untouched);
    return found == before ? std::string() : "before\n" + show(found) + "expected\n" + show(before);
  }

  // The next run makes it the new tree and leaves nothing.
  std::string judge_rerun(const SimFileSystem& disk) const {
    const auto again = run(disk.root(), after, untouched, tx_id(3));
    if (!again) return "rerun: " + again.error().message();
    const auto root = disk.root();
    const Tree found = read_tree(*root, after, untouched);
    if (found != after) return "rerun\n" + show(found);
    const std::string past = judge_past(disk);
    if (!past.empty()) return "rerun: " + past;
    std::string leftovers;
    return is_clean(*root, leftovers) ? std::string() : "left over: " + leftovers;
  }
};

void crash_everywhere(const fs::SimOptions& options) {
  const Scenario scenario(options);
  const std::uint64_t length = scenario.length();
  REQUIRE(length > 100);
  for (std::uint64_t n = 1; n <= length + 1; ++n) {
    SimFileSystem disk = scenario.base.after_crash(CrashChoice::keep_all());
    disk.die_at(n);
    const bool reported = run(disk.root(), scenario.after, scenario.untouched, tx_id(2)).has_value();
    for (const CrashChoice& choice : choices(n)) {
      const SimFileSystem left = disk.after_crash(choice);
      const std::string verdict = scenario.judge(left, reported);
      if (!verdict.empty()) FAIL("operation " << n << " of " << length << ": " << verdict);
      const std::string rerun = scenario.judge_rerun(left);
      if (!rerun.empty()) FAIL("operation " << n << " of " << length << ": " << rerun);
    }
  }
}

TEST_CASE("a crash at any operation leaves the old or the new tree", "[txn][crash]") { crash_everywhere(plain()); }
TEST_CASE("a crash at any operation, as an ordinary user", "[txn][crash]") { crash_everywhere(as_user()); }
TEST_CASE("a crash at any operation, without hard links", "[txn][crash]") { crash_everywhere(without_links()); }
TEST_CASE("a crash at any operation, without syncfs errors", "[txn][crash]") { crash_everywhere(without_reports()); }
// What is replaced lies in the stage alone, and is what an undo needs.
TEST_CASE("a crash at any operation of a commit without history", "[txn][crash]") {
  const Tree before = rich_old();
  const Tree after = rich_new();
  const Untouched untouched = rich_untouched();
  SimFileSystem base{plain()};
  make_set(base.root(), before, untouched, Lifetime::ephemeral);
  base = base.after_crash(CrashChoice::keep_all());
  for (std::uint64_t n = 1;; ++n) {
    SimFileSystem disk = base.after_crash(CrashChoice::keep_all());
    disk.die_at(n);
    const bool reported = commit(disk.root(), after, untouched, tx_id(2)).has_value();
    for (const CrashChoice& choice : choices(n)) {
      SimFileSystem left = disk.after_crash(choice);
      // Every other one has to go back where it can.
      if (n % 2 == 0) {
        left.set_immutable("m");
        static_cast<void>(recover_at(left.root()));
        left.clear_immutable("m");
      }
      const auto generation = recover_at(left.root());
      INFO("operation " << n << (generation ? "" : ": " + generation.error().message()));
      REQUIRE(generation);
      if (reported) REQUIRE(*generation == 2);
      const Tree& expected = *generation == 2 ? after : before;
      const Tree found = read_tree(*left.root(), expected, untouched);
      INFO(show(found));
      REQUIRE(found == expected);
    }
    if (reported) return;
  }
}

TEST_CASE("a crash at any operation, where inode numbers do not last", "[txn][crash]") {
  crash_everywhere(without_lasting_numbers());
}

// Of a process: a disk that keeps the second half of such a move without the first would lose files whatever we do.
TEST_CASE("a kill at any operation, where a move is a link and a removal", "[txn][crash]") {
  const Scenario scenario(with_moves_in_two_steps());
  const std::uint64_t length = scenario.length();
  for (std::uint64_t n = 1; n <= length; ++n) {
    SimFileSystem disk = scenario.base.after_crash(CrashChoice::keep_all());
    disk.die_at(n);
    static_cast<void>(run(disk.root(), scenario.after, scenario.untouched, tx_id(2)));
    for (std::uint64_t m = 1;; ++m) {
      SimFileSystem left = disk.after_crash(CrashChoice::keep_all());
      left.die_at(m);
      const bool finished = recover_at(left.root()).has_value();
      left = left.after_crash(CrashChoice::keep_all());
      std::string verdict = scenario.judge(left, false);
      if (verdict.empty() && finished) verdict = scenario.judge_rerun(left);
      if (!verdict.empty()) FAIL("operation " << n << ", recovery operation " << m << ": " << verdict);
      if (finished) break;
    }
  }
}

// What a run leaves in memory that was killed at its operation `n`.
SimFileSystem killed_at(const Scenario& scenario, std::uint64_t n) {
  SimFileSystem disk = scenario.base.after_crash(CrashChoice::keep_all());
  disk.die_at(n);
  static_cast<void>(run(disk.root(), scenario.after, scenario.untouched, tx_id(2)));
  disk.go_on();
  return disk;
}

TEST_CASE("a power cut at any operation of the recovery from a kill", "[txn][crash]") {
  const Scenario scenario(plain());
  const std::uint64_t length = scenario.length();
  // Each of them makes the commit anew: not all kills unless much is to be tried.
  const std::uint64_t step = seeds() > 2 ? 1 : 3;
  unsigned interrupted = 0;
  for (std::uint64_t n = 1; n <= length; n += step) {
    for (std::uint64_t m = 1;; ++m) {
      SimFileSystem disk = killed_at(scenario, n);
      if (m == 1 && !needs_recovery(disk)) break;
      disk.die_at(disk.operations() + m);
      const bool finished = recover_at(disk.root()).has_value();
      interrupted += finished ? 0 : 1;
      for (const CrashChoice& choice : {CrashChoice::lose_all(), CrashChoice::random(n * 1000 + m)}) {
        const std::string verdict = scenario.judge(disk.after_crash(choice), false);
        if (!verdict.empty()) FAIL("operation " << n << ", recovery operation " << m << ": " << verdict);
      }
      if (finished) break;
    }
  }
  CHECK(interrupted > 20);
}

// Its head was written, and may be in memory only.
TEST_CASE("a power cut when a commit is done that was killed at its end", "[txn][crash]") {
  const Scenario scenario(plain());
  const std::uint64_t length = scenario.length();
  unsigned tried = 0;
  for (std::uint64_t n = length; n > length / 2; --n) {
    const SimFileSystem first = killed_at(scenario, n);
    if (!FileSet::open(first.root()).value()->control().stat_at(k_journal_name)) continue;
    if (FileSet::open(first.root()).value()->head().generation != 2) break;
    for (std::uint64_t m = 1;; ++m) {
      SimFileSystem disk = killed_at(scenario, n);
      disk.die_at(disk.operations() + m);
      const bool finished = recover_at(disk.root()).has_value();
      for (std::uint64_t seed = 0; seed < 16; ++seed) {
        const std::string verdict = scenario.judge(disk.after_crash(CrashChoice::random(seed)), false);
        if (!verdict.empty()) FAIL("operation " << n << ", recovery operation " << m << ": " << verdict);
      }
      ++tried;
      if (finished) break;
    }
  }
  CHECK(tried > 3);
}

// Recoveries interrupted at each of their operations.
void crash_recovery(const Scenario& scenario, const SimFileSystem& broken, std::uint64_t salt) {
  for (std::uint64_t m = 1;; ++m) {
    SimFileSystem disk = broken.after_crash(CrashChoice::keep_all());
    disk.die_at(m);
    const bool finished = recover_at(disk.root()).has_value();
    for (const CrashChoice& choice : choices(salt * 500 + m)) {
      const std::string verdict = scenario.judge(disk.after_crash(choice), false);
      if (!verdict.empty()) FAIL("recovery operation " << m << ": " << verdict);
    }
    if (finished) return;
  }
}

TEST_CASE("a crash at any operation of a recovery is recovered from", "[txn][crash]") {
  const Scenario scenario(as_user());
  const std::uint64_t length = scenario.length();
  unsigned recoveries = 0;
  for (std::uint64_t n = 1; n <= length; ++n) {
    SimFileSystem disk = scenario.base.after_crash(CrashChoice::keep_all());
    disk.die_at(n);
    static_cast<void>(run(disk.root(), scenario.after, scenario.untouched, tx_id(2)));
    const SimFileSystem left = disk.after_crash(n % 2 == 0 ? CrashChoice::keep_all() : CrashChoice::random(n));
    const auto set = FileSet::open(left.root());
    REQUIRE(set);
    if (!(*set)->needs_recovery().value()) continue;
    crash_recovery(scenario, left, n);
    ++recoveries;
  }
  CHECK(recoveries > 5);
}

// The target that cannot be changed appears after the commit point, so that the run has to go back.
void forbid_at_commit_point(SimFileSystem& disk, const std::string& path) {
  disk.on_operation([&disk, path](const fs::SimEvent& event) mutable {
    const bool moves = event.kind == SimOperation::rename || event.kind == SimOperation::link;
    if (moves && event.new_path == ".nbackup/journal") disk.set_immutable(path);
  });
}

const std::vector<std::string>& targets() {
  static const std::vector<std::string> k_targets{"a", "b", "c", "d", "e", "f", "g", "h", "locked", "m", "r", "s", ""};
  return k_targets;
}

TEST_CASE("what cannot be applied is rolled back, whichever it is", "[txn][undo]") {
  const Scenario scenario(as_user());
  for (const std::string& target : targets()) {
    SimFileSystem disk = scenario.base.after_crash(CrashChoice::keep_all());
    forbid_at_commit_point(disk, target);
    const auto result = run(disk.root(), scenario.after, scenario.untouched, tx_id(2));
    INFO("immutable: '" << target << "'");
    REQUIRE(!result);
    // The root itself stays closed: then there is no way back either until it is opened.
    if (target.empty()) {
      CHECK((result.error().code == Errc::recovery_failed || result.error().code == Errc::rolled_back));
    } else {
      CHECK(result.error().code == Errc::rolled_back);
      const auto root = disk.root();
      const Tree found = read_tree(*root, scenario.before, scenario.untouched);
      INFO(show(found));
      CHECK(found == scenario.before);
    }
    disk.on_operation({});
    disk.clear_immutable(target);
    CHECK(scenario.judge(disk, false).empty());
    CHECK(scenario.judge_rerun(disk).empty());
  }
}

void crash_rollback(const fs::SimOptions& options,
                    const std::function<std::vector<CrashChoice>(std::uint64_t)>& losses) {
  const Scenario scenario(options);
  for (const std::string target : {"m", "r", "locked"}) {
    for (std::uint64_t n = 1;; ++n) {
      SimFileSystem disk = scenario.base.after_crash(CrashChoice::keep_all());
      disk.die_at(n);
      forbid_at_commit_point(disk, target);
      const auto result = run(disk.root(), scenario.after, scenario.untouched, tx_id(2));
      REQUIRE(!result);
      for (const CrashChoice& choice : losses(n)) {
        SimFileSystem left = disk.after_crash(choice);
        std::string verdict = scenario.judge(left, false);
        // The obstacle may still be there, and then there is nothing but the old tree.
        if (!verdict.empty()) FAIL("operation " << n << ", " << target << ": " << verdict);
        // With the obstacle gone before the recovery, either tree will do.
        left = disk.after_crash(choice);
        left.clear_immutable(target);
        verdict = scenario.judge(left, false);
        if (!verdict.empty()) FAIL("operation " << n << ", " << target << ", cleared: " << verdict);
      }
      if (result.error().code == Errc::rolled_back) break;
    }
  }
}

TEST_CASE("a crash at any operation of a rollback leaves the old tree", "[txn][undo][crash]") {
  crash_rollback(as_user(), choices);
}
TEST_CASE("a kill at any operation of a rollback, where a move is a link and a removal", "[txn][undo][crash]") {
  fs::SimOptions options = with_moves_in_two_steps();
  options.enforce_modes = true;
  crash_rollback(options, [](std::uint64_t) { return std::vector<CrashChoice>{CrashChoice::keep_all()}; });
}

// If a kind of sync could be left out and nobody noticed, these tests would be worth nothing.
bool finds_violation(SimOperation ignored) {
  const Scenario scenario(plain());
  const std::uint64_t length = scenario.length();
  for (std::uint64_t n = 1; n <= length + 1; ++n) {
    SimFileSystem disk = scenario.base.after_crash(CrashChoice::keep_all());
    disk.ignore(ignored);
    disk.die_at(n);
    const bool reported = run(disk.root(), scenario.after, scenario.untouched, tx_id(2)).has_value();
    for (const CrashChoice& choice : choices(n)) {
      if (!scenario.judge(disk.after_crash(choice), reported).empty()) return true;
    }
  }
  return false;
}

TEST_CASE("leaving out a kind of sync is noticed", "[txn][crash][mutation]") {
  CHECK(finds_violation(SimOperation::sync_file));
  CHECK(finds_violation(SimOperation::sync_directory));
  CHECK(finds_violation(SimOperation::sync_file_system));
}

}  // namespace
}  // namespace nb::txn::test
