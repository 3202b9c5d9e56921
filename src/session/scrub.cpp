// SPDX-License-Identifier: Apache-2.0
#include "session/scrub.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/failpoint.hpp"
#include "cache/sums.hpp"
#include "session/disk_reader.hpp"
#include "session/file_walk.hpp"
#include "session/known_contents.hpp"
#include "session/scrub_history.hpp"
#include "session/source_setup.hpp"
#include "txn/history.hpp"
#include "txn/small_file.hpp"

namespace nb::session {
namespace {

constexpr std::chrono::seconds k_save_interval{1};
// How a walk is ended before its end.
constexpr Errc k_time_is_over = Errc::timeout;

class Scrub {
 public:
  Scrub(txn::FileSet& set, const ScrubOptions& options, ScrubObserver& observer, Clock& clock)
      : m_set(set),
        m_options(options),
        m_observer(observer),
        m_clock(clock),
        m_contents(set, [this](const std::string& text) { m_warnings.push_back(text); }),
        m_reader(m_contents.signer(), options.bytes_per_second, clock, may_go_on),
        m_began(clock.steady()) {}

  Result<ScrubReport> run() {
    NB_TRY_ASSIGN(const auto lock, txn::take_scrub_lock(m_set));
    NB_TRY(begin());
    Status done = read_all();
    // What was found stays found, whatever ended it.
    const Status saved = save();
    NB_TRY(done);
    NB_TRY(saved);
    m_report.damaged_in_all = m_damage.size();
    return m_report;
  }

 private:
  enum class Way : std::uint8_t { to_end, stopped };

  [[nodiscard]] std::int64_t now_ns() const { return m_clock.wall().time_since_epoch().count(); }

  Status begin() {
    NB_TRY_ASSIGN(m_record, txn::read_scrub_record(m_set));
    m_report.resumed = take_up();
    auto known = txn::read_damage(m_set.control());
    if (!known && known.error().code != Errc::bad_set) return tl::make_unexpected(known.error());
    if (!known) NB_TRY(m_observer.on_notice("the list of damaged files is damaged itself and is made anew"));
    m_damage_changed = !known;
    NB_TRY_ASSIGN(const auto listed, KnownDamage::find(m_set, known.value_or(std::vector<txn::Damaged>())));
    for (const txn::Damaged& each : listed) m_damage.emplace(each.inode, each);
    m_damage_changed = m_damage_changed || listed.size() != known->size();
    m_since_ns = now_ns();
    return m_contents.take_arrivals(m_since_ns, may_go_on);
  }

  // The pass of this part that did not come to its end, or a new one; that of another part waits for its next turn.
  bool take_up() {
    std::optional<txn::StandingPass>& present = m_record.present;
    std::vector<txn::StandingPass>& waiting = m_record.waiting;
    if (present && present->pass.part == m_options.part) return true;
    if (present) waiting.push_back(*std::move(present));
    const auto own = std::find_if(waiting.begin(), waiting.end(),
                                  [this](const auto& each) { return each.pass.part == m_options.part; });
    const bool found = own != waiting.end();
    present = found ? std::move(*own) : txn::StandingPass{{m_options.part, now_ns(), 0, {}}, {}};
    if (found) waiting.erase(own);
    if (waiting.size() > txn::k_most_waiting_passes) waiting.erase(waiting.begin());
    return found;
  }

  Status read_all() {
    if (!m_report.resumed) {
      NB_TRY_ASSIGN(m_report.bad_records, check_records(m_set, m_observer, m_clock));
      // A pass in several runs does not know what moved between them.
      m_before = trees_now();
    }
    m_is_begun = true;
    m_way = Way::to_end;
    const std::optional<std::uint64_t> first = m_record.present->place.generation;
    if (!first) NB_TRY(read_tree(std::nullopt, m_set.root()));
    NB_TRY_ASSIGN(const txn::History history, txn::History::open(m_set));
    for (const std::uint64_t number : history.numbers()) {
      if (m_way == Way::stopped || number < first.value_or(0)) continue;
      NB_TRY(read_generation(number));
    }
    if (m_way == Way::to_end) end_pass();
    m_report.pass = m_report.ended ? *m_record.last : pass();
    return {};
  }

