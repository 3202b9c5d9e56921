// SPDX-License-Identifier: Apache-2.0
// Bodies of the messages that ask for and carry file content: Want, FileBegin, Data, Hole, FileEnd, SmallFile. Content
// bytes are the rest of the body, so that they are copied once when sent and not at all when read.
#include "base/assert.hpp"
#include "wire/body.hpp"

namespace nb::wire {
namespace {

constexpr std::uint8_t k_small_has_meta = 1;

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

}  // namespace

template <>
struct Body<Want> {
  static constexpr std::string_view k_what = "want";
  static void write(ByteWriter& out, const Want& m) {
    write_key(out, m.file);
    out.varint(m.offset);
  }
  static Result<Want> read(ByteReader& in) {
    Want m;
    NB_TRY_ASSIGN(m.file, read_key(in));
    NB_TRY_ASSIGN(m.offset, read_number(in, "offset", k_max_file_bytes));
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
  }
  static Result<FileBegin> read(ByteReader& in) {
    FileBegin m;
    NB_TRY_ASSIGN(m.file, read_key(in));
    NB_TRY_ASSIGN(m.size, read_number(in, "size", k_max_file_bytes));
    NB_TRY_ASSIGN(m.meta, decode_metadata(in));
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
NB_WIRE_INSTANTIATE(FileBegin);
NB_WIRE_INSTANTIATE(Data);
NB_WIRE_INSTANTIATE(Hole);
NB_WIRE_INSTANTIATE(FileEnd);
NB_WIRE_INSTANTIATE(SmallFile);

}  // namespace nb::wire
