// SPDX-License-Identifier: Apache-2.0
// How much history takes: what only it has, found once, and again where a list was replaced.
#include "txn/history_size.hpp"

#include "golden.hpp"
#include "past_world.hpp"
#include "txn/history.hpp"
#include "txn/small_file.hpp"
#include "txn/thin.hpp"
#include "unit/fs/world.hpp"

namespace nb::txn::test {
namespace {

constexpr std::uint64_t k_all = ~std::uint64_t{0};
constexpr std::uint64_t k_block = 4096;

using Fixture = PastFixture<fs::test::SimWorld>;

std::string content(std::uint64_t blocks) { return std::string(static_cast<std::size_t>(blocks * k_block), 'x'); }

HistorySize measured(Fixture& at) { return measure_history(at.set.set(), k_all).value().value(); }

std::unique_ptr<fs::Directory> history_of(Fixture& at) {
  return at.set.set().control().open_directory(k_history_name).value();
}

// Generation 2 has replaced one file and removed a directory with two, 7 blocks; 3 has only renamed a file of 16.
void make_history(Fixture& at) {
  at.set.file("a", content(1));
  at.set.directory("d");
  at.set.file("d/b", content(2));
  at.set.file("d/c", content(4));
  at.set.file("large", content(16));
  at.set.base(1);
  at.set.keep(2, "a");
  at.set.keep(2, "d");
  at.set.commit(2, {kept("a"), kept("d", fs::FileType::directory)});
  at.set.hard_link("large", "larger");
  at.set.keep(3, "large");
  at.set.commit(3, {kept("large"), absent("larger")});
}

Sizes sample() { return {true, {{0, 0}, {7, std::uint64_t{1} << 40}}}; }

}  // namespace

TEST_CASE("a history takes what only it has", "[txn][history]") {
  Fixture at;
  CHECK(measured(at) == HistorySize{0, 0});
  make_history(at);
  CHECK(measured(at) == HistorySize{7 * k_block, 3});
}

TEST_CASE("several names of one file in a generation count once", "[txn][history]") {
  Fixture at;
  at.set.file("a", content(2));
  at.set.hard_link("a", "b");
  at.set.base(1);
  at.set.keep(2, "a");
  at.set.keep(2, "b");
  at.set.commit(2, {kept("a"), kept("b")});
  CHECK(measured(at).bytes == 2 * k_block);
}

TEST_CASE("a generation is looked through once, and again when it was to change", "[txn][history]") {
  Fixture at;
  make_history(at);
  CHECK_FALSE(measure_history(at.set.set(), 3).value());
  CHECK(measured(at).bytes == 7 * k_block);
  CHECK(measure_history(at.set.set(), 0).value() == HistorySize{7 * k_block, 3});
  // What is put there by hand is not seen.
  REQUIRE(write_new_file(*at.set.files(2), "more", as_bytes(content(1))));
  CHECK(measured(at).bytes == 7 * k_block);
  REQUIRE(forget_sizes(*history_of(at), {3}));
  CHECK(measured(at).bytes == 7 * k_block);
  REQUIRE(forget_sizes(*history_of(at), {2}));
  CHECK(measured(at).bytes == 8 * k_block);
}

TEST_CASE("after a commit only its generation is looked at", "[txn][history]") {
  Fixture at;
  make_history(at);
  CHECK(measured(at) == HistorySize{7 * k_block, 3});
  at.set.keep(4, "larger");
  at.set.commit(4, {kept("larger")});
  // It would be seen if all were listed.
  REQUIRE(history_of(at)->create_directory("0"));
  CHECK(measure_history(at.set.set(), 1).value()->generations == 4);
  // Two that came unseen are found by listing.
  at.set.file("e", content(1));
  at.set.commit(5, {absent("e")});
  at.set.keep(6, "e");
  at.set.commit(6, {kept("e")});
  CHECK(measured(at) == HistorySize{8 * k_block, 7});
}

TEST_CASE("what is dropped is no longer counted", "[txn][history]") {
  Fixture at;
  make_history(at);
  CHECK(measured(at) == HistorySize{7 * k_block, 3});
  SystemClock clock;
  const auto lock = WriterLock::acquire(at.set.set(), note_for(tx_id(1)), std::chrono::seconds(0), clock).value();
  REQUIRE(drop_generations(at.set.set(), *lock, clock, {1}));
  CHECK(measured(at) == HistorySize{0, 2});
}

TEST_CASE("a record of sizes that is damaged or cannot be written is done without", "[txn][history]") {
  Fixture at;
  make_history(at);
  CHECK(measured(at).bytes == 7 * k_block);
  const auto history = history_of(at);
  Bytes record = read_small_file(*history, k_sizes_name).value();
  record[20] ^= std::byte{1};
  REQUIRE(history->remove_file(k_sizes_name));
  REQUIRE(write_new_file(*history, k_sizes_name, record));
  CHECK(measured(at).bytes == 7 * k_block);
  CHECK(read_small_file(*history, k_sizes_name).value() != record);
}

TEST_CASE("sizes: golden bytes, and what is none", "[txn][history]") {
  CHECK(encode(sample()) == golden("sizes"));
  CHECK(decode_sizes(golden("sizes")).value() == sample());
  Bytes longer = golden("sizes");
  longer.push_back(std::byte{0});
  CHECK(decode_sizes(longer).error().code == Errc::bad_set);
  for (std::size_t size = 0; size + 1 < longer.size(); ++size) {
    CHECK(decode_sizes(ByteView(longer).first(size)).error().code == Errc::bad_set);
  }
}

}  // namespace nb::txn::test
