// SPDX-License-Identifier: Apache-2.0
// The account of a generation, its changes, sizes, a policy, the record of a merge, and what scrubs write, as bytes
// from a damaged disk. The first byte chooses: 0 is a whole list of changes, 255 a list of damaged files, anything else one
// record. What decodes must encode to something that decodes to the same.
#include "fs/sim_directory.hpp"
#include "record.hpp"
#include "txn/change_list.hpp"
#include "txn/damage.hpp"
#include "txn/history_size.hpp"
#include "txn/retention.hpp"
#include "txn/scrub_record.hpp"
#include "txn/thin_record.hpp"

namespace {

using namespace nb;
using fuzz::check;
using fuzz::one_record;

void whole_list(ByteView data) {
  const fs::SimFileSystem disk;
  const auto root = disk.root();
  {
    const auto file = root->create_file("changes");
    check(file.has_value() && (*file)->write_at(0, data).has_value());
  }
  static_cast<void>(txn::read_changes(*root, "changes", {8, 7}, [](const txn::Change&) -> Status { return {}; }));
}

void whole_damage(ByteView data) {
  const fs::SimFileSystem disk;
  const auto root = disk.root();
  {
    const auto file = root->create_file(txn::k_damage_name);
    check(file.has_value() && (*file)->write_at(0, data).has_value());
  }
  static_cast<void>(txn::read_damage(*root));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  const ByteView data = std::as_bytes(std::span(bytes + 1, size - 1));
  if (bytes[0] == 0) {
    whole_list(data);
  } else if (bytes[0] == 255) {
    whole_damage(data);
  } else {
    one_record(data, txn::decode_generation);
    one_record(data, txn::decode_changes_header);
    one_record(data, txn::decode_change);
    one_record(data, txn::decode_policy);
    one_record(data, txn::decode_sizes);
    one_record(data, txn::decode_thin_header);
    one_record(data, txn::decode_thin_op);
    one_record(data, txn::decode_damaged);
    one_record(data, txn::decode_scrub_record);
  }
  return 0;
}
