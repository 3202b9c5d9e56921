// SPDX-License-Identifier: Apache-2.0
// A client that pushes what no honest source would: every lie is Errc::protocol or Errc::path, and nothing outside the
// destination, and nothing inside it, changes.
#include <array>
#include <catch2/catch.hpp>
#include <filesystem>

#include "scan/lister.hpp"
#include "session/run_options.hpp"
#include "unit/session/largest_file.hpp"
#include "unit/session/raw_peer.hpp"

using namespace nb;
using namespace nb::test;
namespace stdfs = std::filesystem;

namespace {

wire::Open push_to(const std::string& destination) {
  wire::Open open;
  open.transaction[0] = std::byte{1};
  open.client = "hostile";
  open.destination = destination;
  open.flags = wire::k_flag_allow_empty;
  return open;
}

wire::Entry file(const std::string& name, std::uint64_t size) {
  wire::Entry entry;
  entry.name = name;
  entry.size = size;
  entry.meta.mode = 0644;
  return entry;
}

// A session up to the point where the server wants the listing of the root.
class HostileSource {
 public:
  explicit HostileSource(const std::string& destination) : peer(session::ServeOptions{}) {
    peer.send(push_to(destination));
    const auto opened = peer.receive<wire::Opened>();
    secret = hash::Secret::from_bytes(opened.secret, Errc::protocol).value();
  }
  void announce(std::uint64_t id, const std::string& path, std::uint64_t entries) {
    peer.send(wire::DirectoryMessage{id, path_of(path), 0, entries, {}});
  }
  wire::Listing listing(std::uint64_t id, std::vector<wire::Entry> entries) const {
    return {id, true, fs::Metadata{0755, {}, {}, {}}, std::move(entries), {}};
  }
  RawPeer peer;
  std::optional<hash::Secret> secret;
};

}  // namespace

