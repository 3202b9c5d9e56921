// SPDX-License-Identifier: Apache-2.0
#include "txn/stage_log.hpp"

#include <algorithm>

#include "txn/small_file.hpp"

namespace nb::txn {

Result<bool> skip_log_title(RecordCursor& cursor) {
  const Result<std::optional<ByteView>> title = cursor.next();
  if (!title && title.error().code != Errc::bad_set) return tl::make_unexpected(title.error());
  return title && *title && as_text(**title) == k_log_title;
}

StageLog::StageLog(std::unique_ptr<fs::File> file, std::uint64_t size, std::vector<Entry> index,
                   std::uint64_t highest_slot)
    : m_writer(std::move(file), size), m_old_size(size), m_index(std::move(index)), m_highest_slot(highest_slot) {}

Result<StageLog> StageLog::start(std::unique_ptr<fs::File> file) {
  NB_TRY(file->set_size(0));
  StageLog log(std::move(file), 0, {}, 0);
  NB_TRY(log.m_writer.append(as_bytes(k_log_title)));
  NB_TRY(log.m_writer.flush());
  return log;
}

Result<StageLog> StageLog::open(fs::Directory& stage) {
  NB_TRY_ASSIGN(const std::optional<fs::Stat> there, find_name(stage, k_log_name));
  if (!there) {
    NB_TRY_ASSIGN(std::unique_ptr<fs::File> made, stage.create_file(k_log_name));
    return start(std::move(made));
  }
  NB_TRY_ASSIGN(std::unique_ptr<fs::File> file, stage.open_file(k_log_name, fs::OpenMode::read_write));
  RecordCursor cursor(*file, 0, there->size);
  NB_TRY_ASSIGN(const bool is_log, skip_log_title(cursor));
  if (!is_log) return start(std::move(file));
  std::vector<Entry> index;
  std::uint64_t highest = 0;
  std::uint64_t good = cursor.at();
  while (true) {
    const Result<std::optional<ByteView>> record = cursor.next();
    if (!record && record.error().code != Errc::bad_set) return tl::make_unexpected(record.error());
    if (!record || !*record) break;
    const Result<StagedRecord> staged = decode_staged_record(**record);
    if (!staged) break;
    index.push_back({hash_of(staged->path), good});
    highest = std::max(highest, staged->slot);
    good = cursor.at();
  }
  NB_TRY(file->set_size(good));
  std::sort(index.begin(), index.end());
  return StageLog(std::move(file), good, std::move(index), highest);
}

Status StageLog::append(const StagedRecord& record) { return m_writer.append(encode(record)); }

Result<StagedRecord> StageLog::read(std::uint64_t offset) {
  RecordCursor cursor(m_writer.file(), offset, m_old_size);
  NB_TRY_ASSIGN(const std::optional<ByteView> record, cursor.next());
  if (!record) return fail(Errc::bad_set, "stage log: truncated");
  return decode_staged_record(*record);
}

Result<std::vector<StagedRecord>> StageLog::find(const RelPath& path, std::size_t most) {
  const std::uint64_t hash = hash_of(path);
  std::vector<StagedRecord> found;
  auto it = std::upper_bound(m_index.begin(), m_index.end(), Entry{hash, UINT64_MAX});
  // The highest offset first: the newest.
  while (found.size() < most && it != m_index.begin() && (it - 1)->path_hash == hash) {
    --it;
    NB_TRY_ASSIGN(StagedRecord record, read(it->offset));
    if (record.path == path) found.push_back(std::move(record));
  }
  return found;
}

}  // namespace nb::txn
