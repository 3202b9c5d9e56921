// SPDX-License-Identifier: Apache-2.0
// Pulls that ask for an earlier state of a file set: which set a path leads to, what it means in the past, and what is
// refused.
#include "session/past_source.hpp"

#include <catch2/catch.hpp>
#include <filesystem>

#include "fs/posix_directory.hpp"
#include "session/set_path.hpp"
#include "txn/apply_lock.hpp"
#include "unit/session/raw_peer.hpp"

using namespace nb;
using namespace nb::test;
namespace stdfs = std::filesystem;

namespace {

using namespace std::chrono_literals;

wire::Moment generation(std::uint64_t number) { return {wire::MomentKind::generation, number}; }

// A pool of three generations. 1: a, docs/old.txt, docs/two.txt, link -> docs. 2: a changed, docs gone, a plain file of
// that name. 3: b new.
class Lives : public Rig {
 public:
  Lives() {
    put(source("a"), "first");
    put(source("docs/old.txt"), "old");
    put(source("docs/two.txt"), "two");
    put(source("docs/.hidden"), "hidden");
    put(source("docs/deep/er/f.txt"), "deep");
    stdfs::create_symlink("docs", source("link"));
    next();
    put(source("a"), "second");
    stdfs::remove_all(source("docs"));
    put(source("docs"), "a file now");
    next();
    put(source("b"), "new");
    next();
  }

  Result<session::RunReport> pull(const std::vector<std::string>& sources, const wire::Moment& at) {
    job.operation = wire::Operation::pull;
    job.sources = sources;
    job.destination = scratch("out");
    job.at = at;
    stdfs::remove_all(scratch("out"));
    return run();
  }

  std::string refused(const std::vector<std::string>& sources, const wire::Moment& at, Errc code) {
    const auto report = pull(sources, at);
    REQUIRE_FALSE(report);
    CHECK(report.error().code == code);
    CHECK_FALSE(stdfs::exists(scratch("out")));
    return report.error().context;
  }

  [[nodiscard]] std::map<std::string, std::string> out() const { return tree_of(scratch("out")); }
  [[nodiscard]] std::set<std::string> names() const {
    std::set<std::string> names;
    for (const auto& entry : stdfs::directory_iterator(scratch("out"))) names.insert(entry.path().filename());
    return names;
  }

 private:
  void next() {
    job.sources = {source()};
    job.options.flags = wire::k_flag_delete;
    REQUIRE(push());
    job.options.flags = 0;
    states.push_back(tree_of(source()));
  }

