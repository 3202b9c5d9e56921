// SPDX-License-Identifier: Apache-2.0
#include "session/heal.hpp"

#include <algorithm>

#include "base/failpoint.hpp"
#include "fs/metadata.hpp"
#include "session/disk_reader.hpp"
#include "session/heal_places.hpp"
#include "session/source_setup.hpp"
#include "txn/apply_lock.hpp"
#include "txn/scrub_record.hpp"
#include "txn/small_file.hpp"

namespace nb::session {
namespace {

constexpr std::size_t k_copy_bytes = std::size_t{256} << 10;

// What a damaged file is made whole from: all of one place, or blocks of several.
struct Remedy {
  struct Block {
    std::uint64_t number = 0;
    std::size_t place = 0;
  };
  std::vector<HealPlace> places;
  std::vector<Block> blocks;  // none: the first place has all of it
  bool is_written = false;    // it is there already
};

class Healer {
 public:
  enum class Mode : std::uint8_t { heals, dry };

  Healer(txn::FileSet& set, const HealOptions& options, HealObserver& observer, Clock& clock, Mode mode)
      : m_set(set),
        m_options(options),
        m_observer(observer),
        m_clock(clock),
        m_mode(mode),
        m_contents(
            set, [this](const std::string& text) { m_warnings.push_back(text); }, access(mode)),
        m_reader(m_contents.signer(), 0, clock, may_go_on) {}

  Result<HealReport> run() {
    NB_TRY_ASSIGN(auto listed, txn::read_damage(m_set.control()));
    if (listed.empty()) return nothing_known();
    NB_TRY_ASSIGN(m_files, KnownDamage::find(m_set, listed));
    if (m_mode == Mode::heals) {
      NB_TRY(m_contents.take_arrivals(m_clock.wall().time_since_epoch().count(), may_go_on));
      NB_TRY(txn::write_damage(m_set.control(), m_files));
    }
    NB_TRY_ASSIGN(HealPlaces places, HealPlaces::open(m_set, m_contents, m_options));
    const std::vector<txn::Damaged> files = m_files;
    for (const txn::Damaged& file : files) {
      const Status done = may_go_on() ? one(file, places) : fail(Errc::interrupted, "");
      if (ends_all(done)) {
        m_report.cut_short = done.error();
        break;
      }
      NB_TRY(done);
    }
    m_report.left = files.size() - m_report.healed;
    for (const std::string& text : m_warnings) NB_TRY(m_observer.on_notice(text));
    return m_report;
  }

 private:
  // That nothing is on the list says something only after a scrub.
  Result<HealReport> nothing_known() {
    NB_TRY_ASSIGN(const txn::ScrubRecord record, txn::read_scrub_record(m_set));
    if (record.last || record.present) return m_report;
    return fail(Errc::usage, "no scrub has looked at this set yet; run nbackup scrub first");
  }

  static cache::FileAccess access(Mode mode) {
    return mode == Mode::dry ? cache::FileAccess::read : cache::FileAccess::write;
  }

  Status one(const txn::Damaged& file, HealPlaces& places) {
    NB_TRY_ASSIGN(auto remedy, find_remedy(file, places));
    if (!remedy) return m_observer.on_file(file, Healing::no_source, "");
    const std::string& source = remedy->places.front().shown;
    if (m_mode == Mode::dry) {
      ++m_report.healed;
      return m_observer.on_file(file, Healing::possible, source);
    }
    const Status healed = apply(file, *remedy);
    if (ends_all(healed)) return healed;
    if (!healed) return m_observer.on_file(file, Healing::failed, healed.error().message());
    ++m_report.healed;
    return m_observer.on_file(file, Healing::done, source);
  }

  // What stands in the way of the next file just as well.
  static bool ends_all(const Status& done) {
    return !done && (done.error().code == Errc::interrupted || done.error().code == Errc::readers_busy);
  }

  // --- Finding ------------------------------------------------------------------------------------------------------

