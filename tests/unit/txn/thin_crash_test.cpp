// SPDX-License-Identifier: Apache-2.0
// The power is cut at every operation of a prune and of the recovery from that, and what was not synced is lost, kept,
// or both by chance; then every operation fails by itself. Afterwards each generation that is kept reads back exactly,
// only those that were to go are gone, and dropping them again leaves nothing of them.
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <set>

#include "history_model.hpp"
#include "sim_options.hpp"
#include "txn/history.hpp"
#include "txn/thin.hpp"

namespace nb::txn::test {
namespace {

using fs::CrashChoice;
using fs::SimFileSystem;
using fs::SimOperation;
using Numbers = std::vector<std::uint64_t>;

// NBACKUP_TEST_SEEDS=N tries N histories in each case instead of `few`.
std::uint64_t seeds(std::uint64_t few) {
  const char* text = std::getenv("NBACKUP_TEST_SEEDS");
  return text == nullptr ? few : static_cast<std::uint64_t>(std::atoi(text));
}

std::vector<CrashChoice> choices(std::uint64_t salt) {
  return {CrashChoice::lose_all(), CrashChoice::keep_all(), CrashChoice::random(2 * salt),
          CrashChoice::random(2 * salt + 1)};
}

Result<ThinReport> drop(const SimFileSystem& disk, const Numbers& numbers) {
  StepClock clock;
  NB_TRY_ASSIGN(const auto set, FileSet::open(disk.root()));
  NB_TRY_ASSIGN(const auto lock, WriterLock::acquire(*set, note_for(tx_id(9)), std::chrono::seconds(0), clock));
  NB_TRY(recover(*set, *lock, clock));
  NB_TRY_ASSIGN(ThinReport report, drop_generations(*set, *lock, clock, numbers));
  if (!report.problems.empty()) return tl::make_unexpected(report.problems.front().error);
  return report;
}

Numbers still_there(const SimFileSystem& disk, const Numbers& numbers) {
  const Numbers kept = kept_generations(disk);
  Numbers left;
  for (const std::uint64_t each : numbers) {
    if (std::find(kept.begin(), kept.end(), each) != kept.end()) left.push_back(each);
  }
  return left;
}

struct Scenario {
  Model model;
  Numbers numbers;  // to be dropped

  // Empty if all is well after a recovery.
  std::string judge(const SimFileSystem& disk, bool was_reported) const {
    const auto recovered = recover_at(disk.root());
    if (!recovered) return "recovery: " + recovered.error().message();
    const Numbers left = still_there(disk, numbers);
    if (was_reported && !left.empty()) return "what was dropped is back";
    const std::size_t gone = numbers.size() - left.size();
    if (kept_generations(disk).size() + gone != model.described.size()) return "another generation is gone";
    return judge_history(disk, model);
  }