 public:
  std::vector<std::map<std::string, std::string>> states;
};

using Names = std::set<std::string>;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("past: every generation comes back, and the report names it", "[session]") {
  Lives lives;
  for (std::uint64_t number = 1; number <= 3; ++number) {
    const auto report = lives.pull({lives.pool("")}, generation(number));
    REQUIRE(report);
    CHECK(report->exit_code == 0);
    CHECK(report->read_generation == number);
    CHECK(lives.out() == lives.states[number - 1]);
  }
  const auto latest = lives.pull({lives.pool("")}, {});
  REQUIRE(latest);
  CHECK(latest->read_generation == 3);
  CHECK(lives.out() == lives.states[2]);
  const auto now = SystemClock().wall().time_since_epoch().count();
  REQUIRE(lives.pull({lives.pool("")}, {wire::MomentKind::time, static_cast<std::uint64_t>(now)}));
  CHECK(lives.out() == lives.states[2]);
}

TEST_CASE("past: paths that are gone, or are something else by now", "[session]") {
  Lives lives;
  REQUIRE(lives.pull({lives.pool("docs")}, generation(1)));
  CHECK(lives.names() == Names{"docs"});
  CHECK(stdfs::exists(lives.scratch("out/docs/deep/er/f.txt")));
  REQUIRE(lives.pull({lives.pool("docs/")}, generation(1)));
  CHECK(lives.names() == Names{"old.txt", "two.txt", ".hidden", "deep"});
  REQUIRE(lives.pull({lives.pool("docs/./deep//er/f.txt"), lives.pool("a")}, generation(1)));
  CHECK(lives.names() == Names{"f.txt", "a"});
  REQUIRE(lives.pull({lives.pool("link")}, generation(1)));
  CHECK(stdfs::is_symlink(lives.scratch("out")));
  // The root by its own name.
  const std::string named = stdfs::path(lives.pool("")).parent_path().string();
  REQUIRE(lives.pull({named}, generation(1)));
  CHECK(lives.names() == Names{"pool"});
  CHECK(tree_of(lives.scratch("out/pool")) == lives.states[0]);
}

TEST_CASE("past: a single file takes the destination's name, unless a pattern found it", "[session]") {
  Lives lives;
  REQUIRE(lives.pull({lives.pool("docs/old.txt")}, generation(1)));
  CHECK(stdfs::is_regular_file(lives.scratch("out")));
  REQUIRE(lives.pull({lives.pool("docs/o*.txt")}, generation(1)));
  CHECK(lives.names() == Names{"old.txt"});
  lives.job.single_file_only = true;
  CHECK(contains(lives.refused({lives.pool("docs/o*.txt")}, generation(1), Errc::path), "is not one file"));
  lives.refused({lives.pool("docs")}, generation(1), Errc::path);
  CHECK(lives.pull({lives.pool("docs")}, generation(2)));
}

TEST_CASE("past: patterns", "[session]") {
  Lives lives;
  REQUIRE(lives.pull({lives.pool("docs/*.txt")}, generation(1)));
  CHECK(lives.names() == Names{"old.txt", "two.txt"});
  REQUIRE(lives.pull({lives.pool("docs/.*")}, generation(1)));
  CHECK(lives.names() == Names{".hidden"});
  REQUIRE(lives.pull({lives.pool("*/*/[e]r")}, generation(1)));
  CHECK(lives.names() == Names{"er"});
  REQUIRE(lives.pull({lives.pool("*")}, generation(1)));
  CHECK(lives.out() == lives.states[0]);
  REQUIRE(lives.pull({lives.pool("do*/")}, generation(1)));
  CHECK(lives.names() == Names{"old.txt", "two.txt", ".hidden", "deep"});
  CHECK(contains(lives.refused({lives.pool("x*")}, generation(1), Errc::path), "x* at generation 1"));
  // A name is a name first.
  put(lives.source("q*"), "literal");
  put(lives.source("qq"), "other");
  lives.job.at.reset();
  REQUIRE(lives.push());
  REQUIRE(lives.pull({lives.pool("q*"), lives.pool("a")}, {}));
  CHECK(lives.names() == Names{"q*", "a"});
}

TEST_CASE("past: what is missing", "[session]") {
  Lives lives;
  CHECK(contains(lives.refused({lives.pool("b")}, generation(1), Errc::path), "b at generation 1"));
  CHECK(contains(lives.refused({lives.pool("link/old.txt")}, generation(1), Errc::path), "symlink"));
  CHECK(contains(lives.refused({lives.pool("a/x")}, generation(1), Errc::path), "no directory"));
  lives.refused({lives.pool("a/")}, generation(1), Errc::path);
  const auto report = lives.pull({lives.pool("b"), lives.pool("a")}, generation(1));
  REQUIRE(report);
  CHECK(report->exit_code == 23);
  CHECK(lives.names() == Names{"a"});
}

TEST_CASE("past: generations and times that the set does not have", "[session]") {
  Lives lives;
  CHECK(contains(lives.refused({lives.pool("")}, generation(7), Errc::usage), "generation 7 is not there"));
  stdfs::remove_all(lives.pool(".nbackup/history"));
  CHECK(contains(lives.refused({lives.pool("")}, generation(2), Errc::usage), "none but its live one, 3"));
  CHECK(contains(lives.refused({lives.pool("")}, {wire::MomentKind::time, 1}, Errc::usage), "1970-01-01 00:00:00 UTC"));
  CHECK(lives.pull({lives.pool("")}, generation(3)));
}

TEST_CASE("past: paths that lead into no set, or into several", "[session]") {
  Lives lives;
  CHECK(contains(lives.refused({lives.source("a")}, {}, Errc::path), "is not in a file set"));
  CHECK(contains(lives.refused({lives.scratch("no/such")}, {}, Errc::path), "is not in a file set"));
  CHECK(contains(lives.refused({lives.pool("docs/../a")}, {}, Errc::path), "'..'"));
  lives.refused({lives.pool(".nbackup/head")}, {}, Errc::path);
  lives.refused({lives.pool(".NBackup/head")}, {}, Errc::path);
  lives.refused({lives.pool("docs/.nbackup")}, generation(1), Errc::path);
  stdfs::create_directory(lives.scratch("other"));
  REQUIRE(txn::FileSet::create(fs::open_user_directory(lives.scratch("other")).value(), txn::Lifetime::permanent,
                               hash::Secret::generate().value()));
  CHECK(contains(lives.refused({lives.pool("a"), lives.scratch("other/")}, {}, Errc::path), "several file sets"));
}

TEST_CASE("past: a set is found through links outside of it, and none inside is followed", "[session]") {
  Lives lives;
  stdfs::create_directory_symlink("pool", lives.scratch("way"));
  REQUIRE(lives.pull({lives.scratch("way/docs/")}, generation(1)));
  CHECK(lives.names() == Names{"old.txt", "two.txt", ".hidden", "deep"});
  // A link in the live tree that was a directory then.
  stdfs::remove(lives.pool("docs"));
  stdfs::create_directory_symlink(lives.source(), lives.pool("docs"));
  REQUIRE(lives.pull({lives.pool("docs/old.txt")}, generation(1)));
  // A set inside of the set, and what is below it.
  stdfs::create_directories(lives.pool("inner/d"));
  REQUIRE(txn::FileSet::create(fs::open_user_directory(lives.pool("inner")).value(), txn::Lifetime::permanent,
                               hash::Secret::generate().value()));
  const auto bounds = fs::PathRoot::open(std::nullopt).value();
  const auto path = session::find_in_set(bounds, lives.pool("inner/d/gone/x"));
  REQUIRE(path);
  CHECK(path->root_path == stdfs::canonical(lives.pool("inner")));
  CHECK(path->inside.str() == "d/gone/x");
  // Users may write a dot.
  CHECK(session::find_in_set(bounds, lives.pool("./inner/d"))->root_path == path->root_path);
  // POOL:PATH means the set at POOL.
  const auto outer = session::find_source_in_set(bounds, lives.pool("./inner/d/gone/x"));
  REQUIRE(outer);
  CHECK(outer->root_path == stdfs::canonical(lives.pool("")));
  CHECK(outer->inside.str() == "inner/d/gone/x");
  const auto none = session::find_source_in_set(bounds, lives.scratch("./pool/a"));
  REQUIRE_FALSE(none);
  CHECK(none.error().code == Errc::path);
}

TEST_CASE("past: a confined server looks for sets below its root only", "[session]") {
  Lives lives;
  lives.serve.root = lives.pool("");
  REQUIRE(lives.pull({"docs/"}, generation(1)));
  REQUIRE(lives.pull({lives.pool("docs/")}, generation(1)));
  REQUIRE(lives.pull({"."}, generation(1)));
  CHECK(lives.out() == lives.states[0]);
  lives.refused({lives.source("a")}, {}, Errc::path);
  lives.refused({"../pool/a"}, {}, Errc::path);
  stdfs::create_directories(lives.pool("b.d"));
  lives.serve.root = lives.pool("b.d");
  CHECK(contains(lives.refused({"x"}, {}, Errc::path), "is not in a file set"));
}

TEST_CASE("past: the set is held while it is read", "[session]") {
  Lives lives;
  SystemClock clock;
  auto setup = session::set_up_past_source({lives.pool("docs")}, generation(1), {"tester", {}}, clock);
  REQUIRE(setup);
  const auto set = txn::FileSet::open(fs::open_user_directory(lives.pool("")).value()).value();
  CHECK(txn::take_apply_lock(*set, 0s, clock).error().code == Errc::readers_busy);
  setup = fail(Errc::internal, "given up");
  CHECK(txn::take_apply_lock(*set, 0s, clock));
}

TEST_CASE("past: a moment that has no business there is refused", "[session]") {
  Lives lives;
  RawPeer peer({});
  wire::Open open;
  open.operation = wire::Operation::push;
  open.destination = lives.scratch("new");
  open.at = generation(1);
  peer.send(open);
  CHECK(peer.error().code == Errc::protocol);
  CHECK_FALSE(stdfs::exists(lives.scratch("new")));
}