  Result<std::optional<Remedy>> find_remedy(const txn::Damaged& file, HealPlaces& places) {
    if (file.as_was) {
      NB_TRY_ASSIGN(auto done, what_is_written(file));
      if (done) return done;
    }
    NB_TRY_ASSIGN(auto versions, places.of_path(file));
    NB_TRY_ASSIGN(auto remedy, whole(file, versions));
    if (!remedy) {
      auto others = places.of_content(file);
      NB_TRY_ASSIGN(remedy, whole(file, others));
    }
    if (!remedy) {
      NB_TRY_ASSIGN(auto others, places.anywhere(file, m_files));
      NB_TRY_ASSIGN(remedy, whole(file, others));
    }
    if (!remedy) {
      NB_TRY_ASSIGN(remedy, by_blocks(file, versions));
    }
    return remedy;
  }

  // A heal that died may have had all but the metadata behind it.
  Result<std::optional<Remedy>> what_is_written(const txn::Damaged& file) {
    std::vector<HealPlace> itself;
    const auto directory = directory_of(file);
    auto opened = directory ? (*directory)->open_file(file.path.name(), fs::OpenMode::read)
                            : tl::make_unexpected(directory.error());
    if (opened) itself.push_back({std::move(*opened), "what an interrupted heal has written"});
    NB_TRY_ASSIGN(auto remedy, whole(file, itself));
    if (remedy) remedy->is_written = true;
    return remedy;
  }

  // The first place that has all of the content. What others are open goes.
  Result<std::optional<Remedy>> whole(const txn::Damaged& file, std::vector<HealPlace>& places) {
    for (HealPlace& place : places) {
      const auto stat = place.file->stat();
      if (!stat || stat->size != file.size) continue;
      const auto digest = m_reader.digest(*place.file, file.size);
      if (!digest && digest.error().code == Errc::interrupted) return tl::make_unexpected(digest.error());
      if (!digest || *digest != file.digest) continue;
      Remedy remedy;
      remedy.places.push_back(std::move(place));
      return std::optional<Remedy>(std::move(remedy));
    }
    return std::optional<Remedy>();
  }

  // Every damaged block from one of these, as far as it is known which they are.
  Result<std::optional<Remedy>> by_blocks(const txn::Damaged& file, std::vector<HealPlace>& places) {
    const bool is_known = !file.ranges.empty() && file.found_bytes == file.size &&
                          m_contents.has_signature(file.path, file.size, file.digest);
    if (!is_known || places.empty()) return std::optional<Remedy>();
    Remedy remedy;
    for (const fs::Extent& range : file.ranges) {
      for (std::uint64_t at = range.offset; at < range.offset + range.length; at += delta::k_block_bytes) {
        NB_TRY_ASSIGN(const auto place, place_with(file, at / delta::k_block_bytes, places));
        if (!place) return std::optional<Remedy>();
        remedy.blocks.push_back({at / delta::k_block_bytes, *place});
      }
    }
    remedy.places = std::move(places);
    return std::optional<Remedy>(std::move(remedy));
  }

  Result<std::optional<std::size_t>> place_with(const txn::Damaged& file, std::uint64_t number,
                                                std::vector<HealPlace>& places) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      NB_TRY_ASSIGN(const auto bytes, sound_block(file, number, *places[i].file));
      if (bytes) return std::optional(i);
    }
    return std::optional<std::size_t>();
  }

  Result<std::optional<Bytes>> sound_block(const txn::Damaged& file, std::uint64_t number, fs::File& from) {
    const std::uint64_t index = number / delta::k_piece_blocks;
    if (!m_piece || m_piece_path != file.path || m_piece->index() != index) {
      m_piece = m_contents.piece(file.path, index, file.size);
      m_piece_path = file.path;
    }
    if (!m_piece) return std::optional<Bytes>();
    NB_TRY_ASSIGN(auto bytes, m_reader.block(from, file.size, number));
    const bool is_sound =
        bytes && m_contents.signer().strong(*bytes) == m_piece->block(number - m_piece->first_block()).strong;
    return is_sound ? std::move(bytes) : std::optional<Bytes>();
  }