  struct Trees {
    std::uint64_t generation = 0;
    std::vector<std::uint64_t> kept;
    friend bool operator==(const Trees&, const Trees&) = default;
  };
  // What there is to be walked through; nothing where it cannot be told.
  std::optional<Trees> trees_now() {
    if (!m_set.reload()) return std::nullopt;
    const auto history = txn::History::open(m_set);
    if (!history) return std::nullopt;
    return Trees{m_set.head().generation, history->numbers()};
  }

  Status read_generation(std::uint64_t number) {
    const auto files = txn::open_kept_files(m_set, number);
    // Nothing was kept, or it has been dropped.
    if (!files && files.error().code == Errc::not_found) return {};
    if (!files) return missed({number, RelPath()}, files.error());
    return read_tree(number, **files);
  }

  Status read_tree(const std::optional<std::uint64_t>& generation, fs::Directory& top) {
    FileWalk walk;
    walk.tree = generation ? WalkedTree::kept : WalkedTree::live;
    if (m_record.present->place.generation == generation) walk.after = m_record.present->place.path;
    walk.visit = [&](fs::Directory& directory, const RelPath& path) { return visit({generation, path}, directory); };
    walk.unreadable = [&](const RelPath& path, const Error& error) { return missed({generation, path}, error); };
    const Status done = walk_files(top, walk);
    if (done || done.error().code != k_time_is_over) return done;
    m_way = Way::stopped;
    return {};
  }

  Status visit(const FilePlace& place, fs::Directory& directory) {
    const std::uint64_t part = cache::part_of(cache::path_number(place.path), m_options.part.count);
    if (part + 1 == m_options.part.number) NB_TRY(read_file(place, directory));
    m_record.present->place = place;
    NB_FAILPOINT("session.scrub.file");
    const SteadyTime now = m_clock.steady();
    if (now - m_saved >= k_save_interval) {
      m_saved = now;
      NB_TRY(save());
    }
    if (!may_go_on()) return fail(Errc::interrupted, "");
    if (m_options.time && now - m_began >= *m_options.time) return fail(k_time_is_over, "");
    return {};
  }

  Status read_file(const FilePlace& place, fs::Directory& directory) {
    const auto file = directory.open_file(place.path.name(), fs::OpenMode::read);
    if (!file) return missed(place, file.error());
    NB_TRY_ASSIGN(const fs::Stat stat, (*file)->stat());
    const Expected expected = expect(place, stat);
    // Another name of an inode that was read, or a file that came while this scrub was at work.
    const bool was_read = expected.seen_ns == pass().began_ns || m_found.contains(stat.inode);
    const bool is_new = expected.standing == Standing::unknown && is_young(stat);
    if (was_read || is_new) return {};
    if (expected.standing == Standing::cut) return damaged(place, **file, stat, expected);
    const auto digest = m_reader.digest(**file, stat.size);
    if (!digest && digest.error().code == Errc::interrupted) return tl::make_unexpected(digest.error());
    NB_TRY_ASSIGN(const fs::Stat after, (*file)->stat());
    if (after.size != stat.size || after.mtime != stat.mtime) return {};  // somebody is writing to it
    ++counts().files;
    counts().bytes += stat.size;
    if (!digest) return unread(place, **file, stat, expected);
    return judge({place, **file, after}, expected, *digest);
  }

  // What the list of damaged files says holds as long as the file is as it was found.
  Expected expect(const FilePlace& place, const fs::Stat& stat) {
    Expected expected = m_contents.expect(place, stat);
    const auto listed = m_damage.find(stat.inode);
    if (listed == m_damage.end() || !listed->second.is(stat)) return expected;
    const txn::Damaged& entry = listed->second;
    return {entry.size == stat.size ? Standing::known : Standing::cut, entry.size, entry.digest, 0};
  }

