// SPDX-License-Identifier: Apache-2.0
#include "txn/thin_record.hpp"

#include "txn/small_file.hpp"

namespace nb::txn {
namespace {

constexpr std::string_view k_magic = "nbackup merge";
constexpr std::uint64_t k_version = 1;

// First byte of each record. On disk: never renumber.
enum class Kind : std::uint8_t {
  header = 1,
  footer = 2,
  merge = 16,
  dropped = 17,
  clear = 18,
  take = 19,
  barrier = 20,
  parent = 21,
};

void put_kind(ByteWriter& out, Kind kind) { out.u8(static_cast<std::uint8_t>(kind)); }

void put_op(ByteWriter& out, const Merge& op) {
  put_kind(out, Kind::merge);
  out.varint(op.survivor);
  out.u8(op.becomes_base ? 1 : 0);
}

void put_op(ByteWriter& out, const Dropped& op) {
  put_kind(out, Kind::dropped);
  out.varint(op.number);
}

void put_op(ByteWriter& out, const ClearKept& op) {
  put_kind(out, Kind::clear);
  out.string(op.path.str());
  out.varint(op.slot);
}

void put_op(ByteWriter& out, const TakeKept& op) {
  put_kind(out, Kind::take);
  out.string(op.path.str());
  out.varint(op.generation);
  out.varint(op.slot);
}

void put_op(ByteWriter& out, const MakeParent& op) {
  put_kind(out, Kind::parent);
  out.string(op.path.str());
}

void put_op(ByteWriter& out, const ThinBarrier&) { put_kind(out, Kind::barrier); }

Result<ThinOp> get_merge(ByteReader& in) {
  Merge op;
  NB_TRY_ASSIGN(op.survivor, in.varint());
  NB_TRY_ASSIGN(op.becomes_base, get_flag(in));
  return op;
}

Result<ThinOp> get_dropped(ByteReader& in) {
  Dropped op;
  NB_TRY_ASSIGN(op.number, in.varint());
  return op;
}

Result<ThinOp> get_clear(ByteReader& in) {
  ClearKept op;
  NB_TRY_ASSIGN(op.path, get_entry_path(in));
  NB_TRY_ASSIGN(op.slot, in.varint());
  return op;
}

Result<ThinOp> get_take(ByteReader& in) {
  TakeKept op;
  NB_TRY_ASSIGN(op.path, get_entry_path(in));
  NB_TRY_ASSIGN(op.generation, in.varint());
  NB_TRY_ASSIGN(op.slot, in.varint());
  return op;
}

Result<ThinOp> get_parent(ByteReader& in) {
  MakeParent op;
  NB_TRY_ASSIGN(op.path, get_entry_path(in));
  return op;
}

// Nothing if `record` is an operation.
Result<std::optional<std::uint64_t>> footer_of(ByteView record) {
  ByteReader in(record, Errc::bad_set, "merge");
  NB_TRY_ASSIGN(const std::uint8_t kind, in.u8());
  if (kind != static_cast<std::uint8_t>(Kind::footer)) return std::optional<std::uint64_t>();
  NB_TRY_ASSIGN(const std::uint64_t count, in.varint());
  return std::optional<std::uint64_t>(count);
}

}  // namespace

Bytes encode(const ThinHeader& header) {
  Bytes bytes;
  ByteWriter out(bytes);
  put_kind(out, Kind::header);
  out.string(k_magic);
  out.varint(k_version);
  out.raw(header.set);
  out.varint(header.trash);
  return bytes;
}

Bytes encode(const ThinOp& op) {
  Bytes bytes;
  ByteWriter out(bytes);
  std::visit([&out](const auto& one) { put_op(out, one); }, op);
  return bytes;
}

Result<ThinHeader> decode_thin_header(ByteView data) {
  ByteReader in(data, Errc::bad_set, "merge");
  NB_TRY_ASSIGN(const std::uint8_t kind, in.u8());
  if (kind != static_cast<std::uint8_t>(Kind::header)) return in.bad("record of another kind");
  NB_TRY_ASSIGN(const std::string magic, in.string(k_magic.size()));
  if (magic != k_magic) return in.bad("not a merge of generations");
  NB_TRY_ASSIGN(const std::uint64_t version, in.varint());
  if (version > k_version) return in.bad("made by a newer nbackup");
  if (version == 0) return in.bad("bad version");
  ThinHeader header;
  NB_TRY_ASSIGN(const ByteView set, in.raw(header.set.size()));
  std::copy(set.begin(), set.end(), header.set.begin());
  NB_TRY_ASSIGN(header.trash, in.varint());
  return header;
}

Result<ThinOp> decode_thin_op(ByteView data) {
  ByteReader in(data, Errc::bad_set, "merge");
  NB_TRY_ASSIGN(const std::uint8_t kind, in.u8());
  switch (static_cast<Kind>(kind)) {
    case Kind::merge: return get_merge(in);
    case Kind::dropped: return get_dropped(in);
    case Kind::clear: return get_clear(in);
    case Kind::take: return get_take(in);
    case Kind::parent: return get_parent(in);
    case Kind::barrier: return ThinOp(ThinBarrier{});
    default: return in.bad("record of another kind");
  }
}

Result<ThinWriter> ThinWriter::create(fs::Directory& history, const ThinHeader& header) {
  NB_TRY(remove_if_there(history, k_merge_new_name));
  NB_TRY_ASSIGN(std::unique_ptr<fs::File> file, history.create_file(k_merge_new_name));
  ThinWriter writer(std::move(file));
  NB_TRY(writer.m_records.append(encode(header)));
  return writer;
}

Status ThinWriter::append(const ThinOp& op) {
  ++m_count;
  return m_records.append(encode(op));
}

Status ThinWriter::finish() {
  Bytes footer;
  ByteWriter out(footer);
  put_kind(out, Kind::footer);
  out.varint(m_count);
  NB_TRY(m_records.append(footer));
  return m_records.sync();
}

Result<ThinRecord> ThinRecord::open(const fs::Directory& history, std::string_view name) {
  NB_TRY_ASSIGN(std::unique_ptr<fs::File> file, history.open_file(name, fs::OpenMode::read));
  NB_TRY_ASSIGN(const fs::Stat stat, file->stat());
  RecordCursor cursor(*file, 0, stat.size);
  NB_TRY_ASSIGN(const std::optional<ByteView> first, cursor.next());
  if (!first) return fail(Errc::bad_set, "merge: empty");
  NB_TRY_ASSIGN(const ThinHeader header, decode_thin_header(*first));
  const std::uint64_t begin = cursor.at();
  for (std::uint64_t count = 0;; ++count) {
    const std::uint64_t end = cursor.at();
    NB_TRY_ASSIGN(const ByteView record, cursor.next_of("merge"));
    NB_TRY_ASSIGN(const std::optional<std::uint64_t> total, footer_of(record));
    if (!total) {
      NB_TRY(decode_thin_op(record));
      continue;
    }
    if (*total != count || cursor.at() != stat.size) return fail(Errc::bad_set, "merge: footer does not match");
    ThinRecord whole(std::move(file), header);
    whole.m_ops_begin = begin;
    whole.m_ops_end = end;
    return whole;
  }
}

Status ThinRecord::for_each(const std::function<Status(const ThinOp&)>& visit) const {
  RecordCursor cursor(*m_file, m_ops_begin, m_ops_end);
  while (true) {
    NB_TRY_ASSIGN(const std::optional<ByteView> record, cursor.next());
    if (!record) return {};
    NB_TRY_ASSIGN(const ThinOp op, decode_thin_op(*record));
    NB_TRY(visit(op));
  }
}

}  // namespace nb::txn
