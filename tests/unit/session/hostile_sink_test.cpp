// SPDX-License-Identifier: Apache-2.0
// A client that pulls and asks for what it has no right to: the serving source refuses with Errc::protocol.
#include <catch2/catch.hpp>
#include <filesystem>

#include "scan/lister.hpp"
#include "unit/session/raw_peer.hpp"

using namespace nb;
using namespace nb::test;
namespace stdfs = std::filesystem;

namespace {

wire::Open pull_of(const std::string& source) {
  wire::Open open;
  open.operation = wire::Operation::pull;
  open.client = "hostile";
  open.sources = {source};
  open.secret.assign(hash::k_secret_bytes, std::byte{1});
  return open;
}

}  // namespace

TEST_CASE("a sink that asks out of turn", "[session]") {
  TempDir dir;
  put(dir.path("data/a"), "alpha");
  put(dir.path("data/sub/b"), "beta");
  RawPeer peer{session::ServeOptions{}};
  peer.send(pull_of(dir.path("data/")));
  static_cast<void>(peer.receive<wire::Opened>());
  REQUIRE(peer.receive<wire::DirectoryMessage>().id == 0);
  SECTION("a want before any listing") { peer.send(wire::Want{{0, 0}, 0}); }
  SECTION("a want in a directory that is not there") { peer.send(wire::Want{{99, 0}, 0}); }
  SECTION("a reply out of order") { peer.send(wire::DirectoryReply{1, wire::ReplyKind::list}); }
  SECTION("a second reply") {
    peer.send(wire::DirectoryReply{0, wire::ReplyKind::same});
    peer.send(wire::DirectoryReply{0, wire::ReplyKind::list});
  }
  SECTION("a want beyond the listing") {
    peer.send(wire::DirectoryReply{0, wire::ReplyKind::list});
    peer.send(wire::Want{{0, 2}, 0});
  }
  SECTION("a want of a directory") {
    peer.send(wire::DirectoryReply{0, wire::ReplyKind::list});
    peer.send(wire::Want{{0, 1}, 0});
  }
  SECTION("a want from beyond the end") {
    peer.send(wire::DirectoryReply{0, wire::ReplyKind::list});
    peer.send(wire::Want{{0, 0}, 6});
  }
  SECTION("a want after the directory is done with") {
    peer.send(wire::DirectoryReply{0, wire::ReplyKind::list});
    peer.send(wire::DirectoryDone{0});
    peer.send(wire::Want{{0, 0}, 0});
  }
  SECTION("more wants than the credit") {
    peer.send(wire::DirectoryReply{0, wire::ReplyKind::list});
    for (int i = 0; i < 100'000; ++i) peer.send(wire::Want{{0, 0}, 0});
  }
  SECTION("a message that only a source sends") { peer.send(wire::ScanEnd{}); }
  CHECK(peer.error().code == Errc::protocol);
}

TEST_CASE("after a digest a source gives one more answer, or takes the last word", "[session]") {
  TempDir dir;
  put(dir.path("data/a"), "alpha");
  put(dir.path("data/b"), "beta");
  stdfs::create_directory(dir.path("data/c"));
  RawPeer peer{session::ServeOptions{}};
  peer.send(pull_of(dir.path("data/")));
  static_cast<void>(peer.receive<wire::Opened>());
  REQUIRE(peer.receive<wire::DirectoryMessage>().id == 0);
  REQUIRE(peer.receive<wire::DirectoryMessage>().id == 1);
  static_cast<void>(peer.receive<wire::ScanEnd>());
  peer.send(wire::DirectoryReply{0, wire::ReplyKind::list});
  REQUIRE_FALSE(peer.receive<wire::Listing>().entries.front().content);
  const auto refuses = [&peer] { CHECK(peer.error().code == Errc::protocol); };
  SECTION("the digest of a directory") {
    peer.send(wire::Want{{0, 2}, 0, {}, true});
    return refuses();
  }
  SECTION("the last word on a file that was sent whole") {
    peer.send(wire::Want{{0, 1}, 0});
    static_cast<void>(peer.receive<wire::SmallFile>());
    peer.send(wire::BasisDone{{0, 1}});
    return refuses();
  }
  peer.send(wire::Want{{0, 0}, 0, {}, true});
  peer.send(wire::DirectoryDone{0});
  const auto secret = hash::Secret::from_bytes(Bytes(hash::k_secret_bytes, std::byte{1}), Errc::protocol).value();
  CHECK(peer.receive<wire::FileDigest>().digest == hash::digest_of(as_bytes("alpha"), secret));
  SECTION("then the whole") {
    peer.send(wire::Want{{0, 0}, 0});
    CHECK(as_text(peer.receive<wire::SmallFile>().bytes) == "alpha");
    peer.send(wire::Want{{0, 0}, 0});
    CHECK(peer.error().code == Errc::protocol);
  }
  SECTION("then nothing") {
    peer.send(wire::BasisDone{{0, 0}});
    peer.send(wire::Want{{0, 0}, 0});
    CHECK(peer.error().code == Errc::protocol);
  }
  SECTION("but no second digest") {
    peer.send(wire::Want{{0, 0}, 0, {}, true});
    CHECK(peer.error().code == Errc::protocol);
  }
}

TEST_CASE("a signature is no longer than its basis can have", "[session]") {
  TempDir dir;
  put(dir.path("data/image"), std::string(200'000, 'i'));
  RawPeer peer{session::ServeOptions{}};
  peer.send(pull_of(dir.path("data/")));
  static_cast<void>(peer.receive<wire::Opened>());
  static_cast<void>(peer.receive<wire::DirectoryMessage>());
  static_cast<void>(peer.receive<wire::ScanEnd>());
  peer.send(wire::DirectoryReply{0, wire::ReplyKind::list});
  static_cast<void>(peer.receive<wire::Listing>());
  peer.send(wire::Want{{0, 0}, 0, wire::Basis{200'000, {}}});
  static_cast<void>(peer.receive<wire::SignatureRequest>());
  peer.send(wire::Signature{{0, 0}, 0, Bytes(10'000)});
  const Error error = peer.error();
  CHECK(error.code == Errc::protocol);
  CHECK_THAT(error.context, Catch::Contains("more than was asked for"));
}

TEST_CASE("a listing with digests has them for small files", "[session]") {
  TempDir dir;
  put(dir.path("data/a"), "alpha");
  put(dir.path("data/b"), std::string(100'000, 'b'));
  RawPeer peer{session::ServeOptions{}};
  peer.send(pull_of(dir.path("data/")));
  static_cast<void>(peer.receive<wire::Opened>());
  const auto announced = peer.receive<wire::DirectoryMessage>();
  static_cast<void>(peer.receive<wire::ScanEnd>());
  peer.send(wire::DirectoryReply{0, wire::ReplyKind::list_digests});
  auto listing = peer.receive<wire::Listing>();
  REQUIRE(listing.entries.size() == 2);
  const auto secret = hash::Secret::from_bytes(Bytes(hash::k_secret_bytes, std::byte{1}), Errc::protocol).value();
  CHECK(listing.entries[0].content == hash::digest_of(as_bytes("alpha"), secret));
  CHECK_FALSE(listing.entries[1].content);
  listing.entries[0].content.reset();
  CHECK(scan::listing_digest(listing.own, listing.entries, secret) == announced.digest);
}

TEST_CASE("what a sink reports to a serving source is not sent back", "[session]") {
  TempDir dir;
  put(dir.path("data/a"), "alpha");
  RawPeer peer{session::ServeOptions{}};
  peer.send(pull_of(dir.path("data/")));
  static_cast<void>(peer.receive<wire::Opened>());
  static_cast<void>(peer.receive<wire::DirectoryMessage>());
  static_cast<void>(peer.receive<wire::ScanEnd>());
  peer.send(wire::Notice{"look"});
  peer.send(wire::Item{"*deleting", path_of("a"), {}});
  peer.send(wire::DirectoryReply{0, wire::ReplyKind::list});
  CHECK(peer.receive<wire::Listing>().entries.size() == 1);
}