  [[nodiscard]] bool is_young(const fs::Stat& stat) const { return cache::to_ns(stat.ctime).value_or(0) >= m_since_ns; }

  struct ReadFile {
    const FilePlace& place;
    fs::File& file;
    const fs::Stat& stat;
  };

  Status judge(const ReadFile& read, const Expected& expected, const hash::Digest& digest) {
    const bool fits =
        expected.standing != Standing::unknown && digest == expected.digest && read.stat.size == expected.size;
    if (!fits && expected.standing == Standing::known) return damaged(read.place, read.file, read.stat, expected);
    if (!fits && expected.standing == Standing::changed) {
      ++counts().edited;
      NB_TRY(m_observer.on_edited(read.place));
    } else if (!fits) {
      ++counts().unknown;
    }
    const auto listed = m_damage.find(read.stat.inode);
    // Its content is sound, its time and attributes are not back yet: only the list has them.
    const bool is_half_healed = fits && listed != m_damage.end() && listed->second.as_was.has_value();
    if (is_half_healed) {
      keep_in_mind(read.place, read.stat, expected);
      txn::Damaged entry = listed->second;
      entry.ranges.clear();
      return add_damage(std::move(entry), "healed but for its time and attributes");
    }
    m_damage_changed = m_damage.erase(read.stat.inode) > 0 || m_damage_changed;
    m_contents.note(read.place, read.stat, digest, pass().began_ns);
    return {};
  }

  [[nodiscard]] txn::Damaged entry_of(const FilePlace& place, const fs::Stat& stat, const Expected& expected) const {
    const fs::Timestamp born = m_contents.birth_of(stat);
    return {place.generation, place.path,    stat.inode,      born,  stat.size,
            stat.mtime,       expected.size, expected.digest, false, {}};
  }

  // What it was, beside the list of damaged files, which may be lost: a row that no scrub has seen is forgotten.
  void keep_in_mind(const FilePlace& place, const fs::Stat& stat, const Expected& expected) {
    fs::Stat sound = stat;
    sound.size = expected.size;
    m_contents.note(place, sound, expected.digest, pass().began_ns);
  }

  Status damaged(const FilePlace& place, fs::File& file, const fs::Stat& stat, const Expected& expected) {
    keep_in_mind(place, stat, expected);
    txn::Damaged entry = entry_of(place, stat, expected);
    if (expected.standing == Standing::cut) {
      ++counts().files;
      return add_damage(std::move(entry), stat.size < expected.size ? "cut off" : "longer than it was");
    }
    NB_TRY(locate(file, entry));
    return add_damage(std::move(entry), "content changed");
  }

  // Where its signature is known: of live files.
  Status locate(fs::File& file, txn::Damaged& entry) {
    if (entry.generation || !m_contents.has_signature(entry.path, entry.size, entry.digest)) return {};
    for (std::uint64_t index = 0; index < delta::pieces_in(entry.size); ++index) {
      const auto piece = m_contents.piece(entry.path, index, entry.size);
      if (!piece) break;
      NB_TRY_ASSIGN(const auto found, m_reader.differing(file, entry.size, *piece, txn::k_most_ranges));
      entry.ranges.insert(entry.ranges.end(), found.begin(), found.end());
      if (entry.ranges.size() <= txn::k_most_ranges) continue;
      entry.ranges.clear();
      break;
    }
    return {};
  }

  // The disk does not give it back. Where nothing is known of it there is nothing that it could be healed by.
  Status unread(const FilePlace& place, fs::File& file, const fs::Stat& stat, const Expected& expected) {
    if (expected.standing != Standing::known) {
      ++counts().damaged;
      return m_observer.on_problem(
          {Errc::damaged, 0, place.path.str() + " (cannot be read; what it was is not known)"});
    }
    keep_in_mind(place, stat, expected);
    txn::Damaged entry = entry_of(place, stat, expected);
    NB_TRY_ASSIGN(entry.ranges, m_reader.unreadable(file, stat.size, txn::k_most_ranges));
    return add_damage(std::move(entry), "cannot be read");
  }

