// SPDX-License-Identifier: Apache-2.0
// Journal and stage log as bytes from a damaged disk. The first byte chooses: 0 is a whole journal file, anything else
// one record. What decodes must encode to something that decodes to the same.
#include "fs/sim_directory.hpp"
#include "record.hpp"
#include "txn/journal.hpp"

namespace {

using namespace nb;
using fuzz::check;
using fuzz::one_record;

void whole_file(ByteView data) {
  const fs::SimFileSystem disk;
  const auto root = disk.root();
  {
    const auto file = root->create_file("journal");
    check(file.has_value() && (*file)->write_at(0, data).has_value());
  }
  const auto journal = txn::Journal::open(*root, "journal");
  if (!journal) return;
  std::size_t forward = 0;
  std::size_t backward = 0;
  const auto count = [](std::size_t& counter) {
    return [&counter](const txn::JournalOp&) -> Result<txn::Journal::Walk> {
      ++counter;
      return txn::Journal::Walk::go_on;
    };
  };
  check(journal->for_each(count(forward)).has_value());
  check(journal->for_each_backward(count(backward)).has_value());
  check(forward == backward);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  const ByteView data = std::as_bytes(std::span(bytes + 1, size - 1));
  if (bytes[0] == 0) {
    whole_file(data);
  } else {
    one_record(data, txn::decode_journal_header);
    one_record(data, txn::decode_journal_op);
    one_record(data, txn::decode_staged_record);
  }
  return 0;
}
