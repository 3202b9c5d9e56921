// SPDX-License-Identifier: Apache-2.0
// What a lister tells its memory of bare directories, and what it saves: the listing is the same with and without.
#include "scan/bare_memory.hpp"

#include <catch2/catch.hpp>

#include <map>
#include <set>
#include <utility>

#include "base/text.hpp"
#include "fs/sim_directory.hpp"
#include "scan/lister.hpp"

namespace nb::scan::test {
namespace {

// Keeps all that it is told, so that the test sees what the lister tells.
class Memory final : public BareMemory {
 public:
  [[nodiscard]] WallTime now() const override { return {}; }
  bool is_bare(const fs::Directory&, const fs::Stat& stat, const hash::Digest& files) override {
    asked.push_back(files);
    return answers_yes || known.contains({stat.inode, files});
  }
  void record(const fs::Directory&, const Finding& finding) override {
    known.insert({finding.stat.inode, finding.files});
    ++records;
  }
  std::vector<hash::Digest> asked;
  std::set<std::pair<std::uint64_t, hash::Digest>> known;
  int records = 0;
  bool answers_yes = false;
};

struct Fixture {
  fs::SimFileSystem disk;
  std::unique_ptr<fs::Directory> root = disk.root();
  Memory memory;

  Fixture() {
    for (int i = 0; i < 10; ++i) REQUIRE(root->create_file("f" + std::to_string(i)));
    REQUIRE(root->create_directory("sub"));
  }
  Listed list(BareMemory* bare, Compare compare = Compare::stat) {
    return Lister({.compare = compare, .secret = &secret, .bare = bare}).read(*root, RelPath()).value();
  }
  // The same as without a memory.
  void check_list() {
    const Listed with = list(&memory);
    const Listed without = list(nullptr);
    CHECK(with.entries == without.entries);
    CHECK(with.own == without.own);
    REQUIRE(with.stats.size() == with.entries.size());
    for (std::size_t i = 0; i < with.stats.size(); ++i) CHECK(fs::is_same_state(with.stats[i], without.stats[i]));
  }
  hash::Secret secret = hash::Secret::generate().value();
};

}  // namespace

TEST_CASE("a bare directory is told once and known from then on", "[scan]") {
  Fixture f;
  f.check_list();
  CHECK(f.memory.records == 1);
  f.check_list();
  CHECK(f.memory.records == 1);
  REQUIRE(f.memory.asked.size() == 2);
  CHECK(f.memory.asked[0] == f.memory.asked[1]);
}

TEST_CASE("files of a directory that is known to be bare are not asked", "[scan]") {
  Fixture f;
  REQUIRE(f.root->open_node("f3").value()->set_xattr("user.tag", "v"));
  f.memory.answers_yes = true;  // wrongly, which shows that it is believed
  CHECK(f.list(&f.memory).entries[3].meta.xattrs.empty());
  CHECK(f.memory.records == 0);
}

TEST_CASE("any change of a file is another fingerprint", "[scan]") {
  Fixture f;
  fs::Stat own = f.root->stat().value();
  std::vector<fs::NamedType> names = f.root->list().value();
  std::vector<fs::Stat> stats;
  for (const auto& item : names) stats.push_back(f.root->stat_at(item.name).value());
  const auto before = fingerprint_of(own, {names, stats});
  REQUIRE(before);
  SECTION("its ctime") { ++stats[4].ctime.nsec; }
  SECTION("its ctime, by a second") { ++stats[4].ctime.sec; }
  SECTION("its inode") { ++stats[4].inode; }
  SECTION("its name") { names[4].name += "x"; }
  SECTION("it is gone") {
    names.erase(names.begin());
    stats.erase(stats.begin());
  }
  SECTION("another one") {
    names.push_back({"z", fs::FileType::regular});
    stats.push_back(stats[0]);
  }
  SECTION("two change places") { std::swap(stats[4], stats[5]); }
  CHECK(fingerprint_of(own, {names, stats}).has_value());
  CHECK(fingerprint_of(own, {names, stats}) != before);
}

TEST_CASE("the fingerprint is the one of the document", "[scan]") {
  const fs::Stat own;
  std::vector<fs::NamedType> names;
  std::vector<fs::Stat> stats(8);
  for (std::size_t i = 0; i < stats.size(); ++i) {
    names.push_back({std::string(i + 1, 'n'), fs::FileType::regular});
    stats[i].inode = 1000 + i;
    stats[i].ctime = {-5 + static_cast<std::int64_t>(i), static_cast<std::uint32_t>(123'456'789 + i)};
  }
  CHECK(to_hex(fingerprint_of(own, {names, stats})->bytes) == "c8f7425564c518b0bc56ac88d450e7ac");
}

TEST_CASE("subdirectories do not count", "[scan]") {
  Fixture f;
  f.list(&f.memory);
  REQUIRE(f.root->open_directory("sub").value()->create_file("new"));
  REQUIRE(f.root->create_directory("another"));
  f.check_list();
  CHECK(f.memory.records == 1);
}

TEST_CASE("files of a mount have no fingerprint", "[scan]") {
  Fixture f;
  const fs::Stat own = f.root->stat().value();
  const std::vector<fs::NamedType> names = f.root->list().value();
  std::vector<fs::Stat> stats;
  for (const auto& item : names) stats.push_back(f.root->stat_at(item.name).value());
  SECTION("another device") { ++stats[4].device; }
  SECTION("another mount") { ++stats[4].mount; }
  SECTION("a mount point") { stats[4].mount_root = true; }
  CHECK_FALSE(fingerprint_of(own, {names, stats}));
}

TEST_CASE("few files are not worth a question", "[scan]") {
  Fixture f;
  for (int i = 3; i < 10; ++i) REQUIRE(f.root->remove_file("f" + std::to_string(i)));
  f.check_list();
  CHECK(f.memory.asked.empty());
  CHECK(f.memory.records == 0);
}

TEST_CASE("one attribute and the directory is not bare", "[scan]") {
  Fixture f;
  const char* name = GENERATE("user.tag", "user.rsync.%stat", "system.posix_acl_access");
  REQUIRE(f.root->open_node("f9").value()->set_xattr(name, name[0] == 'u' ? "100644 0,0 5:6" : "acl"));
  f.check_list();
  CHECK(f.memory.records == 0);
}

TEST_CASE("an attribute that is new is found in a directory that was bare", "[scan]") {
  Fixture f;
  f.list(&f.memory);
  REQUIRE(f.root->open_node("f3").value()->set_xattr("user.tag", "v"));
  REQUIRE(f.root->open_node("f3").value()->set_mode(0640));  // moves ctime, whatever the attribute did
  f.check_list();
  CHECK(f.list(&f.memory).entries[3].meta.xattrs.size() == 1);
  CHECK(f.memory.records == 1);
}

TEST_CASE("where contents are compared every file is asked right before it is read", "[scan]") {
  Fixture f;
  f.list(&f.memory, Compare::content);
  CHECK(f.memory.asked.empty());
  CHECK(f.memory.records == 0);
}

}  // namespace nb::scan::test
