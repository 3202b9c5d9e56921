// SPDX-License-Identifier: Apache-2.0
// Journal and stage log records. Bytes after the fields known here are ignored: later versions may append fields that
// an older reader can do without; a kind that is not known is an error, since skipping an operation is never safe.
#include <algorithm>

#include "txn/records.hpp"

namespace nb::txn {

void put(ByteWriter& out, const fs::Timestamp& time) {
  out.svarint(time.sec);
  out.varint(time.nsec);
}

void put(ByteWriter& out, const Ident& ident) {
  out.u8(static_cast<std::uint8_t>(ident.type));
  out.varint(ident.inode);
  out.varint(ident.size);
  put(out, ident.mtime);
}

void put(ByteWriter& out, const fs::Metadata& metadata) {
  out.varint(metadata.mode);
  out.varint(metadata.owner.uid);
  out.varint(metadata.owner.gid);
  put(out, metadata.mtime);
  out.varint(metadata.xattrs.size());
  for (const fs::Xattr& xattr : metadata.xattrs) {
    out.string(xattr.name);
    out.string(xattr.value);
  }
}

Result<fs::Timestamp> get_time(ByteReader& in) {
  fs::Timestamp time;
  NB_TRY_ASSIGN(time.sec, in.svarint());
  NB_TRY_ASSIGN(const std::uint64_t nsec, in.varint(999'999'999));
  time.nsec = static_cast<std::uint32_t>(nsec);
  return time;
}

Result<fs::FileType> get_type(ByteReader& in) {
  NB_TRY_ASSIGN(const std::uint8_t type, in.u8());
  if (type < 1 || type > static_cast<std::uint8_t>(fs::FileType::block_device)) return in.bad("unknown file type");
  return static_cast<fs::FileType>(type);
}

Result<bool> get_flag(ByteReader& in) {
  NB_TRY_ASSIGN(const std::uint8_t flag, in.u8());
  if (flag > 1) return in.bad("bad flag");
  return flag == 1;
}

Result<Ident> get_ident(ByteReader& in) {
  Ident ident;
  NB_TRY_ASSIGN(ident.type, get_type(in));
  NB_TRY_ASSIGN(ident.inode, in.varint());
  NB_TRY_ASSIGN(ident.size, in.varint());
  NB_TRY_ASSIGN(ident.mtime, get_time(in));
  return ident;
}

namespace {

// First byte of each record. On disk: never renumber. 2 is the journal's footer (journal.cpp).
enum class Kind : std::uint8_t { header = 1, open_up = 16, place = 17, remove = 18, set_metadata = 19, staged = 32 };

constexpr std::string_view k_journal_magic = "nbackup journal";
constexpr std::uint64_t k_journal_version = 2;  // 1 knew no history
constexpr std::uint64_t k_max_xattrs = 32768;   // more than the kernel's 64 KiB list of names can hold
constexpr std::size_t k_max_xattr_value = std::size_t{1} << 20;

void put_kind(ByteWriter& out, Kind kind) { out.u8(static_cast<std::uint8_t>(kind)); }

void put_op(ByteWriter& out, const OpenUp& op) {
  put_kind(out, Kind::open_up);
  out.string(op.path.str());
  put(out, op.directory);
  out.varint(op.old_mode);
  out.varint(op.new_mode);
}

void put_op(ByteWriter& out, const Place& op) {
  put_kind(out, Kind::place);
  out.string(op.path.str());
  out.varint(op.slot);
  put(out, op.staged);
  out.u8(op.replaced ? 1 : 0);
  if (op.replaced) put(out, *op.replaced);
}

void put_op(ByteWriter& out, const Remove& op) {
  put_kind(out, Kind::remove);
  out.string(op.path.str());
  out.varint(op.slot);
  put(out, op.removed);
}

void put_op(ByteWriter& out, const SetMetadata& op) {
  put_kind(out, Kind::set_metadata);
  out.string(op.path.str());
  put(out, op.target);
  put(out, op.before);
  put(out, op.after);
}

Status expect_kind(ByteReader& in, Kind kind) {
  NB_TRY_ASSIGN(const std::uint8_t found, in.u8());
  if (found != static_cast<std::uint8_t>(kind)) return in.bad("record of another kind");
  return {};
}

Result<std::uint32_t> get_mode(ByteReader& in) {
  NB_TRY_ASSIGN(const std::uint64_t mode, in.varint(07777));
  return static_cast<std::uint32_t>(mode);
}

Result<fs::Xattr> get_xattr(ByteReader& in) {
  fs::Xattr xattr;
  NB_TRY_ASSIGN(xattr.name, in.string(k_max_name_bytes));
  NB_TRY_ASSIGN(xattr.value, in.string(k_max_xattr_value));
  if (xattr.name.empty() || xattr.name.find('\0') != std::string::npos) return in.bad("bad attribute name");
  return xattr;
}

}  // namespace

Result<RelPath> get_path(ByteReader& in) {
  NB_TRY_ASSIGN(const std::string text, in.string(k_max_path_bytes));
  NB_TRY_ASSIGN(RelPath path, RelPath::parse(text, Errc::bad_set));
  // What belongs to the set itself is never a target.
  if (has_reserved_name(path.str())) return in.bad("path inside the control directory");
  return path;
}

Result<RelPath> get_entry_path(ByteReader& in) {
  NB_TRY_ASSIGN(RelPath path, get_path(in));
  if (path.is_root()) return in.bad("the root cannot be moved");
  return path;
}

Result<fs::Metadata> get_metadata(ByteReader& in) {
  fs::Metadata metadata;
  NB_TRY_ASSIGN(metadata.mode, get_mode(in));
  NB_TRY_ASSIGN(const std::uint64_t uid, in.varint(UINT32_MAX));
  NB_TRY_ASSIGN(const std::uint64_t gid, in.varint(UINT32_MAX));
  metadata.owner = {static_cast<std::uint32_t>(uid), static_cast<std::uint32_t>(gid)};
  NB_TRY_ASSIGN(metadata.mtime, get_time(in));
  NB_TRY_ASSIGN(const std::uint64_t count, in.varint(k_max_xattrs));
  for (std::uint64_t i = 0; i < count; ++i) {
    NB_TRY_ASSIGN(fs::Xattr xattr, get_xattr(in));
    metadata.xattrs.push_back(std::move(xattr));
  }
  return metadata;
}

namespace {

Result<JournalOp> get_open_up(ByteReader& in) {
  OpenUp op;
  NB_TRY_ASSIGN(op.path, get_path(in));
  NB_TRY_ASSIGN(op.directory, get_ident(in));
  if (op.directory.type != fs::FileType::directory) return in.bad("only a directory is opened up");
  NB_TRY_ASSIGN(op.old_mode, get_mode(in));
  NB_TRY_ASSIGN(op.new_mode, get_mode(in));
  return op;
}

Result<JournalOp> get_place(ByteReader& in) {
  Place op;
  NB_TRY_ASSIGN(op.path, get_entry_path(in));
  NB_TRY_ASSIGN(op.slot, in.varint());
  NB_TRY_ASSIGN(op.staged, get_ident(in));
  NB_TRY_ASSIGN(const bool replaces, get_flag(in));
  if (replaces) {
    NB_TRY_ASSIGN(op.replaced, get_ident(in));
  }
  return op;
}

Result<JournalOp> get_remove(ByteReader& in) {
  Remove op;
  NB_TRY_ASSIGN(op.path, get_entry_path(in));
  NB_TRY_ASSIGN(op.slot, in.varint());
  NB_TRY_ASSIGN(op.removed, get_ident(in));
  return op;
}

Result<JournalOp> get_set_metadata(ByteReader& in) {
  SetMetadata op;
  NB_TRY_ASSIGN(op.path, get_path(in));
  NB_TRY_ASSIGN(op.target, get_ident(in));
  NB_TRY_ASSIGN(op.before, get_metadata(in));
  NB_TRY_ASSIGN(op.after, get_metadata(in));
  return op;
}

}  // namespace

static void put_account(ByteWriter& out, const RunAccount& account) {
  out.string(one_line(account.client));
  out.varint(account.created);
  out.varint(account.changed);
  out.varint(account.deleted);
  out.varint(account.new_bytes);
}

static Result<RunAccount> get_account(ByteReader& in) {
  RunAccount account;
  NB_TRY_ASSIGN(account.client, in.string(k_max_name_bytes));
  NB_TRY_ASSIGN(account.created, in.varint());
  NB_TRY_ASSIGN(account.changed, in.varint());
  NB_TRY_ASSIGN(account.deleted, in.varint());
  NB_TRY_ASSIGN(account.new_bytes, in.varint());
  return account;
}

Bytes encode(const JournalHeader& header) {
  Bytes bytes;
  ByteWriter out(bytes);
  put_kind(out, Kind::header);
  out.string(k_journal_magic);
  out.varint(k_journal_version);
  out.raw(header.transaction);
  out.raw(header.set);
  out.varint(header.generation);
  out.svarint(header.time_ns);
  out.u8(header.keeps_history ? 1 : 0);
  put_account(out, header.account);
  return bytes;
}

Result<JournalHeader> decode_journal_header(ByteView data) {
  ByteReader in(data, Errc::bad_set, "journal header");
  NB_TRY(expect_kind(in, Kind::header));
  NB_TRY_ASSIGN(const std::string magic, in.string(k_journal_magic.size()));
  if (magic != k_journal_magic) return in.bad("not a journal");
  NB_TRY_ASSIGN(const std::uint64_t version, in.varint());
  if (version > k_journal_version) return fail(Errc::unsupported, "made by a newer nbackup");
  if (version != k_journal_version) return in.bad("written by another version of nbackup");
  JournalHeader header;
  NB_TRY_ASSIGN(const ByteView transaction, in.raw(header.transaction.size()));
  std::copy(transaction.begin(), transaction.end(), header.transaction.begin());
  NB_TRY_ASSIGN(const ByteView set, in.raw(header.set.size()));
  std::copy(set.begin(), set.end(), header.set.begin());
  NB_TRY_ASSIGN(header.generation, in.varint());
  NB_TRY_ASSIGN(header.time_ns, in.svarint());
  NB_TRY_ASSIGN(header.keeps_history, get_flag(in));
  NB_TRY_ASSIGN(header.account, get_account(in));
  return header;
}

Bytes encode(const JournalOp& op) {
  Bytes bytes;
  ByteWriter out(bytes);
  std::visit([&](const auto& each) { put_op(out, each); }, op);
  return bytes;
}

Result<JournalOp> decode_journal_op(ByteView data) {
  ByteReader in(data, Errc::bad_set, "journal operation");
  NB_TRY_ASSIGN(const std::uint8_t kind, in.u8());
  switch (static_cast<Kind>(kind)) {
    case Kind::open_up: return get_open_up(in);
    case Kind::place: return get_place(in);
    case Kind::remove: return get_remove(in);
    case Kind::set_metadata: return get_set_metadata(in);
    case Kind::header:
    case Kind::staged: break;
  }
  return in.bad("unknown operation");
}

namespace {

// On disk: what a staged record is about.
constexpr std::uint8_t k_file = 0;
constexpr std::uint8_t k_tree = 1;
constexpr std::uint8_t k_partial = 2;

}  // namespace

Bytes encode(const StagedRecord& record) {
  Bytes bytes;
  ByteWriter out(bytes);
  put_kind(out, Kind::staged);
  out.string(record.path.str());
  out.varint(record.slot);
  out.u8(record.is_partial ? k_partial : record.is_tree ? k_tree : k_file);
  out.varint(record.size);
  put(out, record.mtime);
  record.digest.write(out);
  out.varint(record.inode);
  put(out, record.born);
  return bytes;
}

Result<StagedRecord> decode_staged_record(ByteView data) {
  ByteReader in(data, Errc::bad_set, "stage log");
  NB_TRY(expect_kind(in, Kind::staged));
  StagedRecord record;
  NB_TRY_ASSIGN(record.path, get_path(in));
  NB_TRY_ASSIGN(record.slot, in.varint());
  NB_TRY_ASSIGN(const std::uint8_t what, in.u8());
  if (what > k_partial) return in.bad("unknown kind of staged entry");
  record.is_tree = what == k_tree;
  record.is_partial = what == k_partial;
  NB_TRY_ASSIGN(record.size, in.varint());
  NB_TRY_ASSIGN(record.mtime, get_time(in));
  NB_TRY_ASSIGN(record.digest, hash::Digest::read(in));
  NB_TRY_ASSIGN(record.inode, in.varint());
  NB_TRY_ASSIGN(record.born, get_time(in));
  return record;
}

}  // namespace nb::txn
