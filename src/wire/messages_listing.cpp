// SPDX-License-Identifier: Apache-2.0
// Bodies of the messages that compare directories: metadata, entries, DirectoryMessage, DirectoryReply, Listing,
// DirectoryDone, ScanEnd. encode_entry and decode_entry run once per file of a tree.
#include <algorithm>

#include "wire/body.hpp"

namespace nb::wire {
namespace {

constexpr std::uint64_t k_any = ~std::uint64_t{0};
constexpr std::uint32_t k_mode_bits = 07777;
constexpr std::uint32_t k_last_nsec = 999'999'999;
constexpr std::uint64_t k_directory_flags =
    k_directory_implied | k_directory_partial | k_directory_foreign | k_directory_empty_source;

// First byte of an entry: its type in the low bits, and what follows. Never renumber.
constexpr std::uint8_t k_entry_type_mask = 0x0F;
constexpr std::uint8_t k_entry_linked = 0x10;
constexpr std::uint8_t k_entry_digest = 0x20;
constexpr std::size_t k_min_entry_bytes = 3;  // a subdirectory of one letter

constexpr std::uint8_t k_listing_last = 1;
constexpr std::uint8_t k_listing_own = 2;
constexpr std::uint8_t k_listing_shared = 4;
constexpr std::uint8_t k_listing_bits = k_listing_last | k_listing_own | k_listing_shared;

bool is_device(fs::FileType type) { return type == fs::FileType::char_device || type == fs::FileType::block_device; }

bool is_xattr_name(std::string_view name) {
  return !name.empty() && name.find('\0') == std::string_view::npos && name.find('.') != std::string_view::npos;
}

Result<fs::Xattr> decode_xattr(ByteReader& in) {
  fs::Xattr xattr;
  NB_TRY_ASSIGN(xattr.name, in.string(k_max_xattr_name_bytes));
  if (!is_xattr_name(xattr.name)) return in.bad("bad attribute name");
  NB_TRY_ASSIGN(xattr.value, in.string(k_max_xattr_value_bytes));
  return xattr;
}

Status decode_xattrs(ByteReader& in, fs::Xattrs& xattrs) {
  NB_TRY_ASSIGN(const std::uint64_t count, read_number(in, "attributes", k_max_xattrs_bytes));
  std::size_t total = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    NB_TRY_ASSIGN(fs::Xattr xattr, decode_xattr(in));
    total += xattr.name.size() + xattr.value.size();
    if (total > k_max_xattrs_bytes) return in.bad("attributes too long");
    if (!xattrs.empty() && xattrs.back().name >= xattr.name) return in.bad("attribute out of order");
    xattrs.push_back(std::move(xattr));
  }
  return {};
}

void encode_details(ByteWriter& out, const Entry& entry) {
  encode_metadata(out, entry.meta);
  if (entry.type == fs::FileType::regular) out.varint(entry.size);
  if (entry.type == fs::FileType::symlink) out.string(entry.target);
  if (is_device(entry.type)) {
    out.varint(entry.node.major);
    out.varint(entry.node.minor);
  }
  if (entry.link_to) out.string(entry.link_to->str());
  if (entry.content) entry.content->write(out);
}

Status decode_device(ByteReader& in, fs::DeviceNumber& node) {
  NB_TRY_ASSIGN(node.major, read_u32(in, "major", UINT32_MAX));
  NB_TRY_ASSIGN(node.minor, read_u32(in, "minor", UINT32_MAX));
  return {};
}

Status decode_details(ByteReader& in, std::uint8_t head, Entry& entry) {
  NB_TRY_ASSIGN(entry.meta, decode_metadata(in));
  if (entry.type == fs::FileType::regular) {
    NB_TRY_ASSIGN(entry.size, read_number(in, "size", k_max_file_bytes));
  } else if (entry.type == fs::FileType::symlink) {
    NB_TRY_ASSIGN(entry.target, read_c_string(in, "target", k_max_symlink_bytes, Emptiness::refused));
  } else if (is_device(entry.type)) {
    NB_TRY(decode_device(in, entry.node));
  }
  if ((head & k_entry_linked) != 0) {
    NB_TRY_ASSIGN(entry.link_to, read_path(in, "link_to", Emptiness::refused));
  }
  if ((head & k_entry_digest) != 0) {
    NB_TRY_ASSIGN(entry.content, read_digest(in, "content"));
  }
  return {};
}

// The first byte of an entry, with only the bits that its type may have.
Result<std::uint8_t> read_head(ByteReader& in) {
  NB_TRY_ASSIGN(const std::uint8_t head, in.u8());
  const std::uint8_t type = head & k_entry_type_mask;
  const auto bits = static_cast<std::uint8_t>(head & ~k_entry_type_mask);
  if (type < 1 || type > static_cast<std::uint8_t>(fs::FileType::block_device)) return in.bad("unknown type");
  std::uint8_t known = k_entry_linked;
  if (type == static_cast<std::uint8_t>(fs::FileType::regular)) known |= k_entry_digest;
  if (type == static_cast<std::uint8_t>(fs::FileType::directory)) known = 0;
  if ((bits & ~known) != 0) return in.bad("unknown bits (type)");
  return head;
}

Status decode_entries(ByteReader& in, std::vector<Entry>& entries) {
  // Each entry takes many times its encoded size in memory, so that their number must be bounded beforehand.
  NB_TRY_ASSIGN(const std::uint64_t count, read_number(in, "entries", k_max_listing_part_entries));
  if (count > in.left() / k_min_entry_bytes) return in.bad("truncated");
  entries.reserve(static_cast<std::size_t>(count));
  for (std::uint64_t i = 0; i < count; ++i) {
    NB_TRY_ASSIGN(Entry entry, decode_entry(in));
    if (!entries.empty() && entries.back().name >= entry.name) return in.bad("name out of order");
    entries.push_back(std::move(entry));
  }
  return {};
}

Status decode_shared(ByteReader& in, const std::vector<Entry>& entries, std::vector<std::uint64_t>& shared) {
  NB_TRY_ASSIGN(const std::uint64_t count, read_number(in, "shared", entries.size()));
  shared.reserve(static_cast<std::size_t>(count));
  for (std::uint64_t i = 0; i < count; ++i) {
    NB_TRY_ASSIGN(const std::uint64_t index, read_number(in, "shared", ~std::uint64_t{0}));
    if (index >= entries.size()) return in.bad("no such entry (shared)");
    if (!shared.empty() && index <= shared.back()) return in.bad("out of order (shared)");
    const Entry& entry = entries[static_cast<std::size_t>(index)];
    if (entry.type == fs::FileType::directory || entry.link_to) return in.bad("not a first name (shared)");
    shared.push_back(index);
  }
  return {};
}

std::uint8_t listing_bits(const Listing& m) {
  return static_cast<std::uint8_t>((m.last ? k_listing_last : 0) | (m.own ? k_listing_own : 0) |
                                   (m.shared.empty() ? 0 : k_listing_shared));
}

}  // namespace

