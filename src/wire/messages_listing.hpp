// SPDX-License-Identifier: Apache-2.0
// Messages that compare the trees: DirectoryMessage, DirectoryReply, Listing, DirectoryDone, ScanEnd. Included by
// messages.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/rel_path.hpp"
#include "fs/stat.hpp"
#include "hash/digest.hpp"
#include "wire/message_type.hpp"

namespace nb::wire {

enum DirectoryFlag : std::uint64_t {
  k_directory_implied = 1 << 0,       // the root alone: no metadata of its own, nothing in it is deleted
  k_directory_partial = 1 << 1,       // could not be read whole: nothing in it is deleted
  k_directory_foreign = 1 << 2,       // not entered (-x), or hardly known: one that is there stays as it is
  k_directory_empty_source = 1 << 3,  // one of the sources begins here and shows nothing: is it mounted?
};

// Source to sink, in protocol order (docs/protocol.md): a directory and the digest of its listing.
struct DirectoryMessage {
  static constexpr auto k_type = MessageType::directory;
  std::uint64_t id = 0;  // 0, 1, 2, ... in the order sent
  RelPath path;          // below the transfer's root; ids and paths are checked for order by the sink
  std::uint64_t flags = 0;
  std::uint64_t entries = 0;
  hash::Digest digest;  // of its encoded listing
};

enum class ReplyKind : std::uint8_t {
  same = 1,          // nothing to send
  list = 2,          // send the listing; wants will follow
  all = 3,           // nothing is there: send listing and small files, and the same for everything below
  list_digests = 4,  // as list, with the digest of each regular file that is small or whose digest is known
  here = 5,          // send listing and small files; what is below gets replies of its own
};

struct DirectoryReply {
  static constexpr auto k_type = MessageType::directory_reply;
  std::uint64_t id = 0;
  ReplyKind kind = ReplyKind::same;
};

// One name of a listing. A subdirectory's metadata travels with its own listing, so only its name and type are here.
struct Entry {
  std::string name;
  fs::FileType type = fs::FileType::regular;
  fs::Metadata meta;                    // not for directories
  std::uint64_t size = 0;               // regular files
  fs::DeviceNumber node;                // device files
  std::string target;                   // symlinks
  std::optional<RelPath> link_to;       // hard links: the first member in protocol order; absent for that one itself
  std::optional<hash::Digest> content;  // regular files, where contents are compared or their digests asked for
  friend bool operator==(const Entry&, const Entry&) = default;
};

void encode_metadata(ByteWriter& out, const fs::Metadata& meta);
Result<fs::Metadata> decode_metadata(ByteReader& in);
void encode_entry(ByteWriter& out, const Entry& entry);
Result<Entry> decode_entry(ByteReader& in);

// A listing, in one or more parts. The digest of DirectoryMessage covers encode_metadata (or one zero byte for an
// implied directory) followed by encode_entry of each entry, in order; where the reply was `list_digests`, without the
// digests that were asked for.
struct Listing {
  static constexpr auto k_type = MessageType::listing;
  std::uint64_t id = 0;
  bool last = true;
  std::optional<fs::Metadata> own;  // in the first part, unless the directory is implied
  // Names strictly rising, over all parts. A part is full once its entries, encoded, take k_max_listing_part_bytes or
  // there are k_max_listing_part_entries of them.
  std::vector<Entry> entries;
  // Rising indices into `entries` of those that have several names and are the first of these: the sink remembers where
  // they went. Not in the digest, as a name outside the tree changes it.
  std::vector<std::uint64_t> shared;
};

// Sink to source: all wants of this directory have been sent; its listing can be forgotten once they are served.
struct DirectoryDone {
  static constexpr auto k_type = MessageType::directory_done;
  std::uint64_t id = 0;
};

struct ScanEnd {
  static constexpr auto k_type = MessageType::scan_end;
  std::uint64_t directories = 0;
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;  // size of all regular files
  hash::Digest plan;        // digest over the digests of all DirectoryMessages, in order
};

}  // namespace nb::wire
