// SPDX-License-Identifier: Apache-2.0
// The file `changes` of a generation: the header record, then records of up to 64 KiB of changes each, compressed with
// zstd as one stream, and a footer with their number. Written and read as a stream, front to back.
#pragma once

#include <functional>

#include "codec/frame_compressor.hpp"
#include "txn/generation.hpp"
#include "txn/record_file.hpp"

namespace nb::txn {

class ChangeListWriter {
 public:
  // A new file `name` in `directory`; Errc::exists if there is one.
  static Result<ChangeListWriter> create(fs::Directory& directory, std::string_view name, const ChangesHeader& header);
  Status append(const Change& change);
  // The rest and the footer. Durable only after a sync of the caller's.
  Status finish();

 private:
  explicit ChangeListWriter(std::unique_ptr<fs::File> file);
  using Finish = codec::FrameCompressor::Finish;
  Status write_block(Finish finish);
  RecordWriter m_records;
  std::unique_ptr<codec::FrameCompressor> m_compressor;
  Bytes m_block;
  std::uint64_t m_count = 0;
};

// Its first record alone. Errc::bad_set if that is damaged; Errc::not_found if there is no list.
Result<ChangesHeader> read_changes_header(const fs::Directory& directory, std::string_view name);

// Every change of the list, in order. Errc::bad_set if it is damaged or not the one that `expected` names; Errc::not_found
// if there is none. An error of `visit` ends it.
Status read_changes(const fs::Directory& directory, std::string_view name, const ChangesHeader& expected,
                    const std::function<Status(const Change&)>& visit);

}  // namespace nb::txn
