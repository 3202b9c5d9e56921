// SPDX-License-Identifier: Apache-2.0
#include "session/known_contents.hpp"

#include "cache/sums.hpp"
#include "txn/arrivals.hpp"
#include "txn/damage.hpp"
#include "txn/history.hpp"
#include "txn/kept_trees.hpp"
#include "txn/small_file.hpp"

namespace nb::session {

KnownContents::KnownContents(txn::FileSet& set, Warn warn, cache::FileAccess access)
    : m_set(set),
      m_knows_inodes(txn::knows_inodes(set.control())),
      m_signer(set.secret()),
      m_store(cache::ContentStore::none()) {
  const auto path = set.control().kernel_path();
  if (!path) return;
  const bool is_there = set.control().stat_at(cache::k_contents_name).has_value();
  if (is_there || access == cache::FileAccess::write) m_store = cache::ContentStore::open(*path, warn, access);
  // Nothing is asked of one that would be empty.
  if (set.control().stat_at("manifest.db")) m_manifest = cache::Manifest::open(*path, std::move(warn), access);
}

// Where what came with a generation is by now: where it came to, or in the files of the generation that replaced it.
class KnownContents::Takeover {
 public:
  static Result<Takeover> begin(KnownContents& contents) {
    NB_TRY_ASSIGN(txn::History history, txn::History::open(contents.m_set));
    NB_TRY_ASSIGN(auto directory, txn::open_if_there(contents.m_set.control(), txn::k_history_name));
    return Takeover(contents, history.numbers(), std::move(directory));
  }

  // What cannot be looked at, on a failing disk or for want of permission, is as unknown as what is not there, and what of
  // a list cannot be read is lost. None of them is kept for another time: by then scrubs may know better.
  Status take_all(std::uint64_t generation, std::int64_t now_ns, const GoOn& go_on) {
    const Status read =
        txn::for_each_arrival(m_contents.m_set.control(), generation, [&](const txn::StagedRecord& record) -> Status {
          if (go_on && !go_on()) return fail(Errc::interrupted, "");
          static_cast<void>(take(record, generation, now_ns));
          return {};
        });
    return !read && read.error().code == Errc::interrupted ? read : Status{};
  }

 private:
  Status take(const txn::StagedRecord& record, std::uint64_t came_with, std::int64_t now_ns) {
    NB_TRY_ASSIGN(const std::optional<fs::Stat> live, m_live.find(record.path));
    if (live && is(*live, record)) {
      note({std::nullopt, record.path}, *live, record, now_ns);
      return {};
    }
    for (const std::uint64_t number : m_numbers) {
      if (number <= came_with || !m_kept) continue;
      NB_TRY_ASSIGN(const std::optional<fs::Stat> kept, m_kept->find(number, record.path));
      if (!kept) continue;
      if (is(*kept, record)) note({number, record.path}, *kept, record, now_ns);
      return {};
    }
    return {};
  }

  Takeover(KnownContents& contents, std::vector<std::uint64_t> numbers, std::unique_ptr<fs::Directory> history)
      : m_contents(contents),
        m_numbers(std::move(numbers)),
        m_history(std::move(history)),
        m_live(contents.m_set.root()) {
    if (m_history) m_kept = std::make_unique<txn::KeptTrees>(*m_history);
  }

  // Of one path there may be many contents of one mtime, in history and in what a run that died has left in its log.
  static bool is(const fs::Stat& stat, const txn::StagedRecord& record) {
    const bool is_born_then = fs::is_known_birth(record.born) && stat.born == record.born;
    // A run that died had not set the time.
    const bool is_set = record.slot != txn::k_no_slot || stat.mtime == record.mtime;
    return stat.type == fs::FileType::regular && stat.inode == record.inode && is_born_then && is_set;
  }

  // With the size and mtime that it came with: expect() tells what it means if it has others now.
  void note(const FilePlace& place, fs::Stat stat, const txn::StagedRecord& record, std::int64_t now_ns) {
    stat.size = record.size;
    stat.mtime = record.mtime;
    m_contents.note(place, stat, record.digest, now_ns);
  }