  // --- Writing ------------------------------------------------------------------------------------------------------

  Status apply(const txn::Damaged& file, Remedy& remedy) {
    NB_TRY_ASSIGN(const auto readers, txn::take_apply_lock(m_set, m_options.wait_readers, m_clock, may_go_on));
    NB_TRY_ASSIGN(const auto directory, directory_of(file));
    NB_TRY_ASSIGN(const auto node, directory->open_node(file.path.name()));
    NB_TRY_ASSIGN(const fs::Stat before, node->stat());
    if (!file.is(before)) return fail(Errc::changed, "");
    NB_TRY_ASSIGN(const fs::Metadata as_was, metadata_before(file, *node, before));
    NB_TRY_ASSIGN(const auto target, open_to_write(*directory, *node, before, file.path.name()));
    // Not before all that can end it without a byte written: as long as the mark stands, an edit counts as damage.
    if (Status marked = mark(file, as_was); !marked) {
      static_cast<void>(node->set_mode(before.mode));  // which opening it may have changed
      return marked;
    }
    NB_FAILPOINT("session.heal.marked");
    Status done = write(file, remedy, *target);
    if (done) done = failpoint("session.heal.reading_back");
    if (done) done = read_back(file, *target);
    const Status restored = restore(as_was, *target);
    NB_TRY(done);
    NB_TRY(restored);
    NB_TRY(target->sync());
    NB_FAILPOINT("session.heal.written");
    NB_TRY_ASSIGN(const fs::Stat after, target->stat());
    note(file, after);
    return unlist(file);
  }

  // Writing moves the time, and the kernel takes set-id bits and capabilities away: one that died on the way has left
  // word of what they were.
  static Result<fs::Metadata> metadata_before(const txn::Damaged& file, const fs::Node& node, const fs::Stat& stat) {
    if (file.as_was) return *file.as_was;
    NB_TRY_ASSIGN(fs::Xattrs xattrs, node.xattrs());
    return fs::Metadata{stat.mode, stat.owner, file.mtime, std::move(xattrs)};
  }

  // From here on its size and time are no longer what they were found to be.
  Status mark(const txn::Damaged& file, const fs::Metadata& as_was) {
    for (txn::Damaged& each : m_files) {
      if (each.inode != file.inode) continue;
      each.is_being_healed = true;
      each.as_was = as_was;
    }
    return txn::write_damage(m_set.control(), m_files);
  }

  Status unlist(const txn::Damaged& file) {
    std::erase_if(m_files, [&](const txn::Damaged& each) { return each.inode == file.inode; });
    return txn::write_damage(m_set.control(), m_files);
  }

  Result<std::unique_ptr<fs::Directory>> directory_of(const txn::Damaged& file) {
    if (!file.generation) return m_set.root().open_directory_path(file.path.parent());
    NB_TRY_ASSIGN(const auto files, txn::open_kept_files(m_set, *file.generation));
    return files->open_directory_path(file.path.parent());
  }

  // An owner's file need not be writable for its owner.
  Result<std::unique_ptr<fs::File>> open_to_write(const fs::Directory& directory, fs::Node& node,
                                                  const fs::Stat& before, std::string_view name) {
    auto opened = directory.open_file(name, fs::OpenMode::read_write);
    if (opened || opened.error().code != Errc::not_permitted) return opened;
    NB_TRY(node.set_mode(before.mode | 0600U));
    opened = directory.open_file(name, fs::OpenMode::read_write);
    if (!opened) static_cast<void>(node.set_mode(before.mode));
    return opened;
  }

