// SPDX-License-Identifier: Apache-2.0
// history/merge: the decision that generations are dropped, with everything that finishing it needs. Made durable under
// its name before the first thing in history moves; stands until the last one has.
//
//   header, then for each surviving generation: its Merge, the Dropped ones, the operations on its files; footer
#pragma once

#include <functional>
#include <variant>

#include "txn/record_file.hpp"
#include "txn/records.hpp"

namespace nb::txn {

inline constexpr std::string_view k_merge_name = "merge";
inline constexpr std::string_view k_merge_new_name = "merge.new";
// Beside `changes` and `generation` of the surviving one, what takes their place at the end.
inline constexpr std::string_view k_changes_new_name = "changes.new";
inline constexpr std::string_view k_generation_new_name = "generation.new";

struct ThinHeader {
  Uuid set{};
  std::uint64_t trash = 0;  // tx/thin-<trash> takes what goes
};

// Begins what is done to one surviving generation. What follows belongs to it.
struct Merge {
  std::uint64_t survivor = 0;
  bool becomes_base = false;  // nothing older is left: its changes and files go as a whole
};
// history/<number> goes.
struct Dropped {
  std::uint64_t number = 0;
};
// What is at `path` below files/ of the survivor, if anything, goes to slot `slot` of the trash.
struct ClearKept {
  RelPath path;
  std::uint64_t slot = 0;
};
// What is at `path` below files/ of `generation` comes to the same place of the survivor's; what is there goes to the
// slot of the trash.
struct TakeKept {
  RelPath path;
  std::uint64_t generation = 0;
  std::uint64_t slot = 0;
};
// The directories for `path` are made below files/ of the survivor.
struct MakeParent {
  RelPath path;
};
// What was done so far must be durable before anything that follows is.
struct ThinBarrier {};

using ThinOp = std::variant<Merge, Dropped, ClearKept, TakeKept, MakeParent, ThinBarrier>;

Bytes encode(const ThinHeader& header);
Bytes encode(const ThinOp& op);
// Errors are Errc::bad_set.
Result<ThinHeader> decode_thin_header(ByteView data);
Result<ThinOp> decode_thin_op(ByteView data);

class ThinWriter {
 public:
  // history/merge.new, in place of one that a crash has left.
  static Result<ThinWriter> create(fs::Directory& history, const ThinHeader& header);
  Status append(const ThinOp& op);
  // Footer and fsync.
  Status finish();

 private:
  explicit ThinWriter(std::unique_ptr<fs::File> file) : m_records(std::move(file), 0) {}
  RecordWriter m_records;
  std::uint64_t m_count = 0;
};

class ThinRecord {
 public:
  // Opens it and verifies all of it. Errc::not_found if there is none, Errc::bad_set if it is damaged.
  static Result<ThinRecord> open(const fs::Directory& history, std::string_view name = k_merge_name);
  [[nodiscard]] const ThinHeader& header() const { return m_header; }
  Status for_each(const std::function<Status(const ThinOp&)>& visit) const;
  Status sync() const { return m_file->sync(); }

 private:
  ThinRecord(std::unique_ptr<fs::File> file, ThinHeader header) : m_file(std::move(file)), m_header(header) {}
  std::unique_ptr<fs::File> m_file;
  ThinHeader m_header;
  std::uint64_t m_ops_begin = 0;
  std::uint64_t m_ops_end = 0;
};

}  // namespace nb::txn
