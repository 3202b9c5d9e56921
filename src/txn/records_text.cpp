// SPDX-License-Identifier: Apache-2.0
// format, head and lock note: the records that people may want to read with cat.
#include <algorithm>

#include "txn/records.hpp"
#include "txn/text_record.hpp"

namespace nb::txn {
namespace {

constexpr std::string_view k_format_title = "nbackup format";
constexpr std::string_view k_head_title = "nbackup head";
constexpr std::string_view k_lock_title = "nbackup lock";
constexpr std::uint64_t k_format_version = 1;

}  // namespace

std::string one_line(std::string_view text) {
  std::string line(text.substr(0, 255));
  std::replace_if(
      line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, '?');
  return line;
}

Bytes encode(const SetFormat& format) {
  TextRecordWriter out(k_format_title);
  out.number("version", format.version);
  out.line("uuid", id_text(format.uuid));
  out.line("lifetime", format.lifetime == Lifetime::permanent ? "permanent" : "ephemeral");
  return out.finish();
}

Result<SetFormat> decode_format(ByteView data) {
  NB_TRY_ASSIGN(TextRecordReader in, TextRecordReader::open(data, k_format_title));
  SetFormat format;
  NB_TRY_ASSIGN(format.version, in.number("version"));
  if (format.version > k_format_version) return in.bad("made by a newer nbackup");
  if (format.version == 0) return in.bad("bad version");
  NB_TRY_ASSIGN(format.uuid, in.id("uuid"));
  NB_TRY_ASSIGN(const std::string_view lifetime, in.line("lifetime"));
  if (lifetime != "permanent" && lifetime != "ephemeral") return in.bad("unknown lifetime");
  format.lifetime = lifetime == "permanent" ? Lifetime::permanent : Lifetime::ephemeral;
  NB_TRY(in.finish());
  return format;
}

Bytes encode(const Head& head) {
  TextRecordWriter out(k_head_title);
  out.number("generation", head.generation);
  out.line("transaction", id_text(head.transaction));
  out.line("time", std::to_string(head.time_ns));
  const std::size_t count = std::min(head.recent.size(), k_max_recent);
  for (std::size_t i = 0; i < count; ++i) out.line("recent", id_text(head.recent[i]));
  return out.finish();
}

Result<Head> decode_head(ByteView data) {
  NB_TRY_ASSIGN(TextRecordReader in, TextRecordReader::open(data, k_head_title));
  Head head;
  NB_TRY_ASSIGN(head.generation, in.number("generation"));
  NB_TRY_ASSIGN(head.transaction, in.id("transaction"));
  NB_TRY_ASSIGN(head.time_ns, in.signed_number("time"));
  while (in.next_is("recent")) {
    if (head.recent.size() == k_max_recent) return in.bad("too many transactions");
    NB_TRY_ASSIGN(const TxId id, in.id("recent"));
    head.recent.push_back(id);
  }
  NB_TRY(in.finish());
  return head;
}

Bytes encode(const LockNote& note) {
  TextRecordWriter out(k_lock_title);
  out.line("client", one_line(note.client));
  out.line("token", id_text(note.token));
  out.number("pid", note.pid);
  out.number("start", note.pid_start);
  out.line("boot", one_line(note.boot_id));
  out.line("since", std::to_string(note.since_ns));
  return out.finish();
}

Result<LockNote> decode_lock_note(ByteView data) {
  NB_TRY_ASSIGN(TextRecordReader in, TextRecordReader::open(data, k_lock_title));
  LockNote note;
  NB_TRY_ASSIGN(note.client, in.line("client"));
  NB_TRY_ASSIGN(note.token, in.id("token"));
  NB_TRY_ASSIGN(note.pid, in.number("pid"));
  NB_TRY_ASSIGN(note.pid_start, in.number("start"));
  NB_TRY_ASSIGN(note.boot_id, in.line("boot"));
  NB_TRY_ASSIGN(note.since_ns, in.signed_number("since"));
  NB_TRY(in.finish());
  return note;
}

}  // namespace nb::txn
