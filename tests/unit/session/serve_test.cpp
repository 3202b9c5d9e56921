// SPDX-License-Identifier: Apache-2.0
// What a server does before and beside a run: checks of Open, queries, confinement, locks.
#include "session/serve.hpp"

#include <sched.h>
#include <sys/mount.h>
#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>

#include "fs/posix_directory.hpp"
#include "session/sink_setup.hpp"
#include "session/source_setup.hpp"
#include "txn/apply_lock.hpp"
#include "unit/session/raw_peer.hpp"

using namespace nb;
using namespace nb::test;
namespace stdfs = std::filesystem;

namespace {

using namespace std::chrono_literals;

wire::Open push_to(const std::string& destination) {
  wire::Open open;
  open.transaction[0] = std::byte{1};
  open.client = "tester";
  open.destination = destination;
  return open;
}

std::unique_ptr<txn::FileSet> set_at(const std::string& path) {
  return txn::FileSet::open(fs::open_user_directory(path).value()).value();
}

// A directory that is a mount of its own for the life of this; `made` is false where this process may not mount.
class BindMount {
 public:
  explicit BindMount(const std::string& path) : m_path(path) {
    made = ::unshare(CLONE_NEWNS) == 0 && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           ::mount(path.c_str(), path.c_str(), nullptr, MS_BIND, nullptr) == 0;
  }
  BindMount(const BindMount&) = delete;
  BindMount& operator=(const BindMount&) = delete;
  ~BindMount() {
    if (made) ::umount2(m_path.c_str(), MNT_DETACH);
  }
  bool made = false;

 private:
  std::string m_path;
};

}  // namespace

TEST_CASE("all of Open is checked before anything is made", "[session]") {
  TempDir dir;
  wire::Open open = push_to(dir.path("pool"));
  SECTION("a filter rule") { open.filter_rules = {"nonsense"}; }
  SECTION("a secret") { open.secret = Bytes(3); }
  RawPeer peer({});
  peer.send(open);
  CHECK(peer.error().code == Errc::protocol);
  CHECK_FALSE(stdfs::exists(dir.path("pool")));
}

TEST_CASE("a query finds what was committed, of a tree and of a single file", "[session]") {
  Rig rig;
  put(rig.source("f"), "content");
  rig.job.sources = {rig.source("f")};
  rig.job.destination = rig.pool("name");
  // A single file goes into the set that is there.
  REQUIRE(txn::FileSet::create(fs::open_user_directory(rig.pool()).value(), txn::Lifetime::permanent,
                               hash::Secret::generate().value()));
  REQUIRE(rig.run().has_value());
  const txn::TxId id = set_at(rig.pool())->head().transaction;
  RawPeer peer({});
  for (const std::string& destination : {rig.pool("name"), rig.pool(), rig.pool("name-that-was-never-made")}) {
    peer.send(wire::Query{id, destination});
    const auto reply = peer.receive<wire::QueryReply>();
    CHECK(reply.committed);
    CHECK(reply.generation == 1);
  }
  peer.send(wire::Query{id, rig.scratch("no/such/parent")});
  CHECK_FALSE(peer.receive<wire::QueryReply>().committed);
}

TEST_CASE("a query that cannot be answered is an error and not a no", "[session]") {
  TempDir dir;
  stdfs::create_directory(dir.path("pool"));
  session::ServeOptions options;
  options.root = dir.path("pool");
  RawPeer peer(options);
  peer.send(wire::Query{{}, dir.path()});
  CHECK(peer.error().code == Errc::path);
}

TEST_CASE("a client may leave after its query, and only then", "[session]") {
  TempDir dir;
  RawPeer peer({});
  Errc expected = Errc::protocol;
  SECTION("after it") {
    peer.send(wire::Query{{}, dir.path()});
    CHECK_FALSE(peer.receive<wire::QueryReply>().committed);
    expected = Errc::connection_lost;  // the end, without an error from the server
  }
  SECTION("at once") {}
  peer.send(wire::Goodbye{});
  // Who is told of a fault closes after that: closing first could cost it the server's last words.
  if (expected == Errc::connection_lost) peer.finish();
  CHECK(peer.error().code == expected);
}

