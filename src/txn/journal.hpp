// SPDX-License-Identifier: Apache-2.0
// The journal file: a header record, the operations, and a footer with their number and a check over all record checks,
// so that a missing, doubled or swapped record is noticed. `.nbackup/journal` means redo, `.nbackup/journal.undo` means
// that the decision to undo has been taken. Written and read as a stream.
//
// Order of the operations: what opens directories up; Place and Remove; SetMetadata of files; SetMetadata of
// directories and what closes opened directories again, children before parents. An OpenUp opens if its new mode has
// all of u+rwx and closes if it has not.
#pragma once

#include <functional>

#include "txn/record_file.hpp"
#include "txn/records.hpp"

namespace nb::txn {

inline constexpr std::string_view k_journal_name = "journal";
inline constexpr std::string_view k_journal_new_name = "journal.new";
inline constexpr std::string_view k_journal_undo_name = "journal.undo";

[[nodiscard]] inline bool opens(const OpenUp& op) { return (op.new_mode & 0700U) == 0700U; }

class JournalWriter {
 public:
  static Result<JournalWriter> create(fs::Directory& control, const JournalHeader& header);
  // `op` is an encoded JournalOp.
  Status append(ByteView op);
  // Footer and fsync. The file still has its temporary name.
  Status finish();

 private:
  explicit JournalWriter(std::unique_ptr<fs::File> file) : m_records(std::move(file), 0) {}
  RecordWriter m_records;
  std::uint64_t m_count = 0;
  std::uint64_t m_fold = 0;
};

class Journal {
 public:
  // Opens and verifies all of it: every record decodes and the footer matches. Errc::not_found if there is none,
  // Errc::bad_set if it is damaged.
  static Result<Journal> open(const fs::Directory& control, std::string_view name);

  [[nodiscard]] const JournalHeader& header() const { return m_header; }
  enum class Walk : std::uint8_t { go_on, stop };
  using Visitor = std::function<Result<Walk>(const JournalOp&)>;
  Status for_each(const Visitor& visit) const;
  Status for_each_backward(const Visitor& visit) const;
  Status sync() const { return m_file->sync(); }

 private:
  Journal(std::unique_ptr<fs::File> file, JournalHeader header) : m_file(std::move(file)), m_header(header) {}
  std::unique_ptr<fs::File> m_file;
  JournalHeader m_header;
  std::uint64_t m_ops_begin = 0;
  std::uint64_t m_ops_end = 0;
};

}  // namespace nb::txn
