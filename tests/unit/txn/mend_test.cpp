// SPDX-License-Identifier: Apache-2.0
// Damaged records of a set are made anew from what is left, and nothing else changes.
#include <array>

#include "fs/metadata.hpp"
#include "fs/sim_directory.hpp"
#include "past_world.hpp"
#include "txn/history_check.hpp"
#include "txn/mend.hpp"
#include "txn/prune.hpp"
#include "txn/set_files.hpp"
#include "txn/small_file.hpp"
#include "txn/spare.hpp"
#include "txn/thin.hpp"
#include "txn/transaction.hpp"

namespace nb::txn::test {
namespace {

using namespace std::chrono_literals;
using fs::test::PosixWorld;
using fs::test::SimWorld;

enum class Damage { gone, cut, flipped, garbage };
constexpr std::array k_damages{Damage::gone, Damage::cut, Damage::flipped, Damage::garbage};

// A record of the set, by its path in the control directory.
struct Spot {
  explicit Spot(FileSet& set, std::string_view path)
      : directory(good(parent_in(set.control(), rel(path))->reopen())), name(rel(path).name()) {}
  void damage(Damage kind) const {
    Bytes data = good(read_small_file(*directory, name));
    good(directory->remove_file(name));
    if (kind == Damage::gone) return;
    if (kind == Damage::cut) data.resize(data.size() / 2);
    if (kind == Damage::flipped) data[data.size() / 2] ^= std::byte{1};
    if (kind == Damage::garbage) data.assign(100, std::byte{0xA5});
    good(write_new_file(*directory, name, data));
  }
  std::unique_ptr<fs::Directory> directory;
  std::string name;
};

// The simulated world with its disk at hand.
struct Disk {
  fs::SimFileSystem disk;
  std::unique_ptr<fs::Directory> top = disk.root();
  fs::Directory& root() { return *top; }
};

template <class World>
struct Fixture {
  World world;
  PastSet set{world.root()};
  StepClock clock;
  Uuid uuid = set.set().format().uuid;
  std::map<std::uint64_t, Descriptions> before;

  Fixture() {
    set.file("a", "1");
    set.file("same", "always");
    set.base(1);
    set.keep(2, "a");
    set.file("a", "2");
    set.commit(2, {kept("a")});
    set.keep(3, "a");
    set.commit(3, {kept("a")});
    for (const std::uint64_t number : {1U, 2U, 3U}) before[number] = describe(*set.past(number));
  }
  Result<MendReport> mend() { return txn::mend(world.root(), note_for(tx_id(9)), 0s, clock); }
  void check_whole() {
    const auto opened = good(FileSet::open(good(world.root().reopen())));
    CHECK(opened->format().uuid == uuid);
    CHECK(opened->secret().id() == test_secret().id());
    CHECK(opened->head().generation == 3);
    for (const auto& [number, tree] : before) CHECK(show(describe(*good(open_past(*opened, number)))) == show(tree));
    CHECK(good(mend()).mended.empty());
  }
};

}  // namespace

TEMPLATE_TEST_CASE("mend: each record by itself, whatever its damage", "[txn][mend]", SimWorld, PosixWorld) {
  for (const char* path :
       {"format", "secret", "head", "spare", "history/1/generation", "history/2/generation", "history/3/generation"}) {
    for (const Damage kind : k_damages) {
      INFO(path << " " << static_cast<int>(kind));
      Fixture<TestType> at;
      good(keep_spare(at.set.set().control(), at.set.set().format(), at.set.set().secret()));
      Spot(at.set.set(), path).damage(kind);
      const MendReport report = good(at.mend());
      const bool is_spare = std::string_view(path) == "spare";
      REQUIRE(report.mended.size() == (is_spare ? 0 : 1));
      if (!is_spare) CHECK_THAT(report.mended.front(), Catch::StartsWith(path));
      at.check_whole();
    }
  }
}

TEMPLATE_TEST_CASE("mend: what is sound is left alone", "[txn][mend]", SimWorld, PosixWorld) {
  Fixture<TestType> at;
  const Bytes head = good(read_small_file(at.set.set().control(), k_head_name));
  CHECK(good(at.mend()).mended.empty());
  CHECK(good(read_small_file(at.set.set().control(), k_head_name)) == head);
  at.check_whole();
}

TEMPLATE_TEST_CASE("mend: a record of a newer nbackup is no damage", "[txn][mend]", SimWorld, PosixWorld) {
  Fixture<TestType> at;
  const Spot format(at.set.set(), "format");
  SetFormat later = at.set.set().format();
  later.version = 99;
  good(format.directory->remove_file("format"));
  good(write_new_file(*format.directory, "format", encode(later)));
  const auto refused = at.mend();
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().context, Catch::Contains("newer"));
  CHECK(good(read_small_file(*format.directory, "format")) == encode(later));
}