void encode_metadata(ByteWriter& out, const fs::Metadata& meta) {
  out.varint(meta.mode);
  out.varint(meta.owner.uid);
  out.varint(meta.owner.gid);
  out.svarint(meta.mtime.sec);
  out.varint(meta.mtime.nsec);
  out.varint(meta.xattrs.size());
  for (const fs::Xattr& xattr : meta.xattrs) {
    out.string(xattr.name);
    out.string(xattr.value);
  }
}

Result<fs::Metadata> decode_metadata(ByteReader& in) {
  fs::Metadata meta;
  NB_TRY_ASSIGN(meta.mode, read_u32(in, "mode", k_mode_bits));
  NB_TRY_ASSIGN(meta.owner.uid, read_u32(in, "uid", UINT32_MAX));
  NB_TRY_ASSIGN(meta.owner.gid, read_u32(in, "gid", UINT32_MAX));
  NB_TRY_ASSIGN(meta.mtime.sec, in.svarint());
  NB_TRY_ASSIGN(meta.mtime.nsec, read_u32(in, "nsec", k_last_nsec));
  NB_TRY(decode_xattrs(in, meta.xattrs));
  return meta;
}

void encode_entry(ByteWriter& out, const Entry& entry) {
  auto head = static_cast<std::uint8_t>(entry.type);
  if (entry.link_to) head |= k_entry_linked;
  if (entry.content) head |= k_entry_digest;
  out.u8(head);
  out.string(entry.name);
  if (entry.type != fs::FileType::directory) encode_details(out, entry);
}

Result<Entry> decode_entry(ByteReader& in) {
  NB_TRY_ASSIGN(const std::uint8_t head, read_head(in));
  Entry entry;
  entry.type = static_cast<fs::FileType>(head & k_entry_type_mask);
  NB_TRY_ASSIGN(entry.name, read_name(in, "name"));
  if (entry.type != fs::FileType::directory) NB_TRY(decode_details(in, head, entry));
  return entry;
}

