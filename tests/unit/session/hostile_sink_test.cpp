// SPDX-License-Identifier: Apache-2.0
// A client that pulls and asks for what it has no right to: the serving source refuses with Errc::protocol.
#include <catch2/catch.hpp>

#include "unit/session/raw_peer.hpp"

using namespace nb;
using namespace nb::test;

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