TEMPLATE_TEST_CASE("mend: a secret that is nowhere becomes a new one, and its digests go", "[txn][mend]", SimWorld,
                   PosixWorld) {
  Fixture<TestType> at;
  for (const char* name : {"secret", "spare"}) Spot(at.set.set(), name).damage(Damage::flipped);
  for (const char* name : {"manifest.db", "manifest.db-wal"}) good(write_new_file(at.set.set().control(), name, {}));
  CHECK_THAT(good(at.mend()).mended.front(), Catch::Contains("new key"));
  const auto opened = good(FileSet::open(good(at.world.root().reopen())));
  CHECK(opened->secret().id() != test_secret().id());
  CHECK(opened->format().uuid == at.uuid);
  for (const char* name : {"manifest.db", "manifest.db-wal"})
    CHECK(code(opened->control().stat_at(name)) == Errc::not_found);
  CHECK(show(describe(*good(open_past(*opened, 1)))) == show(at.before[1]));
}

TEMPLATE_TEST_CASE("mend: an identity that is nowhere becomes a new one", "[txn][mend]", SimWorld, PosixWorld) {
  Fixture<TestType> at;
  for (const char* name : {"format", "spare"}) Spot(at.set.set(), name).damage(Damage::cut);
  CHECK_THAT(good(at.mend()).mended.front(), Catch::Contains("--new-set"));
  CHECK(good(FileSet::open(good(at.world.root().reopen())))->format().uuid != at.uuid);
}

TEMPLATE_TEST_CASE("mend: all at once", "[txn][mend]", SimWorld, PosixWorld) {
  Fixture<TestType> at;
  for (const char* path :
       {"format", "secret", "head", "history/1/generation", "history/2/generation", "history/3/generation"}) {
    Spot(at.set.set(), path).damage(Damage::garbage);
  }
  CHECK(good(at.mend()).mended.size() == 6);
  at.check_whole();
}

TEST_CASE("mend: not while somebody writes", "[txn][mend]") {
  Fixture<PosixWorld> at;
  const auto lock = good(WriterLock::acquire(at.set.set(), note_for(tx_id(1)), 0s, at.clock));
  Spot(at.set.set(), "head").damage(Damage::gone);
  CHECK(code(at.mend()) == Errc::locked);
}

TEST_CASE("mend: a power cut at any operation leaves what the next one mends", "[txn][mend][crash]") {
  const auto prepare = [](Fixture<Disk>& at) {
    for (const char* path : {"format", "secret", "head", "history/2/generation"}) {
      Spot(at.set.set(), path).damage(Damage::flipped);
    }
    good(at.set.set().control().sync());
  };
  Fixture<Disk> probe;
  prepare(probe);
  const std::uint64_t begin = probe.world.disk.operations();
  good(probe.mend());
  const std::uint64_t count = probe.world.disk.operations() - begin;
  for (std::uint64_t n = 1; n <= count; ++n) {
    Fixture<Disk> at;
    prepare(at);
    good(at.set.set().control().sync_file_system());
    at.world.disk.die_at(at.world.disk.operations() + n);
    static_cast<void>(at.mend());
    for (const fs::CrashChoice choice :
         {fs::CrashChoice::lose_all(), fs::CrashChoice::keep_all(), fs::CrashChoice::random(n)}) {
      INFO("operation " << n);
      const fs::SimFileSystem left = at.world.disk.after_crash(choice);
      StepClock clock;
      REQUIRE(mend(*left.root(), note_for(tx_id(9)), 0s, clock));
      const auto opened = good(FileSet::open(left.root()));
      CHECK(opened->format().uuid == at.uuid);
      CHECK(opened->secret().id() == test_secret().id());
      CHECK(opened->head().generation == 3);
      CHECK(show(describe(*good(open_past(*opened, 1)))) == show(at.before[1]));
    }
  }
}

TEMPLATE_TEST_CASE("history check: a list that is damaged loses what is before it", "[txn][mend]", SimWorld,
                   PosixWorld) {
  for (const Damage kind : k_damages) {
    INFO(static_cast<int>(kind));
    Fixture<TestType> at;
    CHECK(good(check_history(at.set.set())).lost.empty());
    Spot(at.set.set(), "history/3/changes").damage(kind);
    const HistoryCheck check = good(check_history(at.set.set()));
    CHECK(check.lost == std::vector<std::uint64_t>{2, 1});
    REQUIRE(check.damage);
    CHECK(check.damage->code == Errc::bad_set);
    CHECK_THAT(check.damage->context, Catch::StartsWith("history/3/changes: "));
  }
}