template <>
struct Body<DirectoryMessage> {
  static constexpr std::string_view k_what = "directory";
  static void write(ByteWriter& out, const DirectoryMessage& m) {
    out.varint(m.id);
    out.string(m.path.str());
    out.varint(m.flags);
    out.varint(m.entries);
    m.digest.write(out);
  }
  static Result<DirectoryMessage> read(ByteReader& in) {
    DirectoryMessage m;
    NB_TRY_ASSIGN(m.id, read_number(in, "id", k_max_directory_id));
    NB_TRY_ASSIGN(m.path, read_path(in, "path", Emptiness::allowed));
    NB_TRY_ASSIGN(m.flags, read_number(in, "flags", k_directory_flags));
    NB_TRY_ASSIGN(m.entries, read_number(in, "entries", k_max_entries));
    NB_TRY_ASSIGN(m.digest, read_digest(in, "digest"));
    return m;
  }
};

template <>
struct Body<DirectoryReply> {
  static constexpr std::string_view k_what = "directory_reply";
  static void write(ByteWriter& out, const DirectoryReply& m) {
    out.varint(m.id);
    out.u8(static_cast<std::uint8_t>(m.kind));
  }
  static Result<DirectoryReply> read(ByteReader& in) {
    DirectoryReply m;
    NB_TRY_ASSIGN(m.id, read_number(in, "id", k_max_directory_id));
    NB_TRY_ASSIGN(const std::uint8_t kind, read_kind(in, "kind", static_cast<std::uint8_t>(ReplyKind::here)));
    m.kind = static_cast<ReplyKind>(kind);
    return m;
  }
};

template <>
struct Body<Listing> {
  static constexpr std::string_view k_what = "listing";
  static void write(ByteWriter& out, const Listing& m) {
    out.varint(m.id);
    out.u8(listing_bits(m));
    if (m.own) encode_metadata(out, *m.own);
    out.varint(m.entries.size());
    for (const Entry& entry : m.entries) encode_entry(out, entry);
    if (m.shared.empty()) return;
    out.varint(m.shared.size());
    for (const std::uint64_t index : m.shared) out.varint(index);
  }
  static Result<Listing> read(ByteReader& in) {
    Listing m;
    NB_TRY_ASSIGN(m.id, read_number(in, "id", k_max_directory_id));
    NB_TRY_ASSIGN(const std::uint8_t bits, read_bits(in, "flags", k_listing_bits));
    m.last = (bits & k_listing_last) != 0;
    if ((bits & k_listing_own) != 0) {
      NB_TRY_ASSIGN(m.own, decode_metadata(in));
    }
    NB_TRY(decode_entries(in, m.entries));
    if ((bits & k_listing_shared) != 0) NB_TRY(decode_shared(in, m.entries, m.shared));
    return m;
  }
};

template <>
struct Body<DirectoryDone> {
  static constexpr std::string_view k_what = "directory_done";
  static void write(ByteWriter& out, const DirectoryDone& m) { out.varint(m.id); }
  static Result<DirectoryDone> read(ByteReader& in) {
    NB_TRY_ASSIGN(const std::uint64_t id, read_number(in, "id", k_max_directory_id));
    return DirectoryDone{id};
  }
};

template <>
struct Body<ScanEnd> {
  static constexpr std::string_view k_what = "scan_end";
  static void write(ByteWriter& out, const ScanEnd& m) {
    out.varint(m.directories);
    out.varint(m.entries);
    out.varint(m.bytes);
    m.plan.write(out);
  }
  static Result<ScanEnd> read(ByteReader& in) {
    ScanEnd m;
    NB_TRY_ASSIGN(m.directories, read_number(in, "directories", k_max_directory_id + 1));
    NB_TRY_ASSIGN(m.entries, read_number(in, "entries", k_any));
    NB_TRY_ASSIGN(m.bytes, read_number(in, "bytes", k_any));
    NB_TRY_ASSIGN(m.plan, read_digest(in, "plan"));
    return m;
  }
};

NB_WIRE_INSTANTIATE(DirectoryMessage);
NB_WIRE_INSTANTIATE(DirectoryReply);
NB_WIRE_INSTANTIATE(Listing);
NB_WIRE_INSTANTIATE(DirectoryDone);
NB_WIRE_INSTANTIATE(ScanEnd);

}  // namespace nb::wire
