// SPDX-License-Identifier: Apache-2.0
// The records of history, looked at in stretches between which commits are let in.
#include "session/scrub_history.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <functional>

#include "txn/locate.hpp"
#include "unit/session/rig.hpp"

using namespace nb;
using namespace nb::test;

namespace {

// Each look at it takes longer than a stretch may.
class SlowClock final : public Clock {
 public:
  [[nodiscard]] WallTime wall() const override { return SystemClock().wall(); }
  [[nodiscard]] SteadyTime steady() const override { return m_steady += std::chrono::seconds(2); }
  void pause(std::chrono::milliseconds) override {
    ++pauses;
    if (between) between();
  }
  int pauses = 0;
  std::function<void()> between;

 private:
  mutable SteadyTime m_steady{};
};

class Problems final : public session::ScrubObserver {
 public:
  Status on_damaged(const txn::Damaged&, const std::string&) override { return {}; }
  Status on_edited(const txn::ScrubPlace&) override { return {}; }
  Status on_problem(const Error& error) override {
    told.push_back(error.message());
    return {};
  }
  Status on_notice(const std::string&) override { return {}; }
  std::vector<std::string> told;
};

void push_generations(Rig& rig, int count) {
  for (int i = 1; i <= count; ++i) {
    put(rig.source("a"), std::string(static_cast<std::size_t>(i), 'a'));
    REQUIRE(rig.push().has_value());
  }
  rig.settle();
}

std::unique_ptr<txn::FileSet> open_set(const std::string& pool) {
  auto located = txn::locate_set(pool, std::nullopt);
  REQUIRE(located.has_value());
  auto set = txn::FileSet::open(std::move(located->root));
  REQUIRE(set.has_value());
  return std::move(*set);
}

}  // namespace

TEST_CASE("each generation is looked at once, whatever the stretches", "[session][scrub]") {
  Rig rig;
  push_generations(rig, 5);
  for (const char* number : {"1", "3", "5"}) {
    REQUIRE(std::filesystem::remove(rig.pool(std::string(".nbackup/history/") + number + "/changes")));
  }
  const auto set = open_set(rig.pool());
  SlowClock clock;
  Problems problems;
  CHECK(session::check_records(*set, problems, clock) == std::uint64_t{3});
  CHECK(problems.told.size() == 3);
  CHECK(clock.pauses == 5);  // between six generations, that before the first push counted
}

TEST_CASE("a push is let in between the records, and what it makes is looked at", "[session][scrub]") {
  Rig rig;
  push_generations(rig, 3);
  const auto set = open_set(rig.pool());
  SlowClock clock;
  Problems problems;
  clock.between = [&] {
    clock.between = nullptr;
    put(rig.source("a"), "a fourth content");
    REQUIRE(rig.push().has_value());
    rig.settle();
    REQUIRE(std::filesystem::remove(rig.pool(".nbackup/history/4/changes")));
  };
  CHECK(session::check_records(*set, problems, clock) == std::uint64_t{1});
  REQUIRE(problems.told.size() == 1);
  CHECK(problems.told.front().find("history/4/changes") != std::string::npos);
}