  KnownContents& m_contents;
  std::vector<std::uint64_t> m_numbers;
  std::unique_ptr<fs::Directory> m_history;
  txn::LiveTree m_live;
  std::unique_ptr<txn::KeptTrees> m_kept;  // null where there is no history
};

Status KnownContents::take_arrivals(std::int64_t now_ns, const GoOn& go_on) {
  NB_TRY_ASSIGN(const std::vector<std::uint64_t> lists, txn::arrival_lists(m_set.control()));
  if (lists.empty()) return {};
  NB_TRY_ASSIGN(Takeover takeover, Takeover::begin(*this));
  for (const std::uint64_t generation : lists) {
    if (m_knows_inodes) NB_TRY(takeover.take_all(generation, now_ns, go_on));
    m_store->flush();
    if (!m_store->usable()) return {};  // it has told so; the lists wait
    NB_TRY(txn::drop_arrivals(m_set.control(), generation));
  }
  return {};
}

Expected KnownContents::expect(const FilePlace& place, const fs::Stat& stat) {
  const auto row = m_store->find(stat.inode);
  const bool is_its_row = row && is_of(*row, place, stat);
  const std::int64_t seen_ns = is_its_row ? row->seen_ns : 0;
  if (m_manifest && !place.generation) {
    const auto digest = m_manifest->find(place.path, stat);
    if (digest) return {Standing::known, stat.size, *digest, seen_ns};
  }
  const auto mtime_ns = cache::to_ns(stat.mtime);
  if (!row || !mtime_ns) return {};
  const bool is_same_state = row->size == stat.size && row->mtime_ns == *mtime_ns;
  Expected expected{is_same_state ? Standing::likely : Standing::unknown, row->size, row->digest, seen_ns};
  if (!is_its_row) return expected;
  if (is_same_state) {
    expected.standing = Standing::known;
  } else if (fs::is_known_birth(birth_of(stat))) {
    expected.standing = row->mtime_ns == *mtime_ns ? Standing::cut : Standing::changed;
  }
  return expected;
}

fs::Timestamp KnownContents::birth_of(const fs::Stat& stat) const {
  return m_knows_inodes ? stat.born : fs::Timestamp{};
}

// Without a birth only an inode that nothing has happened to is surely the same; and FAT tells mtime for ctime.
bool KnownContents::is_of(const cache::Content& row, const FilePlace& place, const fs::Stat& stat) const {
  const fs::Timestamp born = birth_of(stat);
  if (fs::is_known_birth(born)) return cache::to_ns(born) == row.born_ns;
  return row.path == cache::path_number(place.path) && cache::to_ns(stat.ctime) == row.ctime_ns &&
         row.ctime_ns != row.mtime_ns;
}

void KnownContents::note(const FilePlace& place, const fs::Stat& stat, const hash::Digest& digest,
                         std::int64_t seen_ns) {
  const auto mtime_ns = cache::to_ns(stat.mtime);
  const auto ctime_ns = cache::to_ns(stat.ctime);
  if (!mtime_ns || !ctime_ns) return;
  const std::uint64_t path = cache::path_number(place.path);
  const std::int64_t born_ns = cache::to_ns(birth_of(stat)).value_or(0);
  m_store->put(stat.inode, {path, stat.size, *mtime_ns, *ctime_ns, born_ns, digest, seen_ns});
}

bool KnownContents::has_signature(const RelPath& path, std::uint64_t file_bytes, const hash::Digest& digest) {
  const auto piece_of = [&](std::uint64_t index) { return piece(path, index, file_bytes); };
  return m_manifest && delta::digest_by_pieces(file_bytes, m_signer.secret(), piece_of) == digest;
}

std::optional<delta::SignaturePiece> KnownContents::piece(const RelPath& path, std::uint64_t index,
                                                          std::uint64_t file_bytes) {
  const auto blob = m_manifest ? m_manifest->piece(path, static_cast<std::uint32_t>(index)) : std::nullopt;
  if (!blob) return std::nullopt;
  auto decoded = delta::SignaturePiece::decode(*blob, index, file_bytes, m_signer, Errc::io);
  return decoded ? std::optional(std::move(*decoded)) : std::nullopt;
}

}  // namespace nb::session