TEST_CASE("a confined server leaves the set above its root alone", "[session]") {
  Rig rig;
  put(rig.source("dir/f"), "content");
  REQUIRE(rig.push().has_value());
  // If it looked, it would have to stop here.
  put(rig.pool(".nbackup/journal"), "damaged");
  rig.serve.read_only = true;
  rig.serve.root = rig.pool("dir");
  rig.job.operation = wire::Operation::pull;
  rig.job.destination = rig.scratch("out");
  for (const std::string& source : {std::string("."), rig.pool("dir/"), rig.pool("dir")}) {
    rig.job.sources = {source};
    const auto report = rig.run();
    INFO(source << ": " << (report ? "" : report.error().message()));
    CHECK(report.has_value());
  }
  CHECK(stdfs::exists(rig.scratch("out/f")));
  CHECK(stdfs::exists(rig.scratch("out/dir/f")));
  rig.serve.root = rig.pool();
  rig.job.sources = {rig.pool("dir/")};
  CHECK(rig.run().error().code == Errc::recovery_failed);
  // Also where the set itself is what was named.
  rig.job.sources = {rig.pool("dir/..")};
  CHECK(rig.run().error().code == Errc::recovery_failed);
}

TEST_CASE("a set that is named as an entry of its parent is locked as well", "[session]") {
  Rig rig;
  put(rig.source("f"), "content");
  REQUIRE(rig.push().has_value());
  SystemClock clock;
  const std::string named = stdfs::path(rig.pool("")).parent_path().string();
  const auto set = set_at(rig.pool());
  session::SourceReader reader{"tester", {}, txn::Uuid{}};
  {
    auto setup = session::set_up_source({named}, reader, clock).value();
    CHECK(txn::take_apply_lock(*set, 0s, clock).error().code == Errc::readers_busy);
    setup.held.let_go();
    CHECK(txn::take_apply_lock(*set, 0s, clock).has_value());
  }
  // Where the sink writes to the very set, its commit need not wait.
  reader.destination_set = set->format().uuid;
  const auto setup = session::set_up_source({named}, reader, clock).value();
  CHECK(txn::take_apply_lock(*set, 0s, clock).has_value());
}

TEST_CASE("a pull within one set is refused at once", "[session]") {
  Rig rig;
  put(rig.source("f"), "content");
  REQUIRE(rig.push().has_value());
  SystemClock clock;
  session::SinkRequest request;
  request.destination = rig.pool("copy");
  request.source_set = set_at(rig.pool())->format().uuid;
  CHECK(session::set_up_sink(request, clock).error().code == Errc::path);
  request.source_set = wire::Id{};
  CHECK(session::set_up_sink(request, clock).has_value());
}

TEST_CASE("what is mounted in the destination stays and is reported, at any depth", "[session]") {
  for (const std::string place : {"mounted", "gone/deeper/mounted"}) {
    Rig rig;
    put(rig.source("kept"), "content");
    REQUIRE(rig.push().has_value());
    put(rig.pool("gone/extra"), "goes");
    put(rig.pool(place + "/precious"), "stays");
    const BindMount mount(rig.pool(place));
    if (!mount.made) {
      WARN("needs the right to mount");
      return;
    }
    rig.job.options.flags = wire::k_flag_delete;
    const auto report = rig.push();
    INFO(place << ": " << (report ? "" : report.error().message()));
    REQUIRE(report.has_value());
    CHECK(report->exit_code == 23);
    REQUIRE(rig.seen.problems.size() == 1);
    CHECK(rig.seen.problems[0].find(place) != std::string::npos);
    CHECK(stdfs::exists(rig.pool(place + "/precious")));
    CHECK_FALSE(stdfs::exists(rig.pool("gone/extra")));
  }
}
