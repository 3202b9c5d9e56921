// SPDX-License-Identifier: Apache-2.0
// Bodies of the messages that ask for and carry file content: Want, FileDigest, FileBegin, Data, Hole, Copy, FileEnd,
// SmallFile. Content bytes are the rest of the body, so that they are copied once when sent and not at all when read.
#include "base/assert.hpp"
#include "wire/body.hpp"

namespace nb::wire {
namespace {

constexpr std::uint8_t k_small_has_meta = 1;
constexpr std::uint8_t k_want_has_basis = 1;
constexpr std::uint8_t k_want_has_digest = 2;
constexpr std::uint8_t k_want_digest_first = 4;
constexpr std::uint8_t k_want_bits = k_want_has_basis | k_want_has_digest | k_want_digest_first;
constexpr std::uint8_t k_file_digest_known = 1;

// A length from 1 on such that offset + length stays a file offset.
Result<std::uint64_t> check_length(const ByteReader& in, std::uint64_t offset, std::uint64_t length) {
  if (length == 0) return in.bad("empty");
  if (length > k_max_file_bytes - offset) return in.bad("value out of range (offset and length)");
  return length;
}

// All that is left, as content.
Result<ByteView> read_content(ByteReader& in) {
  if (in.left() > k_max_data_bytes) return in.bad("too long");
  return in.raw(in.left());
}

void write_content(ByteWriter& out, ByteView bytes) {
  NB_ASSERT(bytes.size() <= k_max_data_bytes);
  out.raw(bytes);
}

Result<Basis> read_basis(ByteReader& in, std::uint8_t bits) {
  Basis basis;
  NB_TRY_ASSIGN(basis.size, read_number(in, "basis size", k_max_file_bytes));
  if ((bits & k_want_has_digest) != 0) {
    NB_TRY_ASSIGN(basis.digest, read_digest(in, "basis digest"));
  }
  return basis;
}

}  // namespace

template <>
struct Body<Want> {
  static constexpr std::string_view k_what = "want";
  static void write(ByteWriter& out, const Want& m) {
    write_key(out, m.file);
    out.varint(m.offset);
    const bool has_digest = m.basis && m.basis->digest;
    out.u8(static_cast<std::uint8_t>((m.basis ? k_want_has_basis : 0) | (has_digest ? k_want_has_digest : 0) |
                                     (m.digest_first ? k_want_digest_first : 0)));
    if (m.basis) out.varint(m.basis->size);
    if (has_digest) m.basis->digest->write(out);
  }
  static Result<Want> read(ByteReader& in) {
    Want m;
    NB_TRY_ASSIGN(m.file, read_key(in));
    NB_TRY_ASSIGN(m.offset, read_number(in, "offset", k_max_file_bytes));
    NB_TRY_ASSIGN(const std::uint8_t bits, read_bits(in, "basis", k_want_bits));
    m.digest_first = (bits & k_want_digest_first) != 0;
    if (m.digest_first && bits != k_want_digest_first) return in.bad("digest first with a basis");
    if (bits == k_want_has_digest) return in.bad("digest without a basis");
    if ((bits & k_want_has_basis) != 0) {
      NB_TRY_ASSIGN(m.basis, read_basis(in, bits));
    }
    return m;
  }
};

template <>
struct Body<FileDigest> {
  static constexpr std::string_view k_what = "file_digest";
  static void write(ByteWriter& out, const FileDigest& m) {
    write_key(out, m.file);
    out.u8(m.digest ? k_file_digest_known : 0);
    if (m.digest) m.digest->write(out);
  }
  static Result<FileDigest> read(ByteReader& in) {
    FileDigest m;
    NB_TRY_ASSIGN(m.file, read_key(in));
    NB_TRY_ASSIGN(const std::uint8_t bits, read_bits(in, "flags", k_file_digest_known));
    if (bits != 0) {
      NB_TRY_ASSIGN(m.digest, read_digest(in, "digest"));
    }
    return m;
  }
};

template <>
struct Body<FileBegin> {
  static constexpr std::string_view k_what = "file_begin";
  static void write(ByteWriter& out, const FileBegin& m) {
    write_key(out, m.file);
    out.varint(m.size);
    encode_metadata(out, m.meta);
    out.u8(static_cast<std::uint8_t>(m.kind));
  }
  static Result<FileBegin> read(ByteReader& in) {
    FileBegin m;
    NB_TRY_ASSIGN(m.file, read_key(in));
    NB_TRY_ASSIGN(m.size, read_number(in, "size", k_max_file_bytes));
    NB_TRY_ASSIGN(m.meta, decode_metadata(in));
    NB_TRY_ASSIGN(const std::uint8_t kind, read_kind(in, "content", static_cast<std::uint8_t>(ContentKind::delta)));
    m.kind = static_cast<ContentKind>(kind);
    return m;
  }
};

template <>
struct Body<Data> {
  static constexpr std::string_view k_what = "data";
  static void write(ByteWriter& out, const Data& m) {
    out.varint(m.offset);
    write_content(out, m.bytes);
  }
  static Result<Data> read(ByteReader& in) {
    Data m;
    NB_TRY_ASSIGN(m.offset, read_number(in, "offset", k_max_file_bytes));
    NB_TRY(check_length(in, m.offset, in.left()));
    NB_TRY_ASSIGN(m.bytes, read_content(in));
    return m;
  }
};

template <>
struct Body<Hole> {
  static constexpr std::string_view k_what = "hole";
  static void write(ByteWriter& out, const Hole& m) {
    out.varint(m.offset);
    out.varint(m.length);
  }
  static Result<Hole> read(ByteReader& in) {
    Hole m;
    NB_TRY_ASSIGN(m.offset, read_number(in, "offset", k_max_file_bytes));
    NB_TRY_ASSIGN(m.length, read_number(in, "length", k_max_file_bytes));
    NB_TRY(check_length(in, m.offset, m.length));
    return m;
  }
};

template <>
struct Body<Copy> {
  static constexpr std::string_view k_what = "copy";
  static void write(ByteWriter& out, const Copy& m) {
    out.varint(m.offset);
    out.varint(m.basis_offset);
    out.varint(m.length);
  }
  static Result<Copy> read(ByteReader& in) {
    Copy m;
    NB_TRY_ASSIGN(m.offset, read_number(in, "offset", k_max_file_bytes));
    NB_TRY_ASSIGN(m.basis_offset, read_number(in, "basis offset", k_max_file_bytes));
    NB_TRY_ASSIGN(m.length, read_number(in, "length", k_max_file_bytes));
    NB_TRY(check_length(in, m.offset, m.length));
    NB_TRY(check_length(in, m.basis_offset, m.length));
    return m;
  }
};

template <>
struct Body<FileEnd> {
  static constexpr std::string_view k_what = "file_end";
  static void write(ByteWriter& out, const FileEnd& m) {
    write_key(out, m.file);
    out.u8(static_cast<std::uint8_t>(m.outcome));
    out.varint(m.sys_errno);
    if (m.outcome == FileOutcome::complete) m.digest.write(out);
  }
  static Result<FileEnd> read(ByteReader& in) {
    FileEnd m;
    NB_TRY_ASSIGN(m.file, read_key(in));
    const auto max = static_cast<std::uint8_t>(FileOutcome::unreadable);
    NB_TRY_ASSIGN(const std::uint8_t outcome, read_kind(in, "outcome", max));
    m.outcome = static_cast<FileOutcome>(outcome);
    NB_TRY_ASSIGN(m.sys_errno, read_number(in, "errno", k_max_errno));
    if (m.outcome == FileOutcome::complete) {
      NB_TRY_ASSIGN(m.digest, read_digest(in, "digest"));
    }
    return m;
  }
};

template <>
struct Body<SmallFile> {
  static constexpr std::string_view k_what = "small_file";
  static void write(ByteWriter& out, const SmallFile& m) {
    write_key(out, m.file);
    out.u8(m.meta ? k_small_has_meta : 0);
    if (m.meta) encode_metadata(out, *m.meta);
    m.digest.write(out);
    write_content(out, m.bytes);
  }
  static Result<SmallFile> read(ByteReader& in) {
    SmallFile m;
    NB_TRY_ASSIGN(m.file, read_key(in));
    NB_TRY_ASSIGN(const std::uint8_t bits, read_bits(in, "flags", k_small_has_meta));
    if (bits != 0) {
      NB_TRY_ASSIGN(m.meta, decode_metadata(in));
    }
    NB_TRY_ASSIGN(m.digest, read_digest(in, "digest"));
    NB_TRY_ASSIGN(m.bytes, read_content(in));
    return m;
  }
};

NB_WIRE_INSTANTIATE(Want);
NB_WIRE_INSTANTIATE(FileDigest);
NB_WIRE_INSTANTIATE(FileBegin);
NB_WIRE_INSTANTIATE(Data);
NB_WIRE_INSTANTIATE(Hole);
NB_WIRE_INSTANTIATE(Copy);
NB_WIRE_INSTANTIATE(FileEnd);
NB_WIRE_INSTANTIATE(SmallFile);

}  // namespace nb::wire
