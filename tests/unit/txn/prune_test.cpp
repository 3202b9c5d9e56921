// SPDX-License-Identifier: Apache-2.0
// Dropping what may not be dropped, what stands in the way, who waits for whom; the policy of a set; and what a commit
// does about it.
#include "txn/prune.hpp"

#include <catch2/catch.hpp>

#include "golden.hpp"
#include "history_model.hpp"
#include "txn/change_list.hpp"
#include "txn/history.hpp"
#include "txn/small_file.hpp"
#include "txn/thin_record.hpp"

namespace nb::txn::test {
namespace {

using fs::SimFileSystem;
using Numbers = std::vector<std::uint64_t>;

struct Writer {
  explicit Writer(const SimFileSystem& disk) : set(FileSet::open(disk.root()).value()) {
    lock = WriterLock::acquire(*set, note_for(tx_id(9)), std::chrono::seconds(0), clock).value();
  }
  StepClock clock;
  std::unique_ptr<FileSet> set;
  std::unique_ptr<WriterLock> lock;
};

// As many generations as wanted, one an hour, each of which changes the file "often" and makes one of its own.
SimFileSystem long_history(std::uint64_t count) {
  const SimFileSystem disk;
  REQUIRE(FileSet::create(disk.root(), Lifetime::permanent, test_secret()));
  const auto root = disk.root();
  const auto control = root->open_directory(k_control_name).value();
  const auto history = control->create_directory(k_history_name).value();
  for (std::uint64_t number = 0; number <= count; ++number) {
    const auto entry = history->create_directory(std::to_string(number)).value();
    Generation account;
    account.number = number;
    account.time_ns = static_cast<std::int64_t>(1'700'000'000 - (count - number) * 3600) * 1'000'000'000;
    if (number > 0) {
      account.previous = number - 1;
      auto list = ChangeListWriter::create(*entry, k_changes_name, {number, number - 1}).value();
      if (number > 1) {
        const auto files = entry->create_directory(k_files_name).value();
        REQUIRE(root->rename("often", *files, "often", fs::RenameMode::no_replace));
        REQUIRE(list.append(KeptEntry{RelPath::parse("often").value(), fs::FileType::regular}));
      } else {
        REQUIRE(list.append(Absent{RelPath::parse("often").value()}));
      }
      const std::string own = "own" + std::to_string(number);
      REQUIRE(write_new_file(*root, "often", as_bytes(own)));
      REQUIRE(write_new_file(*root, own, as_bytes(own)));
      REQUIRE(list.append(Absent{RelPath::parse(own).value()}));
      REQUIRE(list.finish());
    }
    REQUIRE(write_new_file(*entry, k_generation_name, encode(account)));
  }
  Head head;
  head.generation = count;
  REQUIRE(control->remove_file("head"));
  REQUIRE(write_new_file(*control, "head", encode(head)));
  return disk.after_crash(fs::CrashChoice::keep_all());
}

Numbers from_to(std::uint64_t first, std::uint64_t last) {
  Numbers numbers;
  for (std::uint64_t each = first; each <= last; ++each) numbers.push_back(each);
  return numbers;
}

TEST_CASE("the live generation and what is not kept cannot be dropped", "[txn][history][prune]") {
  const SimFileSystem disk = long_history(3);
  Writer at(disk);
  CHECK(drop_generations(*at.set, *at.lock, at.clock, {3}).error().code == Errc::usage);
  CHECK(drop_generations(*at.set, *at.lock, at.clock, {4}).error().code == Errc::not_found);
  CHECK(kept_generations(disk) == Numbers{0, 1, 2, 3});
  CHECK(drop_generations(*at.set, *at.lock, at.clock, {}).value().dropped.empty());
}

TEST_CASE("neighbours go in one pass, however many", "[txn][history][prune]") {
  const SimFileSystem few = long_history(40);
  const SimFileSystem many = long_history(400);
  const auto operations = [](const SimFileSystem& disk, std::uint64_t last) {
    Writer at(disk);
    const std::uint64_t before = disk.operations();
    const auto report = drop_generations(*at.set, *at.lock, at.clock, from_to(1, last - 1));
    REQUIRE(report);
    CHECK(report->dropped.size() == last - 1);
    CHECK(kept_generations(disk) == Numbers{0, last});
    return disk.operations() - before;
  };
  const std::uint64_t for_few = operations(few, 40);
  const std::uint64_t for_many = operations(many, 400);
  CHECK(for_many < for_few * 12);
  const Tree oldest = read_past(many, 0);
  CHECK(oldest.size() == 1);
}

TEST_CASE("readers are waited for, and nothing is changed if they stay", "[txn][history][prune]") {
  const SimFileSystem disk = long_history(3);
  Writer at(disk);
  auto reader = ReaderLock::acquire(*at.set, std::chrono::seconds(0), at.clock).value();
  const auto busy = drop_generations(*at.set, *at.lock, at.clock, {1, 2}, {std::chrono::seconds(5), {}});
  REQUIRE(!busy);
  CHECK(busy.error().code == Errc::readers_busy);
  CHECK(kept_generations(disk) == Numbers{0, 1, 2, 3});
  CHECK(!at.set->needs_recovery().value());
  std::string leftovers;
  is_clean(*disk.root(), leftovers);
  CHECK(leftovers.empty());
  at.clock.on_pause = [&reader] { reader.reset(); };
  CHECK(drop_generations(*at.set, *at.lock, at.clock, {1, 2}).value().dropped == Numbers{2, 1});
}

TEST_CASE("an interrupt before the decision changes nothing", "[txn][history][prune]") {
  const SimFileSystem disk = long_history(3);
  Writer at(disk);
  const auto ended =
      drop_generations(*at.set, *at.lock, at.clock, {1}, {std::chrono::seconds(5), [] { return false; }});
  REQUIRE(!ended);
  CHECK(ended.error().code == Errc::interrupted);
  CHECK(kept_generations(disk) == Numbers{0, 1, 2, 3});
}

TEST_CASE("what cannot be moved keeps its generation, and the others go", "[txn][history][prune]") {
  SimFileSystem disk = long_history(6);
  disk.set_immutable(".nbackup/history/4/files/often");
  Writer at(disk);
  // 4 would have to give what it keeps to 5; 1 and 2 go into 3.
  const auto report = drop_generations(*at.set, *at.lock, at.clock, {1, 2, 4});
  REQUIRE(report);
  CHECK(report->dropped == Numbers{2, 1});
  REQUIRE(report->problems.size() == 1);
  CHECK(report->problems[0].generation == 4);
  CHECK(report->problems[0].error.code == Errc::not_permitted);
  CHECK(kept_generations(disk) == Numbers{0, 3, 4, 5, 6});
  disk.clear_immutable(".nbackup/history/4/files/often");
  CHECK(drop_generations(*at.set, *at.lock, at.clock, {4}).value().dropped == Numbers{4});
}

TEST_CASE("a damaged list keeps its generation", "[txn][history][prune]") {
  const SimFileSystem disk = long_history(4);
  Writer at(disk);
  const auto entry = at.set->control().open_directory_path(RelPath::parse("history/2").value()).value();
  REQUIRE(entry->open_file(k_changes_name, fs::OpenMode::read_write).value()->write_at(30, as_bytes("xx")));
  const auto report = drop_generations(*at.set, *at.lock, at.clock, {2});
  REQUIRE(report);
  CHECK(report->dropped.empty());
  REQUIRE(report->problems.size() == 1);
  CHECK(report->problems[0].error.code == Errc::bad_set);
  // The oldest goes whatever its list holds, and with it what led there.
  CHECK(drop_generations(*at.set, *at.lock, at.clock, {0, 1, 2}).value().dropped == Numbers{2, 1, 0});
}

TEST_CASE("a damaged decision stops everything", "[txn][history][prune]") {
  const SimFileSystem disk = long_history(2);
  Writer at(disk);
  const auto history = at.set->control().open_directory(k_history_name).value();
  REQUIRE(write_new_file(*history, k_merge_name, as_bytes("not a merge")));
  CHECK(at.set->needs_recovery().value());
  CHECK(recover(*at.set, *at.lock, at.clock).error().code == Errc::recovery_failed);
}

TEST_CASE("the record of a decision has the bytes that are documented", "[txn][records]") {
  const RelPath path = RelPath::parse("a/b").value();
  const auto check = [](const std::string& name, const Bytes& bytes) {
    INFO(name << ": " << to_hex(bytes));
    CHECK(bytes == golden(name));
  };
  check("thin_header", encode(ThinHeader{tx_id(7), 3}));
  check("thin_merge", encode(ThinOp(Merge{300, true})));
  check("thin_dropped", encode(ThinOp(Dropped{299})));
  check("thin_clear", encode(ThinOp(ClearKept{path, 1})));
  check("thin_take", encode(ThinOp(TakeKept{path, 299, 2})));
  check("thin_parent", encode(ThinOp(MakeParent{path})));
  check("thin_barrier", encode(ThinOp(ThinBarrier{})));
}

// --- Policy ---

TEST_CASE("a policy is kept until it is taken away", "[txn][prune]") {
  const SimFileSystem disk = long_history(1);
  Writer at(disk);
  CHECK(!read_policy(*at.set).value());
  SetPolicy policy;
  policy.keep.daily = 3;
  REQUIRE(write_policy(*at.set, *at.lock, policy));
  CHECK(read_policy(*FileSet::open(disk.after_crash(fs::CrashChoice::lose_all()).root()).value()).value() == policy);
  REQUIRE(write_policy(*at.set, *at.lock, std::nullopt));
  CHECK(!read_policy(*FileSet::open(disk.after_crash(fs::CrashChoice::lose_all()).root()).value()).value());
  REQUIRE(write_new_file(at.set->control(), "policy", as_bytes("nonsense")));
  CHECK(read_policy(*at.set).error().code == Errc::bad_set);
}

TEST_CASE("a commit drops what the policy does not keep", "[txn][prune]") {
  const SimFileSystem disk = long_history(9);
  Writer at(disk);
  // All of them are within 30 days.
  CHECK(prune_after_commit(*at.set, *at.lock, at.clock).value().dropped.empty());
  SetPolicy policy{{}, std::nullopt};
  policy.keep.last = 3;
  REQUIRE(write_policy(*at.set, *at.lock, policy));
  CHECK(prune_after_commit(*at.set, *at.lock, at.clock).value().dropped == Numbers{6, 5, 4, 3, 2, 1, 0});
  CHECK(kept_generations(disk) == Numbers{7, 8, 9});
  CHECK(prune_after_commit(*at.set, *at.lock, at.clock).value().dropped.empty());
}

// Gives the account of one generation another time.
void redate(Writer& at, std::uint64_t number, std::int64_t time_ns) {
  const auto history = at.set->control().open_directory(k_history_name).value();
  const auto entry = history->open_directory(std::to_string(number)).value();
  Generation account = decode_generation(read_small_file(*entry, k_generation_name).value()).value();
  account.time_ns = time_ns;
  REQUIRE(entry->remove_file(k_generation_name));
  REQUIRE(write_new_file(*entry, k_generation_name, encode(account)));
}

TEST_CASE("the push that ends a long pause does not drop what was before it", "[txn][prune]") {
  constexpr std::int64_t k_day_ns = 86'400LL * 1'000'000'000;
  const SimFileSystem disk = long_history(20);
  Writer at(disk);
  const auto history = History::open(*at.set).value();
  // The default policy: the last 7, and 30 days.
  for (std::uint64_t number = 0; number < 20; ++number) {
    redate(at, number, history.read(number)->time_ns - 60 * k_day_ns);
  }
  CHECK(prune_after_commit(*at.set, *at.lock, at.clock).value().dropped.empty());
  // By hand it is as the policy says.
  const SetPolicy policy = policy_of(*at.set).value();
  CHECK(dropped_by(judge_generations(*at.set, policy.keep, at.clock).value()).size() == 21 - 7);
}

TEST_CASE("a generation whose time was lost stays", "[txn][prune]") {
  const SimFileSystem disk = long_history(9);
  Writer at(disk);
  redate(at, 4, 0);
  SetPolicy policy{{}, std::nullopt};
  policy.keep.last = 2;
  REQUIRE(write_policy(*at.set, *at.lock, policy));
  CHECK(prune_after_commit(*at.set, *at.lock, at.clock).value().dropped == Numbers{7, 6, 5, 3, 2, 1, 0});
  CHECK(kept_generations(disk) == Numbers{4, 8, 9});
}

TEST_CASE("an ephemeral set and one without history have nothing to prune", "[txn][prune]") {
  const SimFileSystem disk;
  REQUIRE(FileSet::create(disk.root(), Lifetime::permanent, test_secret()));
  Writer at(disk);
  CHECK(prune_after_commit(*at.set, *at.lock, at.clock).value().dropped.empty());
}

// Whether this call looks through all generations: it makes a new note of it then.
bool looks(Writer& at) {
  const auto note = [&at] {
    const auto history = at.set->control().open_directory(k_history_name).value();
    const auto stat = find_name(*history, "judged").value();
    return stat ? stat->inode : 0;
  };
  const std::uint64_t before = note();
  REQUIRE(prune_after_commit(*at.set, *at.lock, at.clock));
  return note() != before;
}

void set_head(Writer& at, std::uint64_t generation) {
  Head head;
  head.generation = generation;
  REQUIRE(at.set->control().remove_file("head"));
  REQUIRE(write_new_file(at.set->control(), "head", encode(head)));
  REQUIRE(at.set->reload());
}

TEST_CASE("a long history is not looked through after every commit", "[txn][prune]") {
  const SimFileSystem disk = long_history(200);
  Writer at(disk);
  SetPolicy policy{{}, std::nullopt};
  policy.keep.last = k_keep_all;
  REQUIRE(write_policy(*at.set, *at.lock, policy));
  CHECK(looks(at));
  CHECK(!looks(at));
  set_head(at, 201);
  CHECK(!looks(at));
  // One in eight is new.
  set_head(at, 200 + 26);
  CHECK(looks(at));
  CHECK(!looks(at));
  policy.keep.daily = 1;
  REQUIRE(write_policy(*at.set, *at.lock, policy));
  CHECK(looks(at));
  CHECK(!looks(at));
}

}  // namespace
}  // namespace nb::txn::test
