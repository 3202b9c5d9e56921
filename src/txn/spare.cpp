// SPDX-License-Identifier: Apache-2.0
#include "txn/spare.hpp"

#include "base/text.hpp"
#include "txn/set_files.hpp"
#include "txn/small_file.hpp"
#include "txn/text_record.hpp"

namespace nb::txn {
namespace {

constexpr std::string_view k_secret_title = "nbackup secret";
constexpr std::string_view k_spare_title = "nbackup spare";
constexpr std::uint64_t k_spare_version = 1;

Result<hash::Secret> get_key(TextRecordReader& in) {
  NB_TRY_ASSIGN(const std::string_view hex, in.line("key"));
  const std::optional<Bytes> key = from_hex(hex);
  if (!key) return in.bad("bad key");
  return hash::Secret::from_bytes(*key, Errc::bad_set);
}

}  // namespace

Bytes encode(const hash::Secret& secret) {
  TextRecordWriter out(k_secret_title);
  out.line("key", to_hex(secret.stored()));
  return out.finish();
}

Result<hash::Secret> decode_secret(ByteView data) {
  NB_TRY_ASSIGN(TextRecordReader in, TextRecordReader::open(data, k_secret_title));
  NB_TRY_ASSIGN(const hash::Secret secret, get_key(in));
  NB_TRY(in.finish());
  return secret;
}

Bytes encode(const Spare& spare) {
  TextRecordWriter out(k_spare_title);
  out.number("version", k_spare_version);
  out.line("uuid", id_text(spare.uuid));
  out.line("key", to_hex(spare.secret.stored()));
  return out.finish();
}

Result<Spare> decode_spare(ByteView data) {
  NB_TRY_ASSIGN(TextRecordReader in, TextRecordReader::open(data, k_spare_title));
  NB_TRY_ASSIGN(const std::uint64_t version, in.number("version"));
  if (version != k_spare_version) return in.bad("made by a newer nbackup");
  NB_TRY_ASSIGN(const Uuid uuid, in.id("uuid"));
  NB_TRY_ASSIGN(hash::Secret secret, get_key(in));
  NB_TRY(in.finish());
  return Spare{uuid, std::move(secret)};
}

Status keep_spare(fs::Directory& control, const SetFormat& format, const hash::Secret& secret) {
  if (format.lifetime != Lifetime::permanent) return {};
  const Bytes wanted = encode(Spare{format.uuid, secret});
  const Result<Bytes> there = read_small_file(control, k_spare_name);
  if (there && *there == wanted) return {};
  return replace_small_file(control, k_spare_name, wanted, Lasting::durable);
}

}  // namespace nb::txn
