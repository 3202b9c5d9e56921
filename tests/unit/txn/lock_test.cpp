// SPDX-License-Identifier: Apache-2.0
// Writers, readers and ghosts.
#include <sys/wait.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <csignal>

#include "scratch.hpp"
#include "tree.hpp"
#include "txn/apply_lock.hpp"

namespace nb::txn::test {
namespace {

using namespace std::chrono_literals;

std::unique_ptr<FileSet> open_at(const Scratch& scratch) { return FileSet::open(scratch.root()).value(); }

std::unique_ptr<FileSet> make_at(const Scratch& scratch) {
  return FileSet::create(scratch.root(), Lifetime::permanent, test_secret()).value();
}

TEST_CASE("a second writer is told who holds the set", "[txn][lock]") {
  const Scratch scratch;
  const auto set = make_at(scratch);
  StepClock clock;
  const LockNote note = lock_note_of_this_process("backup@laptop", tx_id(1), clock);
  auto first = WriterLock::acquire(*set, note, 0s, clock).value();
  const auto other = open_at(scratch);
  const auto second = WriterLock::acquire(*other, note_for(tx_id(2)), 5s, clock);
  REQUIRE(!second);
  CHECK(second.error().code == Errc::locked);
  CHECK(second.error().context.find("backup@laptop") != std::string::npos);
  CHECK(second.error().context.find(std::to_string(::getpid())) != std::string::npos);
  CHECK(clock.steady().time_since_epoch() >= 5s);
  first.reset();
  CHECK(WriterLock::acquire(*other, note_for(tx_id(2)), 0s, clock));
}

TEST_CASE("a writer that waits gets the lock when it is free", "[txn][lock]") {
  const Scratch scratch;
  const auto set = make_at(scratch);
  StepClock clock;
  auto first = WriterLock::acquire(*set, note_for(tx_id(1)), 0s, clock).value();
  int pauses = 0;
  clock.on_pause = [&] {
    if (++pauses == 3) first.reset();
  };
  const auto other = open_at(scratch);
  CHECK(WriterLock::acquire(*other, note_for(tx_id(2)), 10s, clock));
  CHECK(pauses == 3);
}

TEST_CASE("a writer that gets the lock sees what the one before it has committed", "[txn][lock]") {
  const Scratch scratch;
  const auto root = make_set(scratch.root(), rich_old(), rich_untouched());
  const auto early = FileSet::open(root->reopen().value()).value();
  REQUIRE(run(root->reopen().value(), rich_new(), rich_untouched(), tx_id(2)));
  StepClock clock;
  CHECK(early->head().generation == 1);
  const auto lock = WriterLock::acquire(*early, note_for(tx_id(3)), 0s, clock).value();
  CHECK(early->head().generation == 2);
}

TEST_CASE("readers share, a commit takes it alone", "[txn][lock]") {
  const Scratch scratch;
  const auto set = make_at(scratch);
  StepClock clock;
  auto one = ReaderLock::acquire(*set, 0s, clock).value();
  auto two = ReaderLock::acquire(*open_at(scratch), 0s, clock).value();
  CHECK(take_apply_lock(*set, 2s, clock).error().code == Errc::readers_busy);
  one.reset();
  CHECK(take_apply_lock(*set, 0s, clock).error().code == Errc::readers_busy);
  two.reset();
  auto apply = take_apply_lock(*set, 0s, clock).value();
  CHECK(ReaderLock::acquire(*open_at(scratch), 2s, clock).error().code == Errc::locked);
  // The writer's own lock is another matter.
  CHECK(WriterLock::acquire(*open_at(scratch), note_for(tx_id(1)), 0s, clock));
  apply.reset();
  CHECK(ReaderLock::acquire(*open_at(scratch), 0s, clock));
}

TEST_CASE("every wait ends when it is told to", "[txn][lock]") {
  const Scratch scratch;
  const auto set = make_at(scratch);
  StepClock clock;
  int asked = 0;
  const GoOn go_on = [&] { return ++asked < 3; };
  SECTION("for the writer's lock") {
    const auto first = WriterLock::acquire(*open_at(scratch), note_for(tx_id(1)), 0s, clock).value();
    CHECK(WriterLock::acquire(*set, note_for(tx_id(2)), 3600s, clock, go_on).error().code == Errc::interrupted);
  }
  SECTION("for a commit to end") {
    const auto apply = take_apply_lock(*open_at(scratch), 0s, clock).value();
    CHECK(ReaderLock::acquire(*set, 3600s, clock, go_on).error().code == Errc::interrupted);
  }
  SECTION("for readers to end") {
    const auto reader = ReaderLock::acquire(*open_at(scratch), 0s, clock).value();
    CHECK(take_apply_lock(*set, 3600s, clock, go_on).error().code == Errc::interrupted);
  }
  CHECK(asked == 3);
}

// Another process that holds the writer's lock under `token` until a signal ends it.
class Holder {
 public:
  Holder(const Scratch& scratch, const TxId& token, std::uint64_t start_offset) {
    int ready[2];
    REQUIRE(::pipe(ready) == 0);
    m_pid = ::fork();
    REQUIRE(m_pid >= 0);
    if (m_pid == 0) hold(scratch, token, start_offset, ready[1]);
    char byte = 0;
    REQUIRE(::read(ready[0], &byte, 1) == 1);
    ::close(ready[0]);
    ::close(ready[1]);
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;
  ~Holder() {
    if (m_status == -1) {
      ::kill(m_pid, SIGKILL);
      ::waitpid(m_pid, &m_status, 0);
    }
  }

  [[nodiscard]] bool ended_by(int signal) {
    if (m_status == -1 && ::waitpid(m_pid, &m_status, WNOHANG) != m_pid) m_status = -1;
    return m_status != -1 && WIFSIGNALED(m_status) && WTERMSIG(m_status) == signal;
  }
  [[nodiscard]] bool alive() { return m_status == -1 && ::waitpid(m_pid, &m_status, WNOHANG) == 0; }

 private:
  [[noreturn]] static void hold(const Scratch& scratch, const TxId& token, std::uint64_t start_offset, int ready) {
    SystemClock clock;
    ::signal(SIGTERM, SIG_DFL);
    auto set = FileSet::open(scratch.root());
    LockNote note = lock_note_of_this_process("ghost@here", token, clock);
    note.pid_start += start_offset;
    auto lock = set ? WriterLock::acquire(**set, note, 0s, clock) : tl::make_unexpected(set.error());
    if (!lock || ::write(ready, "r", 1) != 1) ::_exit(1);
    while (true) ::pause();
  }

  pid_t m_pid = -1;
  int m_status = -1;
};

TEST_CASE("our own ghost is sent away", "[txn][lock]") {
  const Scratch scratch;
  make_at(scratch);
  Holder ghost(scratch, tx_id(5), 0);
  SystemClock clock;
  const auto set = open_at(scratch);
  // Even without --wait: a reconnect waits for its ghost.
  CHECK(WriterLock::acquire(*set, lock_note_of_this_process("x@y", tx_id(5), clock), 0s, clock));
  CHECK(ghost.ended_by(SIGTERM));
}

TEST_CASE("nobody else is sent away", "[txn][lock]") {
  const Scratch scratch;
  make_at(scratch);
  StepClock clock;
  const auto set = open_at(scratch);
  SECTION("another transaction") {
    Holder other(scratch, tx_id(6), 0);
    CHECK(WriterLock::acquire(*set, note_for(tx_id(5)), 1s, clock).error().code == Errc::locked);
    CHECK(other.alive());
  }
  SECTION("a process that is not the one that wrote the note") {
    Holder other(scratch, tx_id(5), 1);
    CHECK(WriterLock::acquire(*set, note_for(tx_id(5)), 1s, clock).error().code == Errc::locked);
    CHECK(other.alive());
  }
  SECTION("no transaction at all") {
    Holder other(scratch, TxId{}, 0);
    CHECK(WriterLock::acquire(*set, note_for(TxId{}), 1s, clock).error().code == Errc::locked);
    CHECK(other.alive());
  }
}

}  // namespace
}  // namespace nb::txn::test
