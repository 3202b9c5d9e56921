// SPDX-License-Identifier: Apache-2.0
#include "txn/damage.hpp"

#include "base/failpoint.hpp"
#include "txn/generation.hpp"
#include "txn/history.hpp"
#include "txn/kept_trees.hpp"
#include "txn/record_file.hpp"
#include "txn/small_file.hpp"

namespace nb::txn {
namespace {

constexpr std::string_view k_magic = "nbackup damage";
constexpr std::uint64_t k_version = 3;
constexpr std::string_view k_damage_new_name = "damage.new";

// First byte of each record. On disk: never renumber.
// Version 1 had files without the time of birth, version 2 without their metadata.
enum class Kind : std::uint8_t {
  header = 1,
  footer = 2,
  file_without_birth = 16,
  file_without_metadata = 17,
  file = 18
};

void put_kind(ByteWriter& out, Kind kind) { out.u8(static_cast<std::uint8_t>(kind)); }

Status expect_kind(ByteReader& in, Kind kind) {
  NB_TRY_ASSIGN(const std::uint8_t found, in.u8());
  return found == static_cast<std::uint8_t>(kind) ? Status() : in.bad("record of another kind");
}

bool is_file(std::uint8_t kind) {
  return kind >= static_cast<std::uint8_t>(Kind::file_without_birth) && kind <= static_cast<std::uint8_t>(Kind::file);
}

Bytes header() {
  Bytes bytes;
  ByteWriter out(bytes);
  put_kind(out, Kind::header);
  out.string(k_magic);
  out.varint(k_version);
  return bytes;
}

Status check_header(ByteView data) {
  ByteReader in(data, Errc::bad_set, "damage");
  NB_TRY(expect_kind(in, Kind::header));
  NB_TRY_ASSIGN(const std::string magic, in.string(k_magic.size()));
  if (magic != k_magic) return in.bad("not a list of damaged files");
  NB_TRY_ASSIGN(const std::uint64_t version, in.varint());
  if (version > k_version) return in.bad("made by a newer nbackup");
  return version == 0 ? in.bad("bad version") : Status();
}

Bytes footer(std::uint64_t count) {
  Bytes bytes;
  ByteWriter out(bytes);
  put_kind(out, Kind::footer);
  out.varint(count);
  return bytes;
}

Result<std::optional<std::uint64_t>> get_generation(ByteReader& in) {
  NB_TRY_ASSIGN(const bool is_kept, get_flag(in));
  if (!is_kept) return std::optional<std::uint64_t>();
  NB_TRY_ASSIGN(const std::uint64_t number, in.varint());
  return std::optional<std::uint64_t>(number);
}

Result<RelPath> get_damaged_path(ByteReader& in, bool is_kept) {
  NB_TRY_ASSIGN(const std::string text, in.string(k_max_path_bytes));
  NB_TRY_ASSIGN(RelPath path, RelPath::parse(text, Errc::bad_set));
  const bool is_reserved = has_reserved_name(text) && !(is_kept && is_anchor(path));
  if (path.is_root() || is_reserved) return in.bad("a path of no file");
  return path;
}

Result<std::vector<fs::Extent>> get_ranges(ByteReader& in) {
  NB_TRY_ASSIGN(const std::uint64_t count, in.varint(k_most_ranges));
  std::vector<fs::Extent> ranges;
  for (std::uint64_t i = 0; i < count; ++i) {
    fs::Extent range;
    NB_TRY_ASSIGN(range.offset, in.varint());
    NB_TRY_ASSIGN(range.length, in.varint());
    if (range.length == 0 || range.offset > UINT64_MAX - range.length) return in.bad("bad range");
    ranges.push_back(range);
  }
  return ranges;
}

// What is at the path of `file` in the live tree or in files/ of a generation, if it is that file.
bool is_there(const Result<std::optional<fs::Stat>>& found, const Damaged& file) {
  return found && *found && file.is(**found);
}

// A disk that fails must not make us forget what it damaged.
bool cannot_tell(const Result<std::optional<fs::Stat>>& found) { return !found && !is_not_there(found.error().code); }

// A damaged file at the place where it was or in a newer generation's files; as it is listed where it was not found, but
// not all of these could be looked at.
std::optional<Damaged> found_again(const Damaged& file, LiveTree& live, KeptTrees* kept,
                                   const std::vector<std::uint64_t>& numbers) {
  Damaged now = file;
  bool unsure = false;
  const auto look = [&](const Result<std::optional<fs::Stat>>& found) {
    unsure = unsure || cannot_tell(found);
    return is_there(found, file);
  };
  if (!file.generation && look(live.find(file.path))) return now;
  if (kept != nullptr) {
    for (const std::uint64_t number : numbers) {
      if (number < file.generation.value_or(0)) continue;
      now.generation = number;
      if (look(kept->find(number, file.path))) return now;
    }
  }
  return unsure ? std::optional(file) : std::nullopt;
}

}  // namespace

bool knows_inodes(const fs::Node& near) { return near.file_system_identity().has_value(); }

bool Damaged::is(const fs::Stat& stat) const {
  return is_in_the_past(stat) && (is_being_healed || stat.mtime == mtime);
}

bool Damaged::is_in_the_past(const fs::Stat& stat) const {
  if (stat.type != fs::FileType::regular || stat.inode != inode) return false;
  if (fs::is_known_birth(born) && stat.born != born) return false;
  return is_being_healed || stat.size == found_bytes;
}

Bytes encode(const Damaged& file) {
  Bytes bytes;
  ByteWriter out(bytes);
  put_kind(out, Kind::file);
  out.u8(file.generation ? 1 : 0);
  if (file.generation) out.varint(*file.generation);
  out.string(file.path.str());
  out.varint(file.inode);
  put(out, file.born);
  out.varint(file.found_bytes);
  put(out, file.mtime);
  out.varint(file.size);
  file.digest.write(out);
  out.u8(file.is_being_healed ? 1 : 0);
  out.varint(file.ranges.size());
  for (const fs::Extent& range : file.ranges) {
    out.varint(range.offset);
    out.varint(range.length);
  }
  out.u8(file.as_was ? 1 : 0);
  if (file.as_was) put(out, *file.as_was);
  return bytes;
}

Result<Damaged> decode_damaged(ByteView data) {
  ByteReader in(data, Errc::bad_set, "damaged file");
  NB_TRY_ASSIGN(const std::uint8_t kind, in.u8());
  if (!is_file(kind)) return in.bad("record of another kind");
  Damaged file;
  NB_TRY_ASSIGN(file.generation, get_generation(in));
  NB_TRY_ASSIGN(file.path, get_damaged_path(in, file.generation.has_value()));
  NB_TRY_ASSIGN(file.inode, in.varint());
  if (kind != static_cast<std::uint8_t>(Kind::file_without_birth)) {
    NB_TRY_ASSIGN(file.born, get_time(in));
  }
  NB_TRY_ASSIGN(file.found_bytes, in.varint());
  NB_TRY_ASSIGN(file.mtime, get_time(in));
  NB_TRY_ASSIGN(file.size, in.varint());
  NB_TRY_ASSIGN(file.digest, hash::Digest::read(in));
  NB_TRY_ASSIGN(file.is_being_healed, get_flag(in));
  NB_TRY_ASSIGN(file.ranges, get_ranges(in));
  if (kind == static_cast<std::uint8_t>(Kind::file)) {
    NB_TRY_ASSIGN(const bool has_metadata, get_flag(in));
    if (has_metadata) {
      NB_TRY_ASSIGN(file.as_was, get_metadata(in));
    }
  }
  return file;
}

Result<std::vector<Damaged>> read_damage(const fs::Directory& control) {
  std::vector<Damaged> files;
  const auto file = control.open_file(k_damage_name, fs::OpenMode::read);
  if (!file && file.error().code == Errc::not_found) return files;
  NB_TRY(file);
  NB_TRY_ASSIGN(const fs::Stat stat, (*file)->stat());
  RecordCursor cursor(**file, 0, stat.size);
  NB_TRY_ASSIGN(const ByteView first, cursor.next_of("damage"));
  NB_TRY(check_header(first));
  const bool needs_birth = knows_inodes(control);
  std::uint64_t read = 0;
  while (true) {
    NB_TRY_ASSIGN(const ByteView record, cursor.next_of("damage"));
    if (!record.empty() && is_file(std::to_integer<std::uint8_t>(record[0]))) {
      NB_TRY_ASSIGN(Damaged each, decode_damaged(record));
      ++read;
      if (!needs_birth || fs::is_known_birth(each.born)) files.push_back(std::move(each));
      continue;
    }
    ByteReader in(record, Errc::bad_set, "damage");
    NB_TRY(expect_kind(in, Kind::footer));
    NB_TRY_ASSIGN(const std::uint64_t count, in.varint());
    if (count != read || cursor.at() != stat.size) return in.bad("bad footer");
    return files;
  }
}

Status write_damage(fs::Directory& control, const std::vector<Damaged>& files) {
  NB_TRY(remove_if_there(control, k_damage_new_name));
  if (files.empty()) {
    NB_TRY(remove_if_there(control, k_damage_name));
    return control.sync();
  }
  NB_TRY_ASSIGN(auto file, control.create_file(k_damage_new_name));
  RecordWriter out(std::move(file), 0);
  NB_TRY(out.append(header()));
  for (const Damaged& each : files) NB_TRY(out.append(encode(each)));
  NB_TRY(out.append(footer(files.size())));
  NB_TRY(out.sync());
  NB_FAILPOINT("txn.damage.written");
  NB_TRY(control.rename(k_damage_new_name, control, k_damage_name, fs::RenameMode::replace));
  return control.sync();
}

Result<std::vector<Damaged>> find_again(FileSet& set, const std::vector<Damaged>& files) {
  std::vector<Damaged> found;
  if (files.empty()) return found;
  NB_TRY_ASSIGN(const History history, History::open(set));
  NB_TRY_ASSIGN(const auto directory, open_if_there(set.control(), k_history_name));
  std::optional<KeptTrees> kept;
  if (directory) kept.emplace(*directory);
  LiveTree live(set.root());
  for (const Damaged& each : files) {
    auto now = found_again(each, live, kept ? &*kept : nullptr, history.numbers());
    if (now) found.push_back(std::move(*now));
  }
  return found;
}

}  // namespace nb::txn
