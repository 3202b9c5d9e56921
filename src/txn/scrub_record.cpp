// SPDX-License-Identifier: Apache-2.0
#include "txn/scrub_record.hpp"

#include "base/text.hpp"
#include "txn/generation.hpp"
#include "txn/set_files.hpp"
#include "txn/small_file.hpp"
#include "txn/text_record.hpp"

namespace nb::txn {
namespace {

constexpr std::string_view k_title = "nbackup scrub";
// The first knew one pass that stands; where there are no others it is written still.
constexpr std::uint64_t k_first_version = 1;
constexpr std::uint64_t k_version = 2;
constexpr std::size_t k_most_bytes = std::size_t{60} << 10;  // of a small file
constexpr std::string_view k_live = "live";

void put_pass(TextRecordWriter& out, std::string_view key, const ScrubPass& pass) {
  out.line(key, std::to_string(pass.part.number) + "/" + std::to_string(pass.part.count));
  out.line("began", std::to_string(pass.began_ns));
  out.line("ended", std::to_string(pass.ended_ns));
  out.number("files", pass.counts.files);
  out.number("bytes", pass.counts.bytes);
  out.number("damaged", pass.counts.damaged);
  out.number("edited", pass.counts.edited);
  out.number("unknown", pass.counts.unknown);
  out.number("unreadable", pass.counts.unreadable);
}

void put_standing(TextRecordWriter& out, std::string_view key, const StandingPass& standing) {
  put_pass(out, key, standing.pass);
  const ScrubPlace& place = standing.place;
  out.line("in", place.generation ? std::to_string(*place.generation) : std::string(k_live));
  out.line("path", to_hex(as_bytes(place.path.str())));
}

Result<ScrubPart> get_part(TextRecordReader& in, std::string_view key) {
  NB_TRY_ASSIGN(const std::string_view text, in.line(key));
  const std::size_t slash = text.find('/');
  const auto number = parse_u64(text.substr(0, slash));
  const auto count = slash == std::string_view::npos ? std::nullopt : parse_u64(text.substr(slash + 1));
  const bool is_part = number && count && *number >= 1 && *number <= *count &&
                       text == std::to_string(*number) + "/" + std::to_string(*count);
  if (!is_part) return in.bad("bad part");
  return ScrubPart{*number, *count};
}

Result<ScrubPass> get_pass(TextRecordReader& in, std::string_view key) {
  ScrubPass pass;
  NB_TRY_ASSIGN(pass.part, get_part(in, key));
  NB_TRY_ASSIGN(pass.began_ns, in.signed_number("began"));
  NB_TRY_ASSIGN(pass.ended_ns, in.signed_number("ended"));
  NB_TRY_ASSIGN(pass.counts.files, in.number("files"));
  NB_TRY_ASSIGN(pass.counts.bytes, in.number("bytes"));
  NB_TRY_ASSIGN(pass.counts.damaged, in.number("damaged"));
  NB_TRY_ASSIGN(pass.counts.edited, in.number("edited"));
  NB_TRY_ASSIGN(pass.counts.unknown, in.number("unknown"));
  NB_TRY_ASSIGN(pass.counts.unreadable, in.number("unreadable"));
  return pass;
}

// Names may hold line ends.
Result<ScrubPlace> get_place(TextRecordReader& in) {
  ScrubPlace place;
  NB_TRY_ASSIGN(const std::string_view where, in.line("in"));
  if (where != k_live) {
    place.generation = parse_u64(where);
    if (!place.generation || std::to_string(*place.generation) != where) return in.bad("bad generation");
  }
  NB_TRY_ASSIGN(const std::string_view hex, in.line("path"));
  const auto bytes = from_hex(hex);
  if (!bytes || to_hex(*bytes) != hex) return in.bad("bad path");
  NB_TRY_ASSIGN(place.path, RelPath::parse(as_text(*bytes), Errc::bad_set));
  return place;
}

Result<StandingPass> get_standing(TextRecordReader& in, std::string_view key) {
  StandingPass standing;
  NB_TRY_ASSIGN(standing.pass, get_pass(in, key));
  NB_TRY_ASSIGN(standing.place, get_place(in));
  return standing;
}

}  // namespace

Bytes encode(const ScrubRecord& record) {
  TextRecordWriter out(k_title);
  out.number("version", record.waiting.empty() ? k_first_version : k_version);
  if (record.last) put_pass(out, "last", *record.last);
  if (record.present) put_standing(out, "present", *record.present);
  for (const StandingPass& each : record.waiting) put_standing(out, "waiting", each);
  return out.finish();
}

Result<ScrubRecord> decode_scrub_record(ByteView data) {
  NB_TRY_ASSIGN(TextRecordReader in, TextRecordReader::open(data, k_title));
  NB_TRY_ASSIGN(const std::uint64_t version, in.number("version"));
  if (version > k_version) return in.bad("made by a newer nbackup");
  if (version == 0) return in.bad("bad version");
  ScrubRecord record;
  if (in.next_is("last")) {
    NB_TRY_ASSIGN(record.last, get_pass(in, "last"));
  }
  if (in.next_is("present")) {
    NB_TRY_ASSIGN(record.present, get_standing(in, "present"));
  }
  while (record.waiting.size() < k_most_waiting_passes && in.next_is("waiting")) {
    NB_TRY_ASSIGN(StandingPass each, get_standing(in, "waiting"));
    record.waiting.push_back(std::move(each));
  }
  NB_TRY(in.finish());
  return record;
}

Result<ScrubRecord> read_scrub_record(FileSet& set) {
  const Result<Bytes> data = read_small_file(set.control(), k_scrub_name);
  if (!data && data.error().code != Errc::not_found && data.error().code != Errc::bad_set) {
    return tl::make_unexpected(data.error());
  }
  if (!data) return ScrubRecord();
  return decode_scrub_record(*data).value_or(ScrubRecord());
}

Status write_scrub_record(FileSet& set, ScrubRecord record) {
  Bytes encoded = encode(record);
  while (encoded.size() > k_most_bytes && !record.waiting.empty()) {
    record.waiting.erase(record.waiting.begin());
    encoded = encode(record);
  }
  return replace_small_file(set.control(), k_scrub_name, encoded, Lasting::hint);
}

Result<std::unique_ptr<fs::File>> take_scrub_lock(FileSet& set) {
  NB_TRY_ASSIGN(std::unique_ptr<fs::File> file, set.control().open_file(k_lock_name, fs::OpenMode::read_write));
  NB_TRY_ASSIGN(const bool locked, file->try_lock(fs::LockKind::exclusive, k_scrub_byte));
  if (!locked) return fail(Errc::locked, "another scrub or heal of this set is at work");
  return file;
}

}  // namespace nb::txn