  Status add_damage(txn::Damaged entry, const std::string& reason) {
    ++counts().damaged;
    m_found.insert(entry.inode);
    NB_TRY(m_observer.on_damaged(entry, reason));
    const auto listed = m_damage.find(entry.inode);
    if (m_damage.size() >= txn::k_most_damaged && listed == m_damage.end()) return {};
    // A heal that was cut off has left it with the time of its writing; the list has its own.
    if (listed != m_damage.end() && listed->second.is_being_healed && listed->second.digest == entry.digest) {
      entry.mtime = listed->second.mtime;
      entry.is_being_healed = true;
      entry.as_was = listed->second.as_was;
    }
    m_damage[entry.inode] = std::move(entry);
    m_damage_changed = true;
    return {};
  }

  Status missed(const FilePlace& place, const Error& error) {
    if (is_not_there(error.code)) return {};
    ++counts().unreadable;
    const std::string where =
        place.generation ? ".nbackup/history/" + std::to_string(*place.generation) + "/files/" : "";
    const Errc code = error.code == Errc::io ? Errc::damaged : Errc::unreadable;
    if (code == Errc::damaged) ++m_report.bad_records;
    return m_observer.on_problem({code, error.sys_errno, "read " + where + place.path.str()});
  }

  // While it has not ended.
  txn::ScrubPass& pass() { return m_record.present->pass; }
  txn::ScrubCounts& counts() { return pass().counts; }

  void end_pass() {
    pass().ended_ns = now_ns();
    // Where something was not seen for want of permission, it has not gone; nor has what a commit has moved meanwhile from
    // where the walk had not been to where it was no more.
    const bool saw_all = counts().unreadable == 0 && m_before && m_before == trees_now();
    const txn::ScrubPart part = m_options.part;
    if (saw_all) m_contents.store().forget_unseen(pass().began_ns, part.number - 1, part.count);
    m_record.last = pass();
    m_record.present.reset();
    m_report.ended = true;
  }

  // The list first: what it has found must not be behind the place from which the next scrub goes on.
  Status save() {
    m_contents.flush();
    for (const std::string& text : std::exchange(m_warnings, {})) NB_TRY(m_observer.on_notice(text));
    if (m_damage_changed) {
      std::vector<txn::Damaged> files;
      for (const auto& [inode, each] : m_damage) files.push_back(each);
      std::sort(files.begin(), files.end(), [](const txn::Damaged& a, const txn::Damaged& b) {
        return FilePlace{a.generation, a.path} < FilePlace{b.generation, b.path};
      });
      NB_TRY(txn::write_damage(m_set.control(), files));
      m_damage_changed = false;
    }
    NB_FAILPOINT("session.scrub.listed");
    if (!m_is_begun) return {};
    if (m_record.present) pass().ended_ns = now_ns();
    return txn::write_scrub_record(m_set, m_record);
  }

  txn::FileSet& m_set;
  const ScrubOptions& m_options;
  ScrubObserver& m_observer;
  Clock& m_clock;
  std::vector<std::string> m_warnings;
  KnownContents m_contents;
  DiskReader m_reader;
  SteadyTime m_began;
  SteadyTime m_saved{};
  std::int64_t m_since_ns = 0;
  Way m_way = Way::to_end;
  std::optional<Trees> m_before;
  txn::ScrubRecord m_record;
  ScrubReport m_report;
  std::map<std::uint64_t, txn::Damaged> m_damage;  // by inode
  std::set<std::uint64_t> m_found;                 // damaged inodes that this run has read
  bool m_damage_changed = false;
  bool m_is_begun = false;  // the records have been checked: whoever takes the pass up need not do it again
};

}  // namespace

Result<ScrubReport> scrub(txn::FileSet& set, const ScrubOptions& options, ScrubObserver& observer, Clock& clock) {
  return Scrub(set, options, observer, clock).run();
}

}  // namespace nb::session
