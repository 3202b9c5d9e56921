// SPDX-License-Identifier: Apache-2.0
// Bare directories in real runs on a real file system: both sides remember them, an unchanged run then writes nothing,
// and an attribute that comes or goes behind their back is found although mode and times are as they were.
#include "session/remembered_bare.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "cache/client_store.hpp"
#include "cache/hash_cache.hpp"
#include "cache/manifest.hpp"
#include "fs/posix_directory.hpp"
#include "unit/session/rig.hpp"

using namespace nb;
using namespace nb::test;

namespace {

constexpr int k_files = 12;

std::string name_of(int i) { return "dir/f" + std::to_string(i); }

std::int64_t rows_in(cache::Store& store) {
  std::int64_t count = -1;
  store.with([&](cache::Connection& connection) {
    count = connection.database().execAndGet("SELECT COUNT(*) FROM bare_directories").getInt64();
  });
  return count;
}

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct stat stat_of(const std::string& path) {
  struct stat st {};
  REQUIRE(::lstat(path.c_str(), &st) == 0);
  return st;
}

// Sets or removes an attribute; nothing but ctime shows it.
void change_behind(const std::string& path, const std::optional<std::string>& value) {
  const struct stat before = stat_of(path);
  if (value) {
    REQUIRE(::setxattr(path.c_str(), "user.tag", value->data(), value->size(), 0) == 0);
  } else {
    REQUIRE(::removexattr(path.c_str(), "user.tag") == 0);
  }
  REQUIRE(::chmod(path.c_str(), before.st_mode & 07777) == 0);
  const struct timespec times[2] = {before.st_atim, before.st_mtim};
  REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
}

std::optional<std::string> tag_of(const std::string& path) {
  std::string value(64, '\0');
  const ssize_t size = ::getxattr(path.c_str(), "user.tag", value.data(), value.size());
  if (size < 0) return std::nullopt;
  value.resize(static_cast<std::size_t>(size));
  return value;
}

struct Fixture {
  Rig rig;
  SystemClock clock;
  std::shared_ptr<cache::Store> store = cache::open_client_store(rig.scratch("cache.db"), {});

  Fixture() {
    for (int i = 0; i < k_files; ++i) put(rig.source(name_of(i)), "content " + std::to_string(i));
  }
  [[nodiscard]] bool can_remember() const {
    const auto directory = fs::open_user_directory(rig.source());
    REQUIRE(directory);
    if ((*directory)->attribute_identity()) return true;
    WARN("the temporary directory is on a file system whose attributes have no identity: nothing to remember");
    return false;
  }
  // Until what is below `directory` is old enough to be recorded.
  void settle(const std::string& directory) {
    for (int i = 0; i < k_files; ++i) {
      const struct stat st = stat_of(directory + name_of(i));
      const fs::Timestamp ctime{st.st_ctim.tv_sec, static_cast<std::uint32_t>(st.st_ctim.tv_nsec)};
      while (!cache::is_settled(ctime, ctime, clock.wall())) clock.pause(std::chrono::milliseconds(5));
    }
  }
  session::RunReport push() {
    session::RememberedBare bare([this] { return store; }, clock);
    rig.job.bare = &bare;
    auto report = rig.push();
    rig.job.bare = nullptr;
    rig.settle();
    REQUIRE(report);
    CHECK(rig.seen.problems.empty());
    return std::move(*report);
  }
  // Both sides know that dir/ is bare.
  void learn() {
    settle(rig.source());
    push();
    settle(rig.pool());
    push();
  }
  [[nodiscard]] std::int64_t rows_at_sink() const {
    return rows_in(*cache::Manifest::open(rig.pool(".nbackup"), {})->store());
  }
};

}  // namespace

TEST_CASE("both sides remember a bare directory, and an unchanged run then writes nothing", "[session]") {
  Fixture f;
  if (!f.can_remember()) return;
  f.learn();
  CHECK(rows_in(*f.store) == 1);
  CHECK(f.rows_at_sink() == 1);
  const std::string before = bytes_of(f.rig.pool(".nbackup/manifest.db"));
  CHECK_FALSE(f.push().result.committed);
  CHECK(bytes_of(f.rig.pool(".nbackup/manifest.db")) == before);
}

TEST_CASE("an attribute that was set at the source behind its back is pushed, and one that went is taken away",
          "[session]") {
  Fixture f;
  if (!f.can_remember()) return;
  f.learn();
  change_behind(f.rig.source(name_of(4)), "v");
  CHECK(f.push().result.committed);
  CHECK(tag_of(f.rig.pool(name_of(4))) == "v");
  change_behind(f.rig.source(name_of(4)), std::nullopt);
  CHECK(f.push().result.committed);
  CHECK_FALSE(tag_of(f.rig.pool(name_of(4))));
}

TEST_CASE("an attribute that was set at the destination behind its back is taken away", "[session]") {
  Fixture f;
  if (!f.can_remember()) return;
  f.learn();
  change_behind(f.rig.pool(name_of(7)), "v");
  CHECK(f.push().result.committed);
  CHECK_FALSE(tag_of(f.rig.pool(name_of(7))));
}

TEST_CASE("directories with young files are not recorded", "[session]") {
  Fixture f;
  if (!f.can_remember()) return;
  f.settle(f.rig.source());
  // By this clock every file is from the future.
  class Behind final : public Clock {
   public:
    [[nodiscard]] WallTime wall() const override { return WallTime(std::chrono::seconds(1)); }
    [[nodiscard]] SteadyTime steady() const override { return {}; }
    void pause(std::chrono::milliseconds) override {}
  } behind;
  {
    session::RememberedBare bare([&] { return f.store; }, behind);
    f.rig.job.bare = &bare;
    REQUIRE(f.rig.push());
    f.rig.job.bare = nullptr;
  }
  CHECK(rows_in(*f.store) == 0);
}

TEST_CASE("--paranoid asks every file at the sink and records nothing there", "[session]") {
  Fixture f;
  if (!f.can_remember()) return;
  f.rig.job.options.flags |= wire::k_flag_paranoid;
  f.learn();
  f.push();
  CHECK(f.rows_at_sink() == 0);
}

TEST_CASE("damaged rows on both sides cost time only", "[session]") {
  Fixture f;
  if (!f.can_remember()) return;
  f.learn();
  const auto spoil = [](cache::Store& store) {
    store.with([](cache::Connection& connection) {
      connection.database().exec("UPDATE bare_directories SET files = zeroblob(16)");
    });
  };
  spoil(*f.store);
  spoil(*cache::Manifest::open(f.rig.pool(".nbackup"), {})->store());
  change_behind(f.rig.source(name_of(1)), "v");
  CHECK(f.push().result.committed);
  CHECK(tag_of(f.rig.pool(name_of(1))) == "v");
}
