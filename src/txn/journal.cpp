// SPDX-License-Identifier: Apache-2.0
#include "txn/journal.hpp"

#include "hash/digest.hpp"

namespace nb::txn {
namespace {

constexpr std::uint8_t k_footer_kind = 2;  // beside the kinds in records_binary.cpp

std::uint64_t fold(std::uint64_t so_far, std::uint64_t check) {
  Bytes bytes;
  ByteWriter out(bytes);
  out.u64(so_far);
  out.u64(check);
  return hash::check_of(bytes);
}

struct Footer {
  std::uint64_t count = 0;
  std::uint64_t fold = 0;
};

Result<Footer> decode_footer(ByteView data) {
  ByteReader in(data, Errc::bad_set, "journal footer");
  NB_TRY_ASSIGN(const std::uint8_t kind, in.u8());
  if (kind != k_footer_kind) return in.bad("record of another kind");
  Footer footer;
  NB_TRY_ASSIGN(footer.count, in.varint());
  NB_TRY_ASSIGN(footer.fold, in.u64());
  return footer;
}

bool is_footer(ByteView data) { return !data.empty() && data[0] == std::byte{k_footer_kind}; }

}  // namespace

Result<JournalWriter> JournalWriter::create(fs::Directory& control, const JournalHeader& header) {
  // One left by a crash before its commit point is worth nothing.
  const Status removed = control.remove_file(k_journal_new_name);
  if (!removed && removed.error().code != Errc::not_found) return tl::make_unexpected(removed.error());
  NB_TRY_ASSIGN(std::unique_ptr<fs::File> file, control.create_file(k_journal_new_name));
  JournalWriter writer(std::move(file));
  const Bytes encoded = encode(header);
  NB_TRY(writer.m_records.append(encoded));
  writer.m_fold = fold(0, hash::check_of(encoded));
  return writer;
}

Status JournalWriter::append(ByteView op) {
  NB_TRY(m_records.append(op));
  m_fold = fold(m_fold, hash::check_of(op));
  ++m_count;
  return {};
}

Status JournalWriter::finish() {
  Bytes footer;
  ByteWriter out(footer);
  out.u8(k_footer_kind);
  out.varint(m_count);
  out.u64(m_fold);
  NB_TRY(m_records.append(footer));
  return m_records.sync();
}

Result<Journal> Journal::open(const fs::Directory& control, std::string_view name) {
  NB_TRY_ASSIGN(std::unique_ptr<fs::File> file, control.open_file(name, fs::OpenMode::read));
  NB_TRY_ASSIGN(const fs::Stat stat, file->stat());
  RecordCursor cursor(*file, 0, stat.size);
  NB_TRY_ASSIGN(const std::optional<ByteView> first, cursor.next());
  if (!first) return fail(Errc::bad_set, "journal: empty");
  NB_TRY_ASSIGN(const JournalHeader header, decode_journal_header(*first));
  std::uint64_t count = 0;
  std::uint64_t folded = fold(0, cursor.check());
  const std::uint64_t ops_begin = cursor.at();
  while (true) {
    const std::uint64_t start = cursor.at();
    NB_TRY_ASSIGN(const ByteView record, cursor.next_of("journal"));
    if (is_footer(record)) {
      NB_TRY_ASSIGN(const Footer footer, decode_footer(record));
      if (footer.count != count || footer.fold != folded) return fail(Errc::bad_set, "journal: footer does not match");
      if (cursor.at() != stat.size) return fail(Errc::bad_set, "journal: data after the footer");
      Journal journal(std::move(file), header);
      journal.m_ops_begin = ops_begin;
      journal.m_ops_end = start;
      return journal;
    }
    NB_TRY(decode_journal_op(record));
    folded = fold(folded, cursor.check());
    ++count;
  }
}

Status Journal::for_each(const Visitor& visit) const {
  RecordCursor cursor(*m_file, m_ops_begin, m_ops_end);
  while (true) {
    NB_TRY_ASSIGN(const std::optional<ByteView> record, cursor.next());
    if (!record) return {};
    NB_TRY_ASSIGN(const JournalOp op, decode_journal_op(*record));
    NB_TRY_ASSIGN(const Walk walk, visit(op));
    if (walk == Walk::stop) return {};
  }
}

Status Journal::for_each_backward(const Visitor& visit) const {
  RecordCursor cursor(*m_file, m_ops_begin, m_ops_end);
  cursor.to_end();
  while (true) {
    NB_TRY_ASSIGN(const std::optional<ByteView> record, cursor.previous());
    if (!record) return {};
    NB_TRY_ASSIGN(const JournalOp op, decode_journal_op(*record));
    NB_TRY_ASSIGN(const Walk walk, visit(op));
    if (walk == Walk::stop) return {};
  }
}

}  // namespace nb::txn
