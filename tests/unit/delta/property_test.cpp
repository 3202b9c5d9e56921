// SPDX-License-Identifier: Apache-2.0
// Random contents, random edits: what comes out is the new content, and what is sent is bounded by the edits.
#include <algorithm>

#include "unit/delta/rig.hpp"

using namespace nb;
using namespace nb::delta;
using namespace nb::delta::test;

namespace {

// A content under edit, with what the edits may cost: the bytes that the basis does not have, and for every edge
// between parts of the basis that were not neighbours what is left of the two blocks around it.
class Edited {
 public:
  Edited(Bytes content, unsigned seed) : m_content(std::move(content)), m_random(seed) {}

  void edit() {
    switch (m_random() % 8) {
      case 0: return overwrite();
      case 1: return insert(fresh(m_random() % 150'000), 0);
      case 2: return remove();
      case 3: return move();
      case 4: return m_content.resize(position());
      case 5: return append();
      case 6: return punch();
      default: return duplicate();
    }
  }
  [[nodiscard]] const Bytes& content() const { return m_content; }
  // Two edges for each edit that makes some, a block on each side of each.
  [[nodiscard]] std::uint64_t bound() const { return m_new_bytes + (m_edges + 1) * 2 * k_block_bytes; }

 private:
  using Difference = std::ptrdiff_t;
  std::size_t position() { return m_content.empty() ? 0 : m_random() % (m_content.size() + 1); }
  Bytes fresh(std::size_t size) {
    m_new_bytes += size;
    return random_bytes(size, static_cast<unsigned>(m_random()));
  }
  std::pair<std::size_t, std::size_t> range() {
    const std::size_t begin = position();
    const std::size_t length = std::min<std::size_t>(m_content.size() - begin, m_random() % 400'000);
    return {begin, begin + length};
  }
  void overwrite() {
    const auto place = range();
    const Bytes bytes = fresh(place.second - place.first);
    std::copy(bytes.begin(), bytes.end(), m_content.begin() + static_cast<Difference>(place.first));
    m_edges += 2;
  }
  void insert(const Bytes& bytes, std::uint64_t edges) {
    m_content.insert(m_content.begin() + static_cast<Difference>(position()), bytes.begin(), bytes.end());
    m_edges += 2 + edges;
  }
  Bytes taken() {
    const auto place = range();
    return {m_content.begin() + static_cast<Difference>(place.first),
            m_content.begin() + static_cast<Difference>(place.second)};
  }
  void remove() {
    const auto place = range();
    m_content.erase(m_content.begin() + static_cast<Difference>(place.first),
                    m_content.begin() + static_cast<Difference>(place.second));
    m_edges += 1;
  }
  void move() {
    const auto place = range();
    const auto begin = m_content.begin() + static_cast<Difference>(place.first);
    const auto end = m_content.begin() + static_cast<Difference>(place.second);
    const Bytes part(begin, end);
    m_content.erase(begin, end);
    insert(part, 1);
  }
  void append() {
    const Bytes bytes = fresh(m_random() % 150'000);
    m_content.insert(m_content.end(), bytes.begin(), bytes.end());
    m_edges += 1;
  }
  void punch() {
    const auto place = range();
    std::fill(m_content.begin() + static_cast<Difference>(place.first),
              m_content.begin() + static_cast<Difference>(place.second), std::byte{0});
    m_new_bytes += place.second - place.first;
    m_edges += 2;
  }
  // What a part already costs may be paid for each copy of it.
  void duplicate() {
    const Bytes part = taken();
    m_new_bytes *= 2;
    m_edges *= 2;
    insert(part, 0);
  }

  Bytes m_content;
  std::mt19937 m_random;
  std::uint64_t m_new_bytes = 0;
  std::uint64_t m_edges = 0;
};

Bytes base_content(unsigned seed) {
  std::mt19937 random(seed);
  Bytes content = random_bytes(1 + random() % (2 * k_mib), seed);
  if (seed % 3 == 0) {
    const std::size_t begin = random() % content.size();
    const std::size_t length = std::min<std::size_t>(content.size() - begin, 300'000);
    std::fill_n(content.begin() + static_cast<std::ptrdiff_t>(begin), length, std::byte{0});
  }
  return content;
}

void check_edits(fs::Directory& in, unsigned seed) {
  CAPTURE(seed);
  const Bytes basis = base_content(seed);
  Edited edited(basis, seed);
  for (unsigned i = 0; i <= seed % 4; ++i) edited.edit();
  const Zeros zeros = seed % 2 == 0 ? Zeros::left_out : Zeros::written;
  CHECK(check_delta(in, basis, edited.content(), zeros).literal_bytes <= edited.bound());
}

// A content with holes, of which the basis has the beginning: a transfer that was cut off.
void check_cut_off(fs::Directory& in, unsigned seed) {
  CAPTURE(seed);
  std::mt19937 random(seed);
  Bytes content = random_bytes(k_mib + random() % k_mib, seed);
  for (unsigned holes = random() % 4; holes > 0; --holes) {
    const std::size_t begin = random() % content.size();
    const std::size_t length = std::min<std::size_t>(content.size() - begin, random() % 500'000);
    std::fill_n(content.begin() + static_cast<std::ptrdiff_t>(begin), length, std::byte{0});
  }
  const std::size_t have = 1 + random() % content.size();
  const std::uint64_t missing = content.size() - have;
  const auto totals = check_delta(in, ByteView(content).first(have), content, Zeros::left_out);
  CHECK(totals.literal_bytes <= missing + 2 * k_block_bytes);
}

}  // namespace

TEST_CASE("a content that was cut off costs the rest", "[delta]") {
  fs::SimFileSystem disk;
  const auto root = disk.root();
  for (unsigned seed = 3000; seed < 3200; ++seed) check_cut_off(*root, seed);
}

TEST_CASE("edits come out right and cost what they change, with shared blocks", "[delta]") {
  fs::SimFileSystem disk;
  const auto root = disk.root();
  for (unsigned seed = 0; seed < 150; ++seed) check_edits(*root, seed);
}

TEST_CASE("edits come out right and cost what they change, without shared blocks", "[delta]") {
  fs::SimOptions options;
  options.reflink = false;
  fs::SimFileSystem disk(options);
  const auto root = disk.root();
  for (unsigned seed = 1000; seed < 1100; ++seed) check_edits(*root, seed);
}

TEST_CASE("edits come out right and cost what they change, on a real file system", "[delta]") {
  fs::test::PosixWorld world;
  for (unsigned seed = 2000; seed < 2100; ++seed) check_edits(world.root(), seed);
}
