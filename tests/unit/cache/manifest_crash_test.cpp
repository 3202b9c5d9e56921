// SPDX-License-Identifier: Apache-2.0
// What a power cut can leave of the manifest: its files as they were at some moment, the journal cut off or torn at any
// byte, or garbage. Whatever is left, a row that is found is true: it belongs to a state that was confirmed.
#include <catch2/catch.hpp>
#include <map>
#include <random>

#include "cache/manifest.hpp"
#include "unit/cache/temp.hpp"

namespace {

using namespace nb::cache_test;
using namespace nb::cache;
using nb::RelPath;

// Every state that a path was ever confirmed with has a number of its own, and so has its content.
struct Truth {
  std::map<std::uint64_t, std::string> path_of_confirmed;
};

StagedFile staged_file(std::uint64_t number) {
  return {number % 5, 100, {1'600'000'000, static_cast<std::uint32_t>(number % 3)}, digest_number(number)};
}

// Inode, size and mtime repeat; ctime does not.
nb::fs::Stat stat_of(std::uint64_t number) {
  const StagedFile file = staged_file(number);
  nb::fs::Stat stat;
  stat.inode = file.inode;
  stat.size = file.size;
  stat.mtime = file.mtime;
  stat.ctime = {1'700'000'000, static_cast<std::uint32_t>(number)};
  return stat;
}

class Writer {
 public:
  Writer(const std::string& directory, std::uint32_t seed) : m_manifest(Manifest::open(directory, {})), m_random(seed) {
    m_manifest->begin_run({std::byte{1}});
  }

  void step() {
    const std::string text = "d" + std::to_string(pick(3)) + "/f" + std::to_string(pick(20));
    const RelPath path = RelPath::parse(text).value();
    switch (pick(8)) {
      case 0: m_manifest->remove(path); return;
      case 1: m_manifest->flush(); return;
      case 2: m_manifest->begin_run({static_cast<std::byte>(pick(200))}); return;
      default: break;
    }
    const std::uint64_t number = m_next++;
    m_manifest->begin_file(path);
    m_manifest->stage(path, staged_file(number));
    if (pick(3) == 0) m_manifest->stage_piece(path, 0, nb::Bytes(3000, static_cast<std::byte>(number)));
    if (pick(4) == 0) return;  // never confirmed
    m_truth.path_of_confirmed[number] = text;
    m_manifest->confirm(path, stat_of(number));
  }

  std::uint32_t pick(std::uint32_t below) { return static_cast<std::uint32_t>(m_random() % below); }
  [[nodiscard]] const Truth& truth() const { return m_truth; }
  [[nodiscard]] std::uint64_t count() const { return m_next; }

 private:
  std::unique_ptr<Manifest> m_manifest;
  std::mt19937 m_random;
  std::uint64_t m_next = 1;
  Truth m_truth;
};

// The number of rows found; each is checked.
std::uint64_t check_all(const std::string& directory, const Truth& truth, std::uint64_t count) {
  const auto manifest = Manifest::open(directory, {});
  std::uint64_t found = 0;
  for (std::uint64_t number = 1; number < count; ++number) {
    const auto confirmed = truth.path_of_confirmed.find(number);
    for (std::uint32_t d = 0; d < 3; ++d) {
      for (std::uint32_t f = 0; f < 20; ++f) {
        const std::string text = "d" + std::to_string(d) + "/f" + std::to_string(f);
        const RelPath path = RelPath::parse(text).value();
        const auto digest = manifest->find(path, stat_of(number));
        if (!digest) continue;
        ++found;
        REQUIRE(confirmed != truth.path_of_confirmed.end());
        REQUIRE(confirmed->second == text);
        REQUIRE(*digest == digest_number(number));
        const auto piece = manifest->piece(path, 0);
        if (piece) REQUIRE(*piece == nb::Bytes(3000, static_cast<std::byte>(number)));
      }
    }
  }
  return found;
}

void copy_database(const std::string& from, const std::string& to) {
  files::create_directory(to);
  for (const char* name : {"manifest.db", "manifest.db-wal"}) {
    std::error_code ignored;  // the journal may be missing
    files::copy_file(from + "/" + name, to + "/" + name, ignored);
  }
}

}  // namespace

TEST_CASE("after a power cut every row that is left is true", "[cache]") {
  const TempDirectory temp;
  files::create_directory(temp.file("live"));
  Writer writer(temp.file("live"), 11);
  std::uint64_t found = 0;
  for (int cut = 0; cut < 25; ++cut) {
    const std::uint32_t steps = writer.pick(30);
    for (std::uint32_t i = 0; i <= steps; ++i) writer.step();
    const std::string copy = temp.file("cut" + std::to_string(cut));
    copy_database(temp.file("live"), copy);
    const std::string journal = copy + "/manifest.db-wal";
    const auto size = files::exists(journal) ? files::file_size(journal) : 0;
    if (cut % 3 == 1 && size > 0) files::resize_file(journal, writer.pick(static_cast<std::uint32_t>(size)));
    if (cut % 3 == 2 && size > 0) {  // torn: a part that never reached the disk
      std::fstream file(journal, std::ios::binary | std::ios::in | std::ios::out);
      file.seekp(writer.pick(static_cast<std::uint32_t>(size)));
      file << std::string(512, '\0');
    }
    found += check_all(copy, writer.truth(), writer.count());
  }
  CHECK(found > 0);
}

TEST_CASE("garbage anywhere in the manifest gives no wrong row", "[cache]") {
  const TempDirectory temp;
  files::create_directory(temp.file("live"));
  std::uint64_t count = 0;
  Truth truth;
  std::mt19937 random(5);
  {
    Writer writer(temp.file("live"), 12);
    for (int i = 0; i < 200; ++i) writer.step();
    count = writer.count();
    truth = writer.truth();
  }
  const auto size = files::file_size(temp.file("live/manifest.db"));
  std::uint64_t found = 0;
  for (int round = 0; round < 40; ++round) {
    const std::string copy = temp.file("g" + std::to_string(round));
    copy_database(temp.file("live"), copy);
    std::fstream file(copy + "/manifest.db", std::ios::binary | std::ios::in | std::ios::out);
    const std::size_t length = 1 + random() % 64;
    file.seekp(static_cast<std::streamoff>(random() % (size - length)));
    for (std::size_t i = 0; i < length; ++i) file.put(static_cast<char>(random()));
    file.close();
    found += check_all(copy, truth, count);
  }
  CHECK(found > 0);
}