  Status write(const txn::Damaged& file, Remedy& remedy, fs::File& target) {
    if (remedy.is_written) return target.sync();
    if (remedy.blocks.empty()) {
      NB_TRY(target.set_size(file.size));
      NB_TRY(copy(file, *remedy.places.front().file, target));
    }
    for (const Remedy::Block& each : remedy.blocks) {
      NB_TRY_ASSIGN(const auto bytes, sound_block(file, each.number, *remedy.places[each.place].file));
      if (!bytes) return fail(Errc::changed, remedy.places[each.place].shown);
      NB_TRY(target.write_at(each.number * delta::k_block_bytes, *bytes));
      NB_FAILPOINT("session.heal.writing");
    }
    return target.sync();
  }

  Status copy(const txn::Damaged& file, fs::File& from, fs::File& target) {
    Bytes buffer(k_copy_bytes);
    const fs::ContentVisitor visitor{[&](fs::Extent hole) -> Status {
                                       NB_TRY_ASSIGN(const bool punched, target.punch_hole(hole));
                                       return punched ? Status() : write_zeros(target, hole);
                                     },
                                     [&](std::uint64_t offset, ByteView bytes) -> Status {
                                       NB_TRY(m_reader.pass(bytes.size()));
                                       NB_FAILPOINT("session.heal.writing");
                                       return target.write_at(offset, bytes);
                                     }};
    return fs::read_through(from, file.size, buffer, visitor);
  }

  static Status write_zeros(fs::File& target, fs::Extent hole) {
    const Bytes zeros(k_copy_bytes);
    for (std::uint64_t done = 0; done < hole.length; done += zeros.size()) {
      const std::uint64_t count = std::min<std::uint64_t>(zeros.size(), hole.length - done);
      NB_TRY(target.write_at(hole.offset + done, ByteView(zeros).first(static_cast<std::size_t>(count))));
    }
    return {};
  }

  Status read_back(const txn::Damaged& file, fs::File& target) {
    NB_TRY_ASSIGN(const hash::Digest digest, m_reader.digest(target, file.size));
    return digest == file.digest ? Status() : fail(Errc::damaged, "what was written does not come back");
  }

  static Status restore(const fs::Metadata& as_was, fs::File& target) {
    NB_TRY_ASSIGN(const fs::Xattrs left, target.xattrs());
    for (const fs::Xattr& each : as_was.xattrs) {
      const bool is_there = std::find(left.begin(), left.end(), each) != left.end();
      if (!is_there) NB_TRY(target.set_xattr(each.name, each.value));
    }
    NB_TRY(target.set_mode(as_was.mode));
    return target.set_mtime(as_was.mtime);
  }

  // What is known of it holds for its new ctime.
  void note(const txn::Damaged& file, const fs::Stat& after) {
    const FilePlace place{file.generation, file.path};
    m_contents.note(place, after, file.digest, m_clock.wall().time_since_epoch().count());
    m_contents.flush();
    if (!file.generation && m_contents.manifest() != nullptr) {
      m_contents.manifest()->restate(file.path, after, file.digest);
      m_contents.manifest()->flush();
    }
  }

  txn::FileSet& m_set;
  const HealOptions& m_options;
  HealObserver& m_observer;
  Clock& m_clock;
  const Mode m_mode;
  std::vector<std::string> m_warnings;
  KnownContents m_contents;
  DiskReader m_reader;
  std::vector<txn::Damaged> m_files;  // the list as it stands
  HealReport m_report;
  std::optional<delta::SignaturePiece> m_piece;  // of m_piece_path
  RelPath m_piece_path;
};

}  // namespace

Result<HealReport> heal(txn::FileSet& set, const txn::WriterLock&, const HealOptions& options, HealObserver& observer,
                        Clock& clock) {
  NB_TRY_ASSIGN(const auto lock, txn::take_scrub_lock(set));
  return Healer(set, options, observer, clock, Healer::Mode::heals).run();
}

Result<HealReport> heal_dry(txn::FileSet& set, const HealOptions& options, HealObserver& observer, Clock& clock) {
  return Healer(set, options, observer, clock, Healer::Mode::dry).run();
}

}  // namespace nb::session
