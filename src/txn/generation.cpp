// SPDX-License-Identifier: Apache-2.0
#include "txn/generation.hpp"

#include "base/text.hpp"
#include "txn/text_record.hpp"

namespace nb::txn {
namespace {

constexpr std::string_view k_title = "nbackup generation";
constexpr std::uint64_t k_version = 1;
constexpr std::string_view k_none = "none";

// First byte of each record of `changes`. On disk: never renumber. 2 is the footer (change_list.cpp).
enum class Kind : std::uint8_t { header = 1, absent = 16, kept = 17, metadata = 18 };

constexpr std::string_view k_magic = "nbackup changes";

void put_kind(ByteWriter& out, Kind kind) { out.u8(static_cast<std::uint8_t>(kind)); }

void put_change(ByteWriter& out, const Absent& change) {
  put_kind(out, Kind::absent);
  out.string(change.path.str());
  out.u8(change.lost ? 1 : 0);
}

void put_change(ByteWriter& out, const KeptEntry& change) {
  put_kind(out, Kind::kept);
  out.string(change.path.str());
  out.u8(static_cast<std::uint8_t>(change.type));
}

void put_change(ByteWriter& out, const OldMetadata& change) {
  put_kind(out, Kind::metadata);
  out.string(change.path.str());
  put(out, change.metadata);
  out.u8(change.shared ? 1 : 0);
}

// Of an entry of the tree, or of an anchor.
Result<RelPath> get_kept_path(ByteReader& in) {
  NB_TRY_ASSIGN(const std::string text, in.string(k_max_path_bytes));
  NB_TRY_ASSIGN(RelPath path, RelPath::parse(text, Errc::bad_set));
  if (has_reserved_name(text) && !is_anchor(path)) return in.bad("path inside the control directory");
  return path;
}

Result<Change> get_absent(ByteReader& in) {
  Absent change;
  NB_TRY_ASSIGN(change.path, get_entry_path(in));
  NB_TRY_ASSIGN(change.lost, get_flag(in));
  return change;
}

Result<Change> get_kept(ByteReader& in) {
  KeptEntry change;
  NB_TRY_ASSIGN(change.path, get_kept_path(in));
  if (change.path.is_root()) return in.bad("the root cannot be moved");
  NB_TRY_ASSIGN(change.type, get_type(in));
  return change;
}

Result<Change> get_old_metadata(ByteReader& in) {
  OldMetadata change;
  NB_TRY_ASSIGN(change.path, get_kept_path(in));
  NB_TRY_ASSIGN(change.metadata, get_metadata(in));
  NB_TRY_ASSIGN(change.shared, get_flag(in));
  return change;
}

Result<std::optional<std::uint64_t>> get_previous(TextRecordReader& in) {
  if (in.next_is("base")) {
    NB_TRY(in.line("base"));
    return std::optional<std::uint64_t>();
  }
  NB_TRY_ASSIGN(const std::uint64_t number, in.number("previous"));
  return std::optional<std::uint64_t>(number);
}

}  // namespace

Bytes encode(const Generation& generation) {
  TextRecordWriter out(k_title);
  out.number("version", k_version);
  out.number("generation", generation.number);
  if (generation.previous) {
    out.number("previous", *generation.previous);
  } else {
    out.line("base", k_none);
  }
  out.line("transaction", id_text(generation.transaction));
  out.line("time", std::to_string(generation.time_ns));
  out.line("client", one_line(generation.account.client));
  out.number("created", generation.account.created);
  out.number("changed", generation.account.changed);
  out.number("deleted", generation.account.deleted);
  out.number("bytes", generation.account.new_bytes);
  return out.finish();
}

Result<Generation> decode_generation(ByteView data) {
  NB_TRY_ASSIGN(TextRecordReader in, TextRecordReader::open(data, k_title));
  Generation generation;
  NB_TRY_ASSIGN(const std::uint64_t version, in.number("version"));
  if (version > k_version) return fail(Errc::unsupported, "made by a newer nbackup");
  if (version == 0) return in.bad("bad version");
  NB_TRY_ASSIGN(generation.number, in.number("generation"));
  NB_TRY_ASSIGN(generation.previous, get_previous(in));
  if (generation.previous && *generation.previous >= generation.number) return in.bad("previous is not older");
  NB_TRY_ASSIGN(generation.transaction, in.id("transaction"));
  NB_TRY_ASSIGN(generation.time_ns, in.signed_number("time"));
  NB_TRY_ASSIGN(generation.account.client, in.line("client"));
  NB_TRY_ASSIGN(generation.account.created, in.number("created"));
  NB_TRY_ASSIGN(generation.account.changed, in.number("changed"));
  NB_TRY_ASSIGN(generation.account.deleted, in.number("deleted"));
  NB_TRY_ASSIGN(generation.account.new_bytes, in.number("bytes"));
  NB_TRY(in.finish());
  return generation;
}

Bytes encode(const Change& change) {
  Bytes bytes;
  ByteWriter out(bytes);
  std::visit([&out](const auto& one) { put_change(out, one); }, change);
  return bytes;
}

Result<Change> decode_change(ByteView data) {
  ByteReader in(data, Errc::bad_set, "change");
  NB_TRY_ASSIGN(const std::uint8_t kind, in.u8());
  switch (static_cast<Kind>(kind)) {
    case Kind::absent: return get_absent(in);
    case Kind::kept: return get_kept(in);
    case Kind::metadata: return get_old_metadata(in);
    default: return in.bad("record of another kind");
  }
}

Bytes encode(const ChangesHeader& header) {
  Bytes bytes;
  ByteWriter out(bytes);
  put_kind(out, Kind::header);
  out.string(k_magic);
  out.varint(k_version);
  out.varint(header.generation);
  out.varint(header.previous);
  return bytes;
}

Result<ChangesHeader> decode_changes_header(ByteView data) {
  ByteReader in(data, Errc::bad_set, "changes");
  NB_TRY_ASSIGN(const std::uint8_t kind, in.u8());
  if (kind != static_cast<std::uint8_t>(Kind::header)) return in.bad("record of another kind");
  NB_TRY_ASSIGN(const std::string magic, in.string(k_magic.size()));
  if (magic != k_magic) return in.bad("not a list of changes");
  NB_TRY_ASSIGN(const std::uint64_t version, in.varint());
  if (version > k_version) return fail(Errc::unsupported, "made by a newer nbackup");
  if (version == 0) return in.bad("bad version");
  ChangesHeader header;
  NB_TRY_ASSIGN(header.generation, in.varint());
  NB_TRY_ASSIGN(header.previous, in.varint());
  return header;
}

bool is_anchor(const RelPath& path) {
  const std::optional<std::uint64_t> number = parse_u64(path.name());
  return path.parent().str() == k_control_name && number && std::to_string(*number) == path.name();
}

}  // namespace nb::txn
