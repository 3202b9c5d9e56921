// SPDX-License-Identifier: Apache-2.0
#include "txn/history_size.hpp"

#include <algorithm>
#include <map>

#include "txn/history.hpp"
#include "txn/record_file.hpp"
#include "txn/small_file.hpp"

namespace nb::txn {
namespace {

constexpr std::string_view k_magic = "nbackup sizes";
constexpr std::uint64_t k_version = 1;
constexpr std::string_view k_sizes_new_name = "sizes.new";

// What is below one directory, by opening each by its path, so that depth costs no descriptors.
class Walk {
 public:
  Walk(const fs::Directory& top, std::uint64_t& entries_left) : m_top(top), m_left(entries_left) {}

  // Nothing if there are too many entries.
  std::optional<std::uint64_t> bytes() {
    std::vector<RelPath> open{RelPath()};
    while (!open.empty()) {
      const RelPath path = std::move(open.back());
      open.pop_back();
      if (!look_into(path, open)) return std::nullopt;
    }
    return m_bytes;
  }

 private:
  bool look_into(const RelPath& path, std::vector<RelPath>& open) {
    const auto directory = path.is_root() ? m_top.reopen() : m_top.open_directory_path(path);
    const auto names = directory ? (*directory)->list() : tl::make_unexpected(directory.error());
    if (!names) return true;
    if (names->size() > m_left) return false;
    m_left -= names->size();
    for (const fs::NamedType& each : *names) {
      const auto stat = (*directory)->stat_at(each.name);
      if (!stat) continue;
      add(*stat);
      if (stat->type == fs::FileType::directory) open.push_back(path.child(each.name));
    }
    return true;
  }

  // A file with several names counts with the last of them, if all are here.
  void add(const fs::Stat& stat) {
    const bool is_single = stat.type == fs::FileType::directory || stat.links == 1;
    if (is_single || ++m_seen[stat.inode] == stat.links) m_bytes += stat.allocated_bytes;
  }

  const fs::Directory& m_top;
  std::uint64_t& m_left;
  std::uint64_t m_bytes = 0;
  std::map<std::uint64_t, std::uint64_t> m_seen;  // names of inodes that have several
};

std::vector<SizeRow> read_sizes(const fs::Directory& history) {
  const auto file = history.open_file(k_sizes_name, fs::OpenMode::read);
  const auto stat = file ? (*file)->stat() : tl::make_unexpected(file.error());
  if (!stat) return {};
  RecordCursor cursor(**file, 0, stat->size);
  const auto record = cursor.next();
  if (!record || !*record) return {};
  return decode_sizes(**record).value_or(std::vector<SizeRow>());
}

// Not synced: one that is lost costs nothing but looking.
Status write_sizes(fs::Directory& history, const std::vector<SizeRow>& rows) {
  NB_TRY(remove_if_there(history, k_sizes_new_name));
  NB_TRY_ASSIGN(auto file, history.create_file(k_sizes_new_name));
  RecordWriter writer(std::move(file), 0);
  NB_TRY(writer.append(encode(rows)));
  NB_TRY(writer.flush());
  return history.rename(k_sizes_new_name, history, k_sizes_name, fs::RenameMode::replace);
}

// What is known of a generation, or what looking at it shows; nothing if that is too much. The oldest has no list and
// keeps nothing.
Result<std::optional<SizeRow>> row_of(const fs::Directory& history, std::uint64_t number,
                                      const std::vector<SizeRow>& known, std::uint64_t& entries_left) {
  NB_TRY_ASSIGN(const auto directory, history.open_directory(std::to_string(number)));
  NB_TRY_ASSIGN(const auto changes, find_name(*directory, k_changes_name));
  SizeRow row{number, changes ? ident_of(*changes) : Ident{}, 0};
  const auto same = [&row](const SizeRow& each) { return each.number == row.number && each.changes == row.changes; };
  const auto found = std::find_if(known.begin(), known.end(), same);
  if (found != known.end()) return std::optional(*found);
  NB_TRY_ASSIGN(const auto files, open_if_there(*directory, k_files_name));
  if (!changes || !files) return std::optional(row);
  const auto bytes = Walk(*files, entries_left).bytes();
  if (!bytes) return std::optional<SizeRow>();
  row.bytes = *bytes;
  return std::optional(row);
}

}  // namespace

Bytes encode(const std::vector<SizeRow>& rows) {
  Bytes bytes;
  ByteWriter out(bytes);
  out.string(k_magic);
  out.varint(k_version);
  out.varint(rows.size());
  for (const SizeRow& row : rows) {
    out.varint(row.number);
    put(out, row.changes);
    out.varint(row.bytes);
  }
  return bytes;
}

Result<std::vector<SizeRow>> decode_sizes(ByteView data) {
  ByteReader in(data, Errc::bad_set, "sizes");
  NB_TRY_ASSIGN(const std::string magic, in.string(k_magic.size()));
  NB_TRY_ASSIGN(const std::uint64_t version, in.varint());
  if (magic != k_magic || version != k_version) return in.bad("of another kind");
  NB_TRY_ASSIGN(const std::uint64_t count, in.varint());
  std::vector<SizeRow> rows;
  for (std::uint64_t i = 0; i < count; ++i) {
    SizeRow row;
    NB_TRY_ASSIGN(row.number, in.varint());
    NB_TRY_ASSIGN(row.changes, get_ident(in));
    NB_TRY_ASSIGN(row.bytes, in.varint());
    rows.push_back(row);
  }
  if (!in.at_end()) return in.bad("too long");
  return rows;
}

Result<std::optional<HistorySize>> measure_history(FileSet& set, std::uint64_t most_entries) {
  NB_TRY_ASSIGN(const History history, History::open(set));
  NB_TRY_ASSIGN(const auto directory, open_if_there(set.control(), k_history_name));
  if (!directory) return std::optional(HistorySize{});
  const std::vector<SizeRow> known = read_sizes(*directory);
  std::vector<SizeRow> rows;
  HistorySize size;
  for (const std::uint64_t number : history.numbers()) {
    NB_TRY_ASSIGN(const auto row, row_of(*directory, number, known, most_entries));
    if (!row) return std::optional<HistorySize>();
    rows.push_back(*row);
    size.bytes += row->bytes;
    ++size.generations;
  }
  // A read-only or full disk is no reason to know less.
  if (rows != known) static_cast<void>(write_sizes(*directory, rows));
  return std::optional(size);
}

}  // namespace nb::txn
