// SPDX-License-Identifier: Apache-2.0
// Dropping generations: whatever goes, in whatever order, every other generation stays what it was.
#include "txn/thin.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>

#include "history_model.hpp"
#include "sim_options.hpp"
#include "txn/history.hpp"
#include "txn/transaction.hpp"

namespace nb::txn::test {
namespace {

using fs::CrashChoice;
using fs::SimFileSystem;

// NBACKUP_TEST_SEEDS=N tries N histories instead of 150.
std::uint64_t seeds() {
  const char* text = std::getenv("NBACKUP_TEST_SEEDS");
  return text == nullptr ? 150 : static_cast<std::uint64_t>(std::atoi(text));
}

Result<ThinReport> drop(const SimFileSystem& disk, const std::vector<std::uint64_t>& numbers) {
  StepClock clock;
  NB_TRY_ASSIGN(const auto set, FileSet::open(disk.root()));
  NB_TRY_ASSIGN(const auto lock, WriterLock::acquire(*set, note_for(tx_id(9)), std::chrono::seconds(0), clock));
  return drop_generations(*set, *lock, clock, numbers);
}

// A subset of what may be dropped.
std::vector<std::uint64_t> some_of(const SimFileSystem& disk, std::mt19937_64& random) {
  std::vector<std::uint64_t> kept = kept_generations(disk);
  kept.pop_back();
  std::erase_if(kept, [&](std::uint64_t) { return random() % 2 == 0; });
  std::shuffle(kept.begin(), kept.end(), random);
  return kept;
}

void check_drops(const ModelOptions& options) {
  const Model model(options);
  INFO("seed " << options.seed);
  const std::string before = judge_history(model.disk, model);
  if (!before.empty()) FAIL(before);
  std::mt19937_64 random(options.seed);
  while (kept_generations(model.disk).size() > 1) {
    const std::vector<std::uint64_t> numbers = some_of(model.disk, random);
    std::string text;
    for (const std::uint64_t each : numbers) text += std::to_string(each) + " ";
    INFO("dropping " << text);
    const auto report = drop(model.disk, numbers);
    INFO((report ? std::string("ok") : report.error().message()));
    REQUIRE(report);
    for (const auto& problem : report->problems) FAIL(problem.generation << ": " << problem.error.message());
    CHECK(report->dropped.size() == numbers.size());
    const std::string verdict = judge_history(model.disk, model);
    if (!verdict.empty()) FAIL(verdict);
    std::string leftovers;
    is_clean(*model.disk.root(), leftovers);
    CHECK((leftovers.empty() || leftovers == "history "));
  }
}

TEST_CASE("whatever is dropped, every other generation stays exactly what it was", "[txn][history][model]") {
  for (std::uint64_t seed = 1; seed <= seeds(); ++seed) check_drops({seed, 8, {}, false});
}

TEST_CASE("so it does for an ordinary user", "[txn][history][model]") {
  for (std::uint64_t seed = 1001; seed <= 1000 + seeds(); ++seed) check_drops({seed, 8, as_user(), false});
}

TEST_CASE("what others have lost stays lost, and nothing else is", "[txn][history][model]") {
  for (std::uint64_t seed = 2001; seed <= 2000 + seeds(); ++seed) check_drops({seed, 8, {}, true});
}

}  // namespace
}  // namespace nb::txn::test
