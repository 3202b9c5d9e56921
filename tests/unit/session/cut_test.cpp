// SPDX-License-Identifier: Apache-2.0
// The connection is cut everywhere in a small session: the destination is the old or the new tree, and running again
// gives the new one.
#include <catch2/catch.hpp>
#include <filesystem>

#include "fs/posix_directory.hpp"
#include "txn/lock.hpp"
#include "unit/session/rig.hpp"

using namespace nb;
using namespace nb::test;
namespace stdfs = std::filesystem;

namespace {

struct Pushed {
  std::map<std::string, std::string> old_tree;
  std::map<std::string, std::string> new_tree;
};

Pushed prepare(Rig& rig) {
  rig.job.options.flags = wire::k_flag_delete;
  put(rig.source("keep"), "same");
  put(rig.source("change"), "before");
  put(rig.source("dir/gone"), "gone");
  REQUIRE(rig.push().has_value());
  Pushed pushed;
  pushed.old_tree = tree_of(rig.pool());
  put(rig.source("change"), "after it");
  put(rig.source("tree/new"), "new");
  put(rig.source("tree/large"), std::string(100'000, 'x'));
  stdfs::remove(rig.source("dir/gone"));
  pushed.new_tree = tree_of(rig.source());
  return pushed;
}

// How many bytes each side writes in the second push when nothing is cut.
session::Counts measure() {
  Rig rig;
  prepare(rig);
  return rig.push()->counts;
}

// Whether the push felt it.
bool check_cut(PipeOptions cut) {
  Rig rig;
  const Pushed pushed = prepare(rig);
  rig.next_pipes = {cut};
  const auto report = rig.push();
  rig.settle();
  const auto found = tree_of(rig.pool());
  // A server whose client is gone may have committed; either tree is right, a mix never is.
  if (!report) {
    CHECK((report.error().code == Errc::connection_lost || report.error().code == Errc::protocol));
    CHECK((found == pushed.old_tree || found == pushed.new_tree));
  } else {
    CHECK(found == pushed.new_tree);
  }
  REQUIRE(rig.push().has_value());
  CHECK(tree_of(rig.pool()) == pushed.new_tree);
  CHECK(leftovers(rig.pool()).empty());
  return !report;
}

// What somebody else has who writes to the set meanwhile.
class OtherWriter {
 public:
  explicit OtherWriter(const std::string& pool)
      : m_set(txn::FileSet::open(fs::open_user_directory(pool).value()).value()),
        m_lock(txn::WriterLock::acquire(*m_set, txn::lock_note_of_this_process("other", {}, m_clock),
                                        std::chrono::seconds(0), m_clock)
                   .value()) {}

 private:
  SystemClock m_clock;
  std::unique_ptr<txn::FileSet> m_set;
  std::unique_ptr<txn::WriterLock> m_lock;
};

}  // namespace

TEST_CASE("a cut anywhere on the way there", "[session]") {
  const std::uint64_t all = measure().sent_bytes;
  // Every byte of the control messages, then coarser through the bulk.
  unsigned cuts = 0;
  unsigned felt = 0;
  for (std::uint64_t at = 0; at < all; at += at < 1500 ? 13 : 4999) {
    CAPTURE(at);
    PipeOptions cut;
    cut.cut_after_bytes = at;
    felt += check_cut(cut) ? 1 : 0;
    ++cuts;
  }
  CHECK(felt > cuts / 2);
}

TEST_CASE("a cut anywhere on the way back", "[session]") {
  const std::uint64_t all = measure().received_bytes;
  unsigned cuts = 0;
  unsigned felt = 0;
  for (std::uint64_t at = 0; at < all; at += 7) {
    CAPTURE(at);
    PipeOptions cut;
    cut.cut_back_after_bytes = at;
    felt += check_cut(cut) ? 1 : 0;
    ++cuts;
  }
  CHECK(felt > cuts / 2);
}

TEST_CASE("a lost connection is tried again and the commit is made once", "[session]") {
  const session::Counts counts = measure();
  unsigned runs = 0;
  unsigned retried = 0;
  for (std::uint64_t at = 40; at < counts.received_bytes; at += 11) {
    CAPTURE(at);
    Rig rig;
    const Pushed pushed = prepare(rig);
    PipeOptions cut;
    cut.cut_back_after_bytes = at;
    rig.next_pipes = {cut, {}};
    rig.retry.attempts = 2;
    const auto report = rig.push();
    REQUIRE(report.has_value());
    CHECK(report->result.generation == 2);
    CHECK(tree_of(rig.pool()) == pushed.new_tree);
    retried += rig.next_pipes.empty() ? 1 : 0;
    ++runs;
  }
  CHECK(retried > runs / 2);
}

// A push that loses the last `lost` bytes of the answer, and somebody else has the lock when it comes back. Nothing where
// nothing was lost, or more than the answer: how many bytes there are is not the same in each run.
std::optional<Result<session::RunReport>> push_cut_near_the_end(Rig& rig, std::uint64_t all, std::uint64_t lost) {
  PipeOptions cut;
  cut.cut_back_after_bytes = all - lost;
  rig.next_pipes = {cut, {}};
  rig.retry.attempts = 1;
  std::optional<OtherWriter> other;
  rig.before_reconnecting = [&] { other.emplace(rig.pool()); };
  auto report = rig.push();
  rig.before_reconnecting = {};
  if (!other) return std::nullopt;
  return report;
}

TEST_CASE("a commit whose answer was lost is known while somebody else writes", "[session]") {
  const session::Counts counts = measure();
  bool was_known = false;
  for (std::uint64_t lost = 1; lost < 60 && !was_known; ++lost) {
    Rig rig;
    const Pushed pushed = prepare(rig);
    rig.settle();
    const auto report = push_cut_near_the_end(rig, counts.received_bytes, lost);
    if (!report || tree_of(rig.pool()) != pushed.new_tree) continue;
    REQUIRE(report->has_value());
    CHECK((*report)->result.committed);
    CHECK((*report)->result.generation == 2);
    was_known = true;
  }
  CHECK(was_known);
}

// A push that is cut off once nothing but its commit is left, while somebody else has the lock until connection number
// `until`. Nothing where the commit was made or the plan was cut, as above.
std::optional<Result<session::RunReport>> push_that_asks_too_early(Rig& rig, std::uint64_t lost_bytes, unsigned until) {
  const Pushed pushed = prepare(rig);
  rig.settle();
  PipeOptions cut;
  cut.cut_back_after_bytes = measure().received_bytes - lost_bytes;
  rig.next_pipes = {cut, {}};
  rig.retry.attempts = 1;
  std::optional<OtherWriter> other;
  unsigned connections = 1;
  bool is_unknown = false;
  rig.before_reconnecting = [&] {
    ++connections;
    if (connections == 2) is_unknown = tree_of(rig.pool()) != pushed.new_tree;
    if (connections == 2 && is_unknown) other.emplace(rig.pool());
    if (connections == until) other.reset();
  };
  auto report = rig.push();
  rig.before_reconnecting = {};
  if (!is_unknown) return std::nullopt;
  return report;
}

TEST_CASE("a run waits for the commit that it asks about as long as for any other writer", "[session]") {
  bool has_waited = false;
  for (std::uint64_t lost = 1; lost < 200 && !has_waited; ++lost) {
    Rig rig;
    const auto report = push_that_asks_too_early(rig, lost, 5);
    if (!report) continue;
    REQUIRE(report->has_value());
    CHECK((*report)->result.generation == 2);
    has_waited = true;
  }
  CHECK(has_waited);
}

TEST_CASE("a run that ends without an answer to its commit says so", "[session]") {
  bool was_told = false;
  for (std::uint64_t lost = 1; lost < 200 && !was_told; ++lost) {
    Rig rig;
    rig.job.options.wait = std::chrono::seconds(0);
    const auto report = push_that_asks_too_early(rig, lost, 5);
    if (!report) continue;
    REQUIRE_FALSE(report->has_value());
    CHECK(report->error().code == Errc::locked);
    CHECK_THAT(report->error().message(), Catch::Contains("may still be committing"));
    was_told = true;
  }
  CHECK(was_told);
}

TEST_CASE("a dry run that is cut off asks for no commit", "[session]") {
  for (const std::uint64_t flag : {wire::k_flag_dry_run, wire::k_flag_verify}) {
    Rig rig;
    prepare(rig);
    rig.job.options.flags |= flag;
    const auto whole = rig.push();
    REQUIRE(whole.has_value());
    bool was_cut = false;
    for (std::uint64_t lost = 1; lost < 60 && !was_cut; ++lost) {
      rig.settle();
      const auto report = push_cut_near_the_end(rig, whole->counts.received_bytes, lost);
      if (!report) continue;
      REQUIRE(report->has_value());
      CHECK((*report)->result.differences == whole->result.differences);
      was_cut = true;
    }
    CHECK(was_cut);
  }
}