TEMPLATE_TEST_CASE("history check: what cannot be read now is not dropped for it", "[txn][mend]", SimWorld,
                   PosixWorld) {
  Fixture<TestType> at;
  const Spot list(at.set.set(), "history/3/changes");
  good(list.directory->remove_file(list.name));
  good(list.directory->create_directory(list.name));  // any error but that of damage
  const HistoryCheck check = good(check_history(at.set.set()));
  REQUIRE(check.damage);
  REQUIRE(check.damage->code != Errc::bad_set);
  std::vector<Decision> decisions = good(judge_generations(at.set.set(), RetentionPolicy{}, at.clock));
  const std::vector<std::uint64_t> before = dropped_by(decisions);
  CHECK(code(drop_lost(at.set.set(), decisions)) == check.damage->code);
  CHECK(dropped_by(decisions) == before);
}

// What a push would make anew, without the way back.
TEMPLATE_TEST_CASE("history check: the live generation is not there any more", "[txn][mend]", SimWorld, PosixWorld) {
  Fixture<TestType> at;
  CHECK(check_live_account(at.set.set()));
  good(fs::remove_tree(*good(at.set.set().control().open_directory(k_history_name)), "3"));
  CHECK(code(check_live_account(at.set.set())) == Errc::bad_set);
  const auto lock = good(WriterLock::acquire(at.set.set(), note_for(tx_id(1)), 0s, at.clock));
  CHECK(code(Transaction::begin(at.set.set(), *lock, tx_id(4), at.clock)) == Errc::bad_set);
}

// Not without a push that has seen it: a set that never had a history looks just so.
TEMPLATE_TEST_CASE("history check: none is there any more", "[txn][mend]", SimWorld, PosixWorld) {
  Fixture<TestType> at;
  fs::Directory& control = at.set.set().control();
  const bool was_seen = GENERATE(true, false);
  if (was_seen) note_past(at.set.set());
  good(fs::remove_tree(control, k_history_name));
  CHECK(good(History::open(at.set.set())).lacks_live() == was_seen);
  CHECK(check_live_account(at.set.set()).has_value() == !was_seen);
  const MendReport report = good(at.mend());
  CHECK(report.mended.size() == (was_seen ? 1U : 0U));
  CHECK(report.loss.has_value() == was_seen);
  CHECK(check_live_account(at.set.set()));
  CHECK(good(History::open(at.set.set())).numbers().size() == (was_seen ? 1U : 0U));
}

TEMPLATE_TEST_CASE("mend: the live generation is there again, and leads to none", "[txn][mend]", SimWorld, PosixWorld) {
  Fixture<TestType> at;
  good(fs::remove_tree(*good(at.set.set().control().open_directory(k_history_name)), "3"));
  const MendReport report = good(at.mend());
  REQUIRE(report.mended.size() == 1);
  CHECK_THAT(report.mended.front(), Catch::StartsWith("history/3/generation"));
  CHECK(check_live_account(at.set.set()));
  const HistoryCheck check = good(check_history(at.set.set()));
  CHECK(check.lost == std::vector<std::uint64_t>{2, 1});
  REQUIRE(check.damage);
  CHECK_THAT(check.damage->context, Catch::StartsWith("history/3/changes: missing"));
}

TEMPLATE_TEST_CASE("history check: an account that leads to none where older ones are kept", "[txn][mend]", SimWorld,
                   PosixWorld) {
  Fixture<TestType> at;
  const auto third = good(at.set.set().control().open_directory_path(RelPath::parse("history/3").value()));
  good(third->remove_file(k_generation_name));
  Generation alone;
  alone.number = 3;
  good(write_new_file(*third, k_generation_name, encode(alone)));
  const HistoryCheck check = good(check_history(at.set.set()));
  CHECK(check.lost == std::vector<std::uint64_t>{2, 1});
  REQUIRE(check.damage);
  CHECK(check.damage->code == Errc::bad_set);
  CHECK_THAT(check.damage->context, Catch::StartsWith("history/3: "));
}

TEMPLATE_TEST_CASE("history check: what is lost can be dropped, the rest stays", "[txn][mend]", SimWorld, PosixWorld) {
  for (const Damage kind : k_damages) {
    INFO(static_cast<int>(kind));
    Fixture<TestType> at;
    Spot(at.set.set(), "history/2/changes").damage(kind);
    Spot(at.set.set(), "history/1/generation").damage(kind);
    CHECK(good(check_history(at.set.set())).lost == std::vector<std::uint64_t>{1});
    const auto lock = good(WriterLock::acquire(at.set.set(), note_for(tx_id(1)), 0s, at.clock));
    const ThinReport report = good(drop_generations(at.set.set(), *lock, at.clock, {1}));
    CHECK(report.problems.empty());
    CHECK(report.dropped == std::vector<std::uint64_t>{1});
    CHECK(good(check_history(at.set.set())).lost.empty());
    CHECK(show(describe(*at.set.past(2))) == show(at.before[2]));
    CHECK(show(describe(*at.set.past(3))) == show(at.before[3]));
  }
}

}  // namespace nb::txn::test
