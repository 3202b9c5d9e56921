// SPDX-License-Identifier: Apache-2.0
// The threads that write small files: everything handed to them comes back once, in each directory in order, with what
// went wrong; and what they write is there.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <map>

#include "fs/posix_directory.hpp"
#include "session/small_file_writers.hpp"
#include "support/temp_dir.hpp"
#include "unit/session/largest_file.hpp"

using namespace nb;
using namespace nb::test;
using session::SmallFileJob;
using session::WrittenFile;

namespace {

constexpr int k_directories = 7;
constexpr int k_files = 150;  // of each: more than may be on their way at a time

struct Rig {
  TempDir dir;
  std::unique_ptr<fs::Directory> at = fs::open_user_directory(dir.path()).value();
  std::vector<std::shared_ptr<fs::Directory>> below;
  std::vector<WrittenFile> written;

  Rig() {
    for (int i = 0; i < k_directories; ++i) below.push_back(at->create_directory("d" + std::to_string(i)).value());
  }

  SmallFileJob job(int directory, const std::string& name) const {
    SmallFileJob job;
    job.file.path = RelPath().child("d" + std::to_string(directory)).child(name);
    job.place = {below[static_cast<std::size_t>(directory)], name, session::Inherits::nothing};
    job.meta = {0640, {::geteuid(), ::getegid()}, {1'600'000'000, 123'456'789}, {}};
    const std::string text = job.file.path.str();
    job.content.assign(as_bytes(text).begin(), as_bytes(text).end());
    return job;
  }

  void take(session::SmallFileWriters& writers) {
    for (WrittenFile& each : writers.take()) written.push_back(std::move(each));
  }
};

std::string content_of(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("small files are written by threads, each once and in order within a directory", "[session]") {
  const unsigned threads = GENERATE(0U, 1U, 3U);
  Rig rig;
  session::SmallFileWriters writers(threads);
  for (int d = 0; d < k_directories; ++d) {
    for (int i = 0; i < k_files; ++i) {
      writers.put(rig.job(d, "f" + std::to_string(1000 + i)));
      rig.take(writers);
    }
  }
  writers.wait();
  rig.take(writers);
  REQUIRE(rig.written.size() == k_directories * k_files);
  std::map<std::string, std::string> last;
  for (const WrittenFile& each : rig.written) {
    const RelPath& path = each.job.file.path;
    REQUIRE(each.status);
    REQUIRE(each.node);
    CHECK(each.size == path.str().size());
    CHECK(last[path.parent().str()] < path.name());
    last[path.parent().str()] = path.name();
    CHECK(content_of(rig.dir.path(path.str())) == path.str());
    const fs::Stat stat = rig.below[static_cast<std::size_t>(path.str()[1] - '0')]->stat_at(path.name()).value();
    CHECK(stat.inode == each.node->ident.inode);
    CHECK(fs::Metadata{stat.mode, stat.owner, stat.mtime, {}} == each.node->literal);
  }
}

TEST_CASE("a small file that cannot be made comes back with the reason, and the others go on", "[session]") {
  const unsigned threads = GENERATE(0U, 2U);
  Rig rig;
  session::SmallFileWriters writers(threads);
  for (const char* name : {"a", "taken", "taken", "z"}) writers.put(rig.job(0, name));
  writers.wait();
  rig.take(writers);
  REQUIRE(rig.written.size() == 4);
  CHECK(rig.written[1].status);
  REQUIRE_FALSE(rig.written[2].status);
  CHECK(rig.written[2].status.error().code == Errc::exists);
  CHECK(rig.written[3].status);
}

TEST_CASE("what is out of the ordinary comes back open, for the long way", "[session]") {
  Rig rig;
  session::SmallFileWriters writers(1);
  SmallFileJob job = rig.job(0, "set-id");
  job.meta.mode = 04755;
  writers.put(std::move(job));
  writers.wait();
  rig.take(writers);
  REQUIRE(rig.written.size() == 1);
  CHECK(rig.written[0].status);
  CHECK_FALSE(rig.written[0].node);
  CHECK(rig.written[0].handle);
}

TEST_CASE("a small file that cannot be written whole comes back open, so that it can be removed", "[session]") {
  const unsigned threads = GENERATE(0U, 2U);
  Rig rig;
  session::SmallFileWriters writers(threads);
  SmallFileJob job = rig.job(0, "large");
  job.content.resize(5000);
  const LargestFile limit(1000);
  writers.put(std::move(job));
  writers.wait();
  rig.take(writers);
  REQUIRE(rig.written.size() == 1);
  REQUIRE_FALSE(rig.written[0].status);
  CHECK(rig.written[0].status.error().sys_errno == EFBIG);
  CHECK(rig.written[0].handle);
  CHECK_FALSE(rig.written[0].node);
}

TEST_CASE("writers end although nobody waits for what is on its way", "[session]") {
  Rig rig;
  session::SmallFileWriters writers(2);
  for (int i = 0; i < 100; ++i) writers.put(rig.job(i % k_directories, "g" + std::to_string(i)));
}
