// SPDX-License-Identifier: Apache-2.0
#include "txn/change_list.hpp"

#include "codec/frame_decompressor.hpp"

namespace nb::txn {
namespace {

constexpr std::uint8_t k_footer_kind = 2;  // beside the kinds in generation.cpp
constexpr std::size_t k_block_bytes = std::size_t{64} << 10;
constexpr int k_level = 3;

// Nothing if `record` is a block.
Result<std::optional<std::uint64_t>> footer_of(ByteView record) {
  ByteReader in(record, Errc::bad_set, "changes");
  NB_TRY_ASSIGN(const std::uint8_t kind, in.u8());
  if (kind != k_footer_kind) return std::optional<std::uint64_t>();
  NB_TRY_ASSIGN(const std::uint64_t count, in.varint());
  return std::optional<std::uint64_t>(count);
}

}  // namespace

ChangeListWriter::ChangeListWriter(std::unique_ptr<fs::File> file)
    : m_records(std::move(file), 0), m_compressor(std::make_unique<codec::FrameCompressor>()) {
  m_compressor->use(codec::Windows::small);
}

Result<ChangeListWriter> ChangeListWriter::create(fs::Directory& directory, std::string_view name,
                                                  const ChangesHeader& header) {
  NB_TRY_ASSIGN(std::unique_ptr<fs::File> file, directory.create_file(name));
  ChangeListWriter writer(std::move(file));
  NB_TRY(writer.m_records.append(encode(header)));
  return writer;
}

Status ChangeListWriter::append(const Change& change) {
  const Bytes encoded = encode(change);
  // What cannot be read back must not get in.
  NB_TRY(decode_change(encoded));
  ByteWriter(m_block).blob(encoded);
  ++m_count;
  return m_block.size() >= k_block_bytes ? write_block(Finish::flush) : Status();
}

// A block begins with a byte of its own, so that no footer can be taken for one.
Status ChangeListWriter::write_block(Finish finish) {
  if (m_block.empty()) return {};
  Bytes record{std::byte{0}};
  NB_TRY(m_compressor->compress(m_block, k_level, record, finish));
  m_block.clear();
  return m_records.append(record);
}

Status ChangeListWriter::finish() {
  NB_TRY(write_block(Finish::end));
  Bytes footer;
  ByteWriter out(footer);
  out.u8(k_footer_kind);
  out.varint(m_count);
  NB_TRY(m_records.append(footer));
  return m_records.flush();
}

Result<ChangesHeader> read_changes_header(const fs::Directory& directory, std::string_view name) {
  NB_TRY_ASSIGN(const std::unique_ptr<fs::File> file, directory.open_file(name, fs::OpenMode::read));
  NB_TRY_ASSIGN(const fs::Stat stat, file->stat());
  RecordCursor cursor(*file, 0, stat.size);
  NB_TRY_ASSIGN(const ByteView first, cursor.next_of("changes"));
  return decode_changes_header(first);
}

Status read_changes(const fs::Directory& directory, std::string_view name, const ChangesHeader& expected,
                    const std::function<Status(const Change&)>& visit) {
  NB_TRY_ASSIGN(const std::unique_ptr<fs::File> file, directory.open_file(name, fs::OpenMode::read));
  NB_TRY_ASSIGN(const fs::Stat stat, file->stat());
  RecordCursor cursor(*file, 0, stat.size);
  NB_TRY_ASSIGN(const ByteView first, cursor.next_of("changes"));
  NB_TRY_ASSIGN(const ChangesHeader header, decode_changes_header(first));
  if (header != expected) return fail(Errc::bad_set, "changes: of another generation");
  codec::FrameDecompressor decompressor(codec::Windows::ordinary);
  std::uint64_t count = 0;
  while (true) {
    NB_TRY_ASSIGN(const ByteView record, cursor.next_of("changes"));
    NB_TRY_ASSIGN(const std::optional<std::uint64_t> total, footer_of(record));
    if (total && (*total != count || cursor.at() != stat.size)) return fail(Errc::bad_set, "changes: bad footer");
    if (total) return {};
    const Result<Bytes> block = decompressor.decompress(record.subspan(1), k_max_record_bytes);
    if (!block) return fail(Errc::bad_set, "changes: " + block.error().message());
    ByteReader in(*block, Errc::bad_set, "changes");
    for (; !in.at_end(); ++count) {
      NB_TRY_ASSIGN(const ByteView encoded, in.blob(k_max_record_bytes));
      NB_TRY_ASSIGN(const Change change, decode_change(encoded));
      NB_TRY(visit(change));
    }
  }
}

}  // namespace nb::txn