  std::string judge_again(const SimFileSystem& disk) const {
    const auto again = drop(disk, still_there(disk, numbers));
    if (!again) return "again: " + again.error().message();
    if (!still_there(disk, numbers).empty()) return "still there";
    std::string leftovers;
    is_clean(*disk.root(), leftovers);
    if (!leftovers.empty()) return "left over: " + leftovers;
    return judge_history(disk, model);
  }
};

Scenario scenario(std::uint64_t seed, const fs::SimOptions& options, const Numbers& numbers) {
  return {Model({seed, 7, options, false}), numbers};
}

void crash_everywhere(const Scenario& scenario, bool ignores_syncfs = false) {
  for (std::uint64_t n = 1;; ++n) {
    SimFileSystem disk = scenario.model.disk.after_crash(CrashChoice::keep_all());
    if (ignores_syncfs) disk.ignore(SimOperation::sync_file_system);
    disk.die_at(n);
    const bool reported = drop(disk, scenario.numbers).has_value();
    for (const CrashChoice& choice : choices(n)) {
      const SimFileSystem left = disk.after_crash(choice);
      std::string verdict = scenario.judge(left, reported);
      if (verdict.empty()) verdict = scenario.judge_again(left);
      if (!verdict.empty()) FAIL("operation " << n << ": " << verdict);
    }
    // Emptying the trash at the end may die without anybody noticing.
    if (reported && n > disk.operations()) return;
  }
}

void crash_everywhere(std::uint64_t seed, const fs::SimOptions& options, const Numbers& numbers,
                      bool ignores_syncfs = false) {
  INFO("seed " << seed);
  crash_everywhere(scenario(seed, options, numbers), ignores_syncfs);
}

TEST_CASE("a power cut at any operation of a prune leaves every kept generation exact", "[txn][history][crash]") {
  for (std::uint64_t seed = 1; seed <= seeds(3); ++seed) crash_everywhere(seed, {}, {1, 2, 4, 6});
}

TEST_CASE("so does one when the oldest goes", "[txn][history][crash]") {
  for (std::uint64_t seed = 21; seed <= 20 + seeds(2); ++seed) crash_everywhere(seed, {}, {0, 1, 3, 5});
}

TEST_CASE("so does one for an ordinary user", "[txn][history][crash]") {
  for (std::uint64_t seed = 31; seed <= 30 + seeds(2); ++seed) crash_everywhere(seed, as_user(), {2, 3, 6});
  // Here a closed directory lies in the trash whose opening was lost.
  crash_everywhere(46, as_user(), {2, 3, 6});
}

TEST_CASE("so does one where syncfs does not tell", "[txn][history][crash]") {
  for (std::uint64_t seed = 41; seed <= 40 + seeds(2); ++seed)
    crash_everywhere(seed, without_reports(), {1, 2, 5}, true);
}

TEST_CASE("so does one where others have lost things", "[txn][history][crash]") {
  for (std::uint64_t seed = 51; seed <= 50 + seeds(3); ++seed) {
    INFO("seed " << seed);
    crash_everywhere({Model({seed, 7, {}, true}), {1, 2, 3, 5, 6}});
  }
}

// Recoveries of what `broken` makes, each time the same, cut at each of their operations. `n` names it.
void cut_recoveries(const Scenario& what, const std::function<SimFileSystem()>& broken, std::uint64_t n) {
  for (std::uint64_t m = 1;; ++m) {
    SimFileSystem disk = broken();
    disk.die_at(disk.operations() + m);
    const bool finished = recover_at(disk.root()).has_value();
    for (const CrashChoice& choice : choices(n * 500 + m)) {
      const std::string verdict = what.judge(disk.after_crash(choice), false);
      if (!verdict.empty()) FAIL("operation " << n << ", of the recovery " << m << ": " << verdict);
    }
    if (finished) return;
  }
}

TEST_CASE("a power cut at any operation of finishing a prune is recovered from", "[txn][history][crash]") {
  const Scenario what = scenario(3, as_user(), {1, 2, 4, 6});
  std::uint64_t interrupted = 0;
  for (std::uint64_t n = 1;; ++n) {
    SimFileSystem disk = what.model.disk.after_crash(CrashChoice::keep_all());
    disk.die_at(n);
    if (drop(disk, what.numbers)) break;
    const SimFileSystem broken = disk.after_crash(n % 2 == 0 ? CrashChoice::keep_all() : CrashChoice::random(n));
    const auto set = FileSet::open(broken.root()).value();
    if (!set->needs_recovery().value()) continue;
    ++interrupted;
    cut_recoveries(
        what, [&broken] { return broken.after_crash(CrashChoice::keep_all()); }, n);
  }
  CHECK(interrupted > 20);
}

// What the killed run did may be in memory only.
TEST_CASE("a power cut at any operation of finishing a prune that was killed is recovered from",
          "[txn][history][crash]") {
  const Scenario what = scenario(3, {}, {1, 2, 4, 6});
  std::uint64_t interrupted = 0;
  for (std::uint64_t n = 1;; ++n) {
    const auto killed = [&] {
      SimFileSystem disk = what.model.disk.after_crash(CrashChoice::keep_all());
      disk.die_at(n);
      const bool reported = drop(disk, what.numbers).has_value();
      disk.go_on();
      return std::pair(std::move(disk), reported);
    };
    const auto [first, reported] = killed();
    if (reported) break;
    if (!FileSet::open(first.root()).value()->needs_recovery().value()) continue;
    ++interrupted;
    cut_recoveries(
        what, [&killed] { return killed().first; }, n);
  }
  CHECK(interrupted > 20);
}

TEST_CASE("an operation that fails by itself leaves nothing that cannot be finished", "[txn][history][faults]") {
  const Scenario what = scenario(4, {}, {1, 2, 4, 6});
  for (std::uint64_t n = 1;; ++n) {
    SimFileSystem disk = what.model.disk.after_crash(CrashChoice::keep_all());
    disk.fail_at(n, n % 2 == 0 ? EIO : ENOSPC);
    const auto done = drop(disk, what.numbers);
    const bool is_over = n > disk.operations();
    const SimFileSystem left = disk.after_crash(CrashChoice::keep_all());
    std::string verdict = what.judge(left, done.has_value());
    if (verdict.empty()) verdict = what.judge_again(left);
    if (!verdict.empty()) FAIL("operation " << n << ": " << verdict);
    if (is_over) break;
  }
}

// If a kind of sync could be left out and nobody noticed, these tests would be worth nothing.
bool finds_violation(const Scenario& scenario, SimOperation ignored) {
  for (std::uint64_t n = 1;; ++n) {
    SimFileSystem disk = scenario.model.disk.after_crash(CrashChoice::keep_all());
    disk.ignore(ignored);
    disk.die_at(n);
    const bool reported = drop(disk, scenario.numbers).has_value();
    for (const CrashChoice& choice : choices(n)) {
      if (!scenario.judge(disk.after_crash(choice), reported).empty()) return true;
    }
    if (reported) return false;
  }
}

TEST_CASE("leaving out a kind of sync of a prune is noticed", "[txn][history][crash][mutation]") {
  const Scenario what = scenario(1, {}, {1, 2, 4, 6});
  CHECK(finds_violation(what, SimOperation::sync_file_system));
  CHECK(finds_violation(what, SimOperation::sync_directory));
}

}  // namespace
}  // namespace nb::txn::test
