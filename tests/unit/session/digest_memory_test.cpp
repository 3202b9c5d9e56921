// SPDX-License-Identifier: Apache-2.0
// What a client remembers of contents: a push tells it all that was read, a later comparison of contents asks it and
// reads no more, and a verification reads the destination whatever the memory says.
#include <catch2/catch.hpp>
#include <filesystem>
#include <mutex>
#include <tuple>

#include "cache/signature_memory.hpp"
#include "unit/session/rig.hpp"

using namespace nb;
using namespace nb::test;

namespace {

// Keeps everything, by what identifies a state; so the test decides what is believed.
class Memory final : public scan::DigestMemory {
 public:
  using Key = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, fs::Timestamp, fs::Timestamp, std::uint64_t>;
  [[nodiscard]] WallTime begin(const fs::Node&, const fs::Stat&) override { return m_clock.wall(); }
  std::optional<hash::Digest> find(const fs::Node&, const fs::Stat& stat, const hash::Secret& secret) override {
    const auto found = known.find(key(stat, secret));
    if (found == known.end()) return std::nullopt;
    ++hits;
    return found->second;
  }
  void record(const fs::Node& near, const Reading& reading, const hash::Secret& secret) override {
    CHECK(near.stat()->device == reading.stat.device);
    known[key(reading.stat, secret)] = reading.digest;
    ++records;
  }
  std::map<Key, hash::Digest> known;
  int hits = 0;
  int records = 0;

 private:
  static Key key(const fs::Stat& stat, const hash::Secret& secret) {
    return {stat.device, stat.inode, stat.size, stat.mtime, stat.ctime, secret.id()};
  }
  SystemClock m_clock;
};

void make_tree(const Rig& rig) {
  put(rig.source("small"), "small");
  put(rig.source("dir/large"), std::string(300'000, 'l'));
  put(rig.source("dir/empty"), "");
}

void spoil(Memory& memory) {
  for (auto& [key, digest] : memory.known) digest.bytes[0] ^= std::byte{1};
}

}  // namespace

TEST_CASE("what a push has read is not read again to verify it", "[session]") {
  Rig rig;
  Memory memory;
  rig.job.digests = &memory;
  make_tree(rig);
  REQUIRE(rig.push());
  CHECK(memory.records == 3);
  rig.job.options.flags = wire::k_flag_verify;
  const auto verified = rig.push();
  REQUIRE(verified);
  CHECK(verified->result.differences == 0);
  CHECK(memory.hits == 3);
  CHECK(memory.records == 3);
  spoil(memory);  // it is believed: what it says decides
  CHECK(rig.push()->result.differences > 0);
}

TEST_CASE("a file that changed is read again", "[session]") {
  Rig rig;
  Memory memory;
  rig.job.digests = &memory;
  make_tree(rig);
  REQUIRE(rig.push());
  const auto time = std::filesystem::last_write_time(rig.source("small"));
  put(rig.source("small"), "SMALL");
  std::filesystem::last_write_time(rig.source("small"), time);
  rig.job.options.flags = wire::k_flag_checksum;
  const auto second = rig.push();
  REQUIRE(second);
  CHECK(second->result.committed);
  CHECK(memory.hits == 2);
  CHECK(tree_of(rig.source()) == tree_of(rig.pool()));
}

TEST_CASE("a pull by contents into a set asks for what is here, a verification of it does not", "[session]") {
  Rig rig;
  Memory memory;
  make_tree(rig);
  REQUIRE(rig.push());
  rig.job.operation = wire::Operation::pull;
  rig.job.sources = {rig.source()};
  rig.job.destination = rig.pool();
  rig.job.digests = &memory;
  rig.job.options.flags = wire::k_flag_verify;
  REQUIRE(rig.run());
  CHECK(memory.records == 0);
  rig.job.options.flags = wire::k_flag_checksum;
  REQUIRE(rig.run());
  CHECK(memory.records == 3);
  REQUIRE(rig.run());
  CHECK(memory.hits == 3);
  spoil(memory);
  rig.job.options.flags = wire::k_flag_verify;
  const auto verified = rig.run();
  REQUIRE(verified);
  CHECK(verified->result.differences == 0);
  CHECK(memory.hits == 3);
}

TEST_CASE("nothing is remembered under a secret that ends with the run", "[session]") {
  Rig rig;
  Memory memory;
  make_tree(rig);
  REQUIRE(rig.push());
  rig.job.operation = wire::Operation::pull;
  rig.job.sources = {rig.pool()};
  rig.job.destination = rig.scratch("restored");
  rig.job.digests = &memory;
  rig.job.options.flags = wire::k_flag_checksum;
  REQUIRE(rig.run());
  REQUIRE(rig.run());
  CHECK(memory.records == 0);
}

namespace {

std::string noise(std::size_t bytes) {
  std::string text(bytes, 0);
  std::uint64_t state = 1;
  for (char& c : text) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    c = static_cast<char>(state >> 56U);
  }
  return text;
}

}  // namespace

TEST_CASE("a content that was sent as a delta need not be described again", "[session]") {
  Rig rig;
  SystemClock clock;
  cache::SignatureMemory memory(cache::open_client_store(rig.scratch("cache.db"), {}), clock);
  rig.job.signatures = &memory;
  std::string image = noise(std::size_t{8} << 20);
  const auto push_changed = [&](std::size_t at) {
    image[at] = static_cast<char>(~image[at]);
    put(rig.source("image"), image);
    auto report = rig.push();
    REQUIRE(report);
    CHECK(report->exit_code == 0);
    CHECK(tree_of(rig.pool()) == tree_of(rig.source()));
    CHECK(report->counts.content_bytes < 100'000);
    return report->counts.received_bytes;
  };
  put(rig.source("image"), image);
  REQUIRE(rig.push());
  const std::uint64_t signature_bytes = 88 * (image.size() / 65536);
  CHECK(push_changed(70'000) > signature_bytes);
  CHECK(push_changed(5'000'000) < signature_bytes / 4);
  CHECK(push_changed(70'001) < signature_bytes / 4);
  // Whoever trusts nothing has it described.
  rig.job.options.flags |= wire::k_flag_paranoid;
  CHECK(push_changed(123) > signature_bytes);
}
