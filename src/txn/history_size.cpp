// SPDX-License-Identifier: Apache-2.0
#include "txn/history_size.hpp"

#include <algorithm>
#include <map>

#include "txn/history.hpp"
#include "txn/kept_names.hpp"
#include "txn/record_file.hpp"
#include "txn/small_file.hpp"

namespace nb::txn {
namespace {

constexpr std::string_view k_magic = "nbackup sizes";
constexpr std::uint64_t k_version = 2;
constexpr std::string_view k_sizes_new_name = "sizes.new";

// What is below one directory; nothing if there are too many entries. A file with several names counts with the last of
// them, if all are here.
std::optional<std::uint64_t> bytes_below(const fs::Directory& top, std::uint64_t& entries_left) {
  std::uint64_t bytes = 0;
  std::map<std::uint64_t, std::uint64_t> seen;  // names of inodes that have several
  const bool whole = for_each_kept_name(top, entries_left, [&](const fs::Stat& stat) {
    const bool is_single = stat.type == fs::FileType::directory || stat.links == 1;
    if (is_single || ++seen[stat.inode] == stat.links) bytes += stat.allocated_bytes;
  });
  return whole ? std::optional(bytes) : std::nullopt;
}

Sizes read_sizes(const fs::Directory& history) {
  const auto file = history.open_file(k_sizes_name, fs::OpenMode::read);
  const auto stat = file ? (*file)->stat() : tl::make_unexpected(file.error());
  if (!stat) return {};
  RecordCursor cursor(**file, 0, stat->size);
  const auto record = cursor.next();
  if (!record || !*record) return {};
  return decode_sizes(**record).value_or(Sizes());
}

// Not synced: rows that are lost cost nothing but looking.
Status write_sizes(fs::Directory& history, const Sizes& sizes) {
  NB_TRY(remove_if_there(history, k_sizes_new_name));
  NB_TRY_ASSIGN(auto file, history.create_file(k_sizes_new_name));
  RecordWriter writer(std::move(file), 0);
  NB_TRY(writer.append(encode(sizes)));
  NB_TRY(writer.flush());
  return history.rename(k_sizes_new_name, history, k_sizes_name, fs::RenameMode::replace);
}

// The kept generations, oldest first. After a commit they are those that were known and the live one: thousands need
// not be listed.
Result<std::vector<std::uint64_t>> numbers_of(FileSet& set, const fs::Directory& history, const Sizes& known) {
  const std::uint64_t live = set.head().generation;
  if (known.is_whole && !known.rows.empty()) {
    std::vector<std::uint64_t> numbers;
    for (const SizeRow& row : known.rows) numbers.push_back(row.number);
    if (numbers.back() == live) return numbers;
    const auto account = read_account(history, live);
    if (account && account->previous == numbers.back()) {
      numbers.push_back(live);
      return numbers;
    }
  }
  NB_TRY_ASSIGN(const History all, History::open(set));
  return all.numbers();
}

// What is known of a generation, or what looking at it shows; nothing if that is too much.
Result<std::optional<SizeRow>> row_of(const fs::Directory& history, std::uint64_t number,
                                      const std::vector<SizeRow>& known, std::uint64_t& entries_left) {
  const auto found = std::lower_bound(known.begin(), known.end(), number,
                                      [](const SizeRow& row, std::uint64_t wanted) { return row.number < wanted; });
  if (found != known.end() && found->number == number) return std::optional(*found);
  NB_TRY_ASSIGN(const auto directory, history.open_directory(std::to_string(number)));
  NB_TRY_ASSIGN(const auto files, open_if_there(*directory, k_files_name));
  if (!files) return std::optional(SizeRow{number, 0});
  const auto bytes = bytes_below(*files, entries_left);
  if (!bytes) return std::optional<SizeRow>();
  return std::optional(SizeRow{number, *bytes});
}

}  // namespace

Bytes encode(const Sizes& sizes) {
  Bytes bytes;
  ByteWriter out(bytes);
  out.string(k_magic);
  out.varint(k_version);
  out.varint(sizes.is_whole ? 1 : 0);
  out.varint(sizes.rows.size());
  for (const SizeRow& row : sizes.rows) {
    out.varint(row.number);
    out.varint(row.bytes);
  }
  return bytes;
}

Result<Sizes> decode_sizes(ByteView data) {
  ByteReader in(data, Errc::bad_set, "sizes");
  NB_TRY_ASSIGN(const std::string magic, in.string(k_magic.size()));
  NB_TRY_ASSIGN(const std::uint64_t version, in.varint());
  if (magic != k_magic || version != k_version) return in.bad("of another kind");
  NB_TRY_ASSIGN(const std::uint64_t is_whole, in.varint());
  if (is_whole > 1) return in.bad("neither whole nor not");
  NB_TRY_ASSIGN(const std::uint64_t count, in.varint());
  Sizes sizes{is_whole == 1, {}};
  for (std::uint64_t i = 0; i < count; ++i) {
    SizeRow row;
    NB_TRY_ASSIGN(row.number, in.varint());
    NB_TRY_ASSIGN(row.bytes, in.varint());
    sizes.rows.push_back(row);
  }
  if (!in.at_end()) return in.bad("too long");
  return sizes;
}

Result<std::optional<HistorySize>> measure_history(FileSet& set, std::uint64_t most_entries) {
  NB_TRY_ASSIGN(const auto history, open_if_there(set.control(), k_history_name));
  if (!history) return std::optional(HistorySize{});
  const Sizes before = read_sizes(*history);
  NB_TRY_ASSIGN(const std::vector<std::uint64_t> numbers, numbers_of(set, *history, before));
  Sizes sizes{true, {}};
  HistorySize total;
  for (const std::uint64_t number : numbers) {
    NB_TRY_ASSIGN(const auto row, row_of(*history, number, before.rows, most_entries));
    if (!row) return std::optional<HistorySize>();
    sizes.rows.push_back(*row);
    total.bytes += row->bytes;
    ++total.generations;
  }
  // A read-only or full disk is no reason to know less.
  if (sizes != before) static_cast<void>(write_sizes(*history, sizes));
  return std::optional(total);
}

Status forget_sizes(fs::Directory& history, const std::set<std::uint64_t>& numbers) {
  const Sizes before = read_sizes(history);
  Sizes sizes{false, before.rows};
  std::erase_if(sizes.rows, [&](const SizeRow& row) { return numbers.contains(row.number); });
  if (sizes == before || write_sizes(history, sizes)) return {};
  // On a full disk all is forgotten.
  return remove_if_there(history, k_sizes_name);
}

}  // namespace nb::txn