TEST_CASE("a source that breaks the order of things", "[session]") {
  TempDir dir;
  stdfs::create_directory(dir.path("pool"));
  put(dir.path("pool/kept"), "kept");
  put(dir.path("outside"), "outside");
  auto before = tree_of(dir.path());
  {
    HostileSource source(dir.path("pool"));
    SECTION("a listing that was not asked for") { source.peer.send(source.listing(0, {})); }
    SECTION("ids out of turn") { source.announce(1, "", 0); }
    SECTION("the first directory is not the root") { source.announce(0, "x", 0); }
    SECTION("a directory whose parent was never announced") {
      source.announce(0, "", 1);
      source.announce(1, "a/b", 0);
    }
    SECTION("siblings out of order") {
      source.announce(0, "", 2);
      source.announce(1, "b", 0);
      source.announce(2, "a", 0);
    }
    SECTION("the same directory twice") {
      source.announce(0, "", 1);
      source.announce(1, "a", 0);
      source.announce(2, "a", 0);
    }
    SECTION("more entries than announced") {
      source.announce(0, "", 1);
      source.peer.send(source.listing(0, {file("a", 0), file("b", 0)}));
    }
    SECTION("fewer entries than announced") {
      source.announce(0, "", 3);
      source.peer.send(source.listing(0, {file("a", 0)}));
    }
    SECTION("names out of order over two parts") {
      source.announce(0, "", 2);
      auto part = source.listing(0, {file("b", 0)});
      part.last = false;
      source.peer.send(part);
      auto rest = source.listing(0, {file("a", 0)});
      rest.own.reset();
      source.peer.send(rest);
    }
    SECTION("content that nobody wanted") {
      source.announce(0, "", 0);
      source.peer.send(wire::SmallFile{{0, 0}, {}, {}, as_bytes("x")});
    }
    SECTION("content with the wrong digest") {
      source.announce(0, "", 1);
      source.peer.send(source.listing(0, {file("a", 1)}));
      source.peer.send(wire::SmallFile{{0, 0}, {}, {}, as_bytes("x")});
    }
    SECTION("content of the wrong size") {
      source.announce(0, "", 1);
      source.peer.send(source.listing(0, {file("a", 5)}));
      source.peer.send(wire::SmallFile{{0, 0}, {}, hash::digest_of(as_bytes("x"), *source.secret), as_bytes("x")});
    }
    SECTION("data beyond the size") {
      source.announce(0, "", 1);
      source.peer.send(source.listing(0, {file("a", 100'000)}));
      source.peer.send(wire::FileBegin{{0, 0}, 2, {}});
      source.peer.send(wire::Data{0, as_bytes("xyz")});
    }
    SECTION("data at another offset") {
      source.announce(0, "", 1);
      source.peer.send(source.listing(0, {file("a", 100'000)}));
      source.peer.send(wire::FileBegin{{0, 0}, 100'000, {}});
      source.peer.send(wire::Data{5, as_bytes("xyz")});
    }
    SECTION("a file that ends too early") {
      source.announce(0, "", 1);
      source.peer.send(source.listing(0, {file("a", 100'000)}));
      source.peer.send(wire::FileBegin{{0, 0}, 100'000, {}});
      source.peer.send(wire::FileEnd{{0, 0}, wire::FileOutcome::complete, 0, {}});
    }
    SECTION("an end that does not fit what was announced") {
      source.announce(0, "", 0);
      source.peer.send(wire::ScanEnd{7, 7, 7, {}});
    }
    SECTION("a message that only a sink sends") { source.peer.send(wire::Want{{0, 0}, 0}); }
    SECTION("a second hello") { source.peer.send(wire::Hello{}); }
    CHECK(source.peer.error().code == Errc::protocol);
  }
  // The destination may get its control directory, and with that a new time.
  auto after = tree_of(dir.path());
  after.erase("pool");
  before.erase("pool");
  CHECK(after == before);
}

TEST_CASE("a source that lets more be outstanding than an honest one does", "[session]") {
  TempDir dir;
  stdfs::create_directory(dir.path("pool"));
  HostileSource source(dir.path("pool"));
  source.announce(0, "", 2);
  REQUIRE(source.peer.receive<wire::DirectoryReply>().kind == wire::ReplyKind::list);
  std::string why = "small file: not right behind its listing";
  source.announce(1, "a", 1'000);
  REQUIRE(source.peer.receive<wire::DirectoryReply>().kind == wire::ReplyKind::all);
  auto part = source.listing(1, {file("f", 5)});
  part.last = false;
  SECTION("contents that ride with a listing, and another directory") {
    source.peer.send(part);
    source.announce(2, "b", 0);
  }
  SECTION("contents that ride with a listing, and another listing") {
    source.peer.send(part);
    source.peer.send(source.listing(0, {}));
  }
  SECTION("contents that ride with a listing, and the end") {
    source.peer.send(part);
    source.peer.send(wire::ScanEnd{2, 1'002, 0, {}});
  }
  SECTION("as many entries as take the whole credit, and one more directory") {
    source.announce(2, "a/b", 100'000);
    source.announce(3, "a/b/c", 0);
    why = "more than the credit";
  }
  SECTION("attributes that take it") {
    auto heavy = file("f", 5);
    for (int i = 0; i < 10; ++i) heavy.meta.xattrs.push_back({"user." + std::to_string(i), std::string(60'000, 'x')});
    source.announce(2, "b", 0);
    for (const std::string name : {"f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7"}) {
      part.entries = {heavy};
      part.entries.front().name = name;
      source.peer.send(part);
      part.own.reset();
    }
    why = "more than the credit";
  }
  const Error error = source.peer.error();
  CHECK(error.code == Errc::protocol);
  CHECK_THAT(error.context, Catch::Contains(why));
}

TEST_CASE("how much is asked for at once is bounded whatever a source allows", "[session]") {
  const filter::Rules rules;
  const hash::Secret secret = hash::Secret::from_bytes(Bytes(32), Errc::protocol).value();
  wire::Hello source;
  const std::array<std::pair<std::uint64_t, std::uint64_t>, 3> cases = {
      {{0, 1}, {4096, 4096}, {~std::uint64_t{0}, 65'536}}};
  for (const auto& [allowed, used] : cases) {
    source.want_credit = allowed;
    CHECK(session::sink_options(0, source, {rules, secret}).want_credit == used);
  }
}

TEST_CASE("a hole that no file could hold is its file's problem", "[session]") {
  TempDir dir;
  stdfs::create_directory(dir.path("pool"));
  HostileSource source(dir.path("pool"));
  constexpr std::uint64_t k_endless = wire::k_max_file_bytes;
  source.announce(0, "", 2);
  auto part = source.listing(0, {file("f", k_endless)});
  part.last = false;
  source.peer.send(part);
  static_cast<void>(source.peer.receive<wire::DirectoryReply>());
  REQUIRE(source.peer.receive<wire::Want>().file == wire::FileKey{0, 0});
  const LargestFile limit(std::uint64_t{64} << 20);
  source.peer.send(wire::FileBegin{{0, 0}, k_endless, {}});
  source.peer.send(wire::Hole{0, k_endless});
  CHECK(source.peer.receive<wire::Problem>().context == "f at the destination");
  source.peer.send(wire::Hello{});
  CHECK(source.peer.error().code == Errc::protocol);
}

TEST_CASE("a source may not name the records of the set", "[session]") {
  TempDir dir;
  stdfs::create_directories(dir.path("pool/.nbackup"));
  for (const std::string& destination : {dir.path("pool/.nbackup"), dir.path("pool/.nbackup/x")}) {
    RawPeer peer{session::ServeOptions{}};
    peer.send(push_to(destination));
    const Errc code = peer.error().code;
    CHECK((code == Errc::path || code == Errc::bad_set));
  }
}

TEST_CASE("a directory of the destination that becomes a symlink in mid-run leads nowhere", "[session]") {
  TempDir dir;
  stdfs::create_directories(dir.path("pool/sub"));
  stdfs::create_directory(dir.path("outside"));
  put(dir.path("outside/victim"), "untouched");
  HostileSource source(dir.path("pool"));
  source.announce(0, "", 1);
  static_cast<void>(source.peer.receive<wire::DirectoryReply>());
  stdfs::remove(dir.path("pool/sub"));
  stdfs::create_directory_symlink(dir.path("outside"), dir.path("pool/sub"));
  wire::Entry sub;
  sub.name = "sub";
  sub.type = fs::FileType::directory;
  source.peer.send(source.listing(0, {sub}));
  source.announce(1, "sub", 1);
  source.peer.send(source.listing(1, {file("victim", 1)}));
  source.peer.send(wire::SmallFile{{1, 0}, {}, hash::digest_of(as_bytes("x"), *source.secret), as_bytes("x")});
  source.peer.send(wire::Goodbye{});
  CHECK(source.peer.error().code == Errc::protocol);
  CHECK(tree_of(dir.path("outside")).at("victim").ends_with("untouched"));
}

TEST_CASE("garbage instead of frames ends the session", "[session]") {
  RawPeer peer{session::ServeOptions{}};
  REQUIRE(peer.stream().write(Bytes(1000, std::byte{0x55})).has_value());
  CHECK(peer.error().code == Errc::protocol);
}

namespace {

// A set that has one large file, and a source that announces a second one of its size.
class DigestAsked {
 public:
  explicit DigestAsked(const std::string& content) {
    put(rig.source("image"), content);
    rig.serve.limits = {};
    REQUIRE(rig.push().has_value());
    source.emplace(rig.pool());
    image = file("image", content.size());
    auto copy = file("new", content.size());
    auto listing = source->listing(0, {image, copy});
    source->peer.send(wire::DirectoryMessage{0, RelPath(), 0, 2,
                                             scan::listing_digest(listing.own, listing.entries, *source->secret)});
    REQUIRE(source->peer.receive<wire::DirectoryReply>().kind == wire::ReplyKind::list);
    source->peer.send(listing);
    hash::FileHasher hasher(*source->secret);
    hasher.update(as_bytes(content));
    digest = hasher.finish();
    // The time of the first one differs too; it is its own basis.
    const auto first = source->peer.receive<wire::Want>();
    REQUIRE(first.file.index == 0);
    CHECK(first.basis.has_value());
    const auto want = source->peer.receive<wire::Want>();
    REQUIRE(want.file == key);
    REQUIRE(want.digest_first);
    CHECK_FALSE(want.basis.has_value());
    static_cast<void>(source->peer.receive<wire::DirectoryDone>());
  }
  Rig rig;
  std::optional<HostileSource> source;
  wire::Entry image;
  const wire::FileKey key{0, 1};
  hash::Digest digest;
};

}  // namespace

TEST_CASE("what a source may say of a file whose digest was asked for", "[session]") {
  const std::string content(100'000, 'i');
  DigestAsked asked(content);
  RawPeer& peer = asked.source->peer;
  SECTION("its digest: that ends it") {
    peer.send(wire::FileDigest{asked.key, asked.digest});
    CHECK(peer.receive<wire::BasisDone>().file == asked.key);
    peer.send(wire::FileDigest{asked.key, asked.digest});
  }
  SECTION("another digest: then the content is wanted") {
    peer.send(wire::FileDigest{asked.key, hash::Digest{}});
    const auto want = peer.receive<wire::Want>();
    CHECK(want.file == asked.key);
    CHECK_FALSE(want.digest_first);
    peer.send(wire::FileDigest{asked.key, asked.digest});
  }
  SECTION("nothing: the same") {
    peer.send(wire::FileDigest{asked.key, {}});
    CHECK(peer.receive<wire::Want>().file == asked.key);
    peer.send(wire::BasisDone{asked.key});
  }
  SECTION("its content at once") { peer.send(wire::FileBegin{asked.key, content.size(), {}}); }
  SECTION("that it cannot be read") { peer.send(wire::FileEnd{asked.key, wire::FileOutcome::unreadable, 5, {}}); }
  SECTION("the digest of another file") { peer.send(wire::FileDigest{{0, 0}, asked.digest}); }
  SECTION("the digest of a file that is not there") { peer.send(wire::FileDigest{{0, 2}, asked.digest}); }
  SECTION("a message for signatures") { peer.send(wire::SignatureRequest{asked.key, 0}); }
  CHECK(peer.error().code == Errc::protocol);
}
