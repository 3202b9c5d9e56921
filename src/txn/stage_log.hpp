// SPDX-License-Identifier: Apache-2.0
// The stage's log: one record for each file that is complete in the stage, is begun there, or made room. Append-only; a
// torn end, as a crash leaves it, is cut off when the log is opened. What earlier runs logged is found by path through
// an index of 16 bytes a record.
#pragma once

#include <optional>
#include <vector>

#include "txn/record_file.hpp"
#include "txn/records.hpp"

namespace nb::txn {

inline constexpr std::string_view k_log_name = "log";
// The first record of a log, and what one takes that has no other.
inline constexpr std::string_view k_log_title = "nbackup stage log 2";
inline constexpr std::uint64_t k_empty_log_bytes = k_log_title.size() + k_frame_overhead_bytes;

// Moves a cursor that stands before the title behind it; false if it is no log.
Result<bool> skip_log_title(RecordCursor& cursor);

class StageLog {
 public:
  // Opens `log` in the stage's directory or makes it.
  static Result<StageLog> open(fs::Directory& stage);

  Status append(const StagedRecord& record);
  Status flush() { return m_writer.flush(); }
  Status sync() { return m_writer.sync(); }
  // The records for `path` among those that were there at open(), the newest first; at most `most`.
  Result<std::vector<StagedRecord>> find(const RelPath& path, std::size_t most);
  [[nodiscard]] bool empty() const { return m_index.empty(); }
  [[nodiscard]] std::uint64_t highest_slot() const { return m_highest_slot; }

 private:
  struct Entry {
    std::uint64_t path_hash = 0;
    std::uint64_t offset = 0;
    friend auto operator<=>(const Entry&, const Entry&) = default;
  };
  StageLog(std::unique_ptr<fs::File> file, std::uint64_t size, std::vector<Entry> index, std::uint64_t highest_slot);
  static Result<StageLog> start(std::unique_ptr<fs::File> file);
  Result<StagedRecord> read(std::uint64_t offset);

  RecordWriter m_writer;
  std::uint64_t m_old_size;
  std::vector<Entry> m_index;  // sorted
  std::uint64_t m_highest_slot;
};

}  // namespace nb::txn
