// SPDX-License-Identifier: Apache-2.0
#include "session/pending_links.hpp"

#include <catch2/catch.hpp>
#include <random>

using namespace nb;
using namespace nb::session;

namespace {

RelPath some_path(std::mt19937_64& random) {
  RelPath path;
  for (std::uint64_t depth = random() % 4; depth > 0; --depth) path = path.child("d" + std::to_string(random() % 3));
  if (random() % 2 == 0) return path.child("name" + std::to_string(random() % 1000));
  return path.child(std::string(1 + random() % 255, static_cast<char>('a' + random() % 26)));
}

PendingLink some_link(std::mt19937_64& random) {
  PendingLink link;
  link.path = some_path(random);
  link.leader = some_path(random);
  link.spot.slot = random() >> random() % 64;
  link.spot.in_tree = random() % 2 == 0;
  if (link.spot.in_tree) {
    link.spot.below = link.path.parent();
    link.spot.name = link.path.name();
  }
  link.in_live = random() % 2 == 0;
  if (random() % 3 == 0) {
    link.replaced.emplace();
    link.replaced->inode = random();
    link.replaced->size = random() % 100'000;
    link.replaced->mtime = {static_cast<std::int64_t>(random() % 1'000'000), 7};
  }
  link.type = random() % 2 == 0 ? fs::FileType::regular : fs::FileType::symlink;
  link.size = random() >> random() % 64;
  link.mtime = {-static_cast<std::int64_t>(random() % 1'000'000), static_cast<std::uint32_t>(random() % 1'000'000'000)};
  if (random() % 2 == 0) {
    link.content.emplace();
    link.content->bytes.front() = static_cast<std::byte>(random() % 256);
    link.content->bytes.back() = static_cast<std::byte>(random() % 256);
  }
  return link;
}

bool same(const PendingLink& a, const PendingLink& b) {
  return a.path == b.path && a.leader == b.leader && a.spot.slot == b.spot.slot && a.spot.in_tree == b.spot.in_tree &&
         a.spot.below == b.spot.below && a.spot.name == b.spot.name && a.in_live == b.in_live &&
         a.replaced == b.replaced && a.type == b.type && a.size == b.size && a.mtime == b.mtime &&
         a.content == b.content;
}

}  // namespace

TEST_CASE("links come back as they were put in, in their order", "[session]") {
  std::mt19937_64 random(1);
  std::vector<PendingLink> put;
  PendingLinks links;
  for (int i = 0; i < 20'000; ++i) {  // many pieces
    put.push_back(some_link(random));
    links.add(put.back());
  }
  for (int pass = 0; pass < 2; ++pass) {
    std::size_t found = 0;
    bool all_same = true;
    const Status read = links.for_each([&](const PendingLink& link) -> Status {
      all_same = all_same && found < put.size() && same(link, put[found]);
      ++found;
      return {};
    });
    CHECK(read);
    CHECK(all_same);
    CHECK(found == put.size());
  }
}

TEST_CASE("the first error ends the walk", "[session]") {
  std::mt19937_64 random(2);
  PendingLinks links;
  for (int i = 0; i < 3; ++i) links.add(some_link(random));
  int seen = 0;
  const Status ended =
      links.for_each([&](const PendingLink&) -> Status { return ++seen == 2 ? fail(Errc::io, "") : Status(); });
  CHECK_FALSE(ended);
  CHECK(seen == 2);
}

TEST_CASE("a leader is found where it was staged", "[session]") {
  const RelPath path = RelPath::parse("a/b/c").value();
  LeaderSpots leaders;
  CHECK_FALSE(leaders.contains(path));
  CHECK_FALSE(leaders.find(path));
  leaders.put(path, std::nullopt);
  CHECK(leaders.contains(path));
  CHECK_FALSE(leaders.find(path));
  const std::string name = "c";
  const Spot alone{7, false, {}, {}};
  const Spot in_top{8, true, {}, name};
  const Spot deep{9, true, RelPath::parse("b").value(), name};
  const Spot deepest{10, true, RelPath::parse("a/b").value(), name};
  for (const Spot& spot : {alone, in_top, deep, deepest}) {
    leaders.put(path, spot);
    const auto found = leaders.find(path);
    REQUIRE(found);
    CHECK(found->slot == spot.slot);
    CHECK(found->in_tree == spot.in_tree);
    CHECK(found->below == spot.below);
    CHECK(found->name == spot.name);
  }
}
