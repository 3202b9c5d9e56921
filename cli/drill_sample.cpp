// SPDX-License-Identifier: Apache-2.0
#include "cli/drill_sample.hpp"

#include <algorithm>
#include <tuple>

#include "wire/limits.hpp"

namespace nb::cli {
namespace {

constexpr std::string_view k_magic = "nbackup sample";
constexpr std::uint64_t k_version = 1;
constexpr std::uint64_t k_max_nsec = 999'999'999;

void put(ByteWriter& out, const SampledFile& file) {
  out.varint(file.generation);
  out.string(file.path.str());
  out.varint(file.size);
  out.svarint(file.mtime.sec);
  out.varint(file.mtime.nsec);
  out.u8(file.digest ? 1 : 0);
  if (file.digest) file.digest->write(out);
}

Result<SampledFile> get_file(ByteReader& in) {
  SampledFile file;
  NB_TRY_ASSIGN(file.generation, in.varint(wire::k_max_moment));
  NB_TRY_ASSIGN(const std::string path, in.string(k_max_path_bytes));
  NB_TRY_ASSIGN(file.path, RelPath::parse(path, Errc::protocol));
  if (file.path.is_root() || has_reserved_name(path)) return in.bad("path of no file");
  NB_TRY_ASSIGN(file.size, in.varint(wire::k_max_file_bytes));
  NB_TRY_ASSIGN(file.mtime.sec, in.svarint());
  NB_TRY_ASSIGN(const std::uint64_t nsec, in.varint(k_max_nsec));
  file.mtime.nsec = static_cast<std::uint32_t>(nsec);
  NB_TRY_ASSIGN(const std::uint8_t known, in.u8());
  if (known > 1) return in.bad("bad flag");
  if (known == 1) {
    NB_TRY_ASSIGN(file.digest, hash::Digest::read(in));
  }
  return file;
}

Status check_header(ByteReader& in) {
  NB_TRY_ASSIGN(const std::string magic, in.string(k_magic.size()));
  NB_TRY_ASSIGN(const std::uint64_t version, in.varint());
  if (magic != k_magic || version != k_version) return in.bad("of another kind");
  return {};
}

}  // namespace

bool comes_before(const SampledFile& a, const SampledFile& b) {
  return std::tie(a.generation, a.path) < std::tie(b.generation, b.path);
}

Bytes encode(const DrillSample& sample) {
  Bytes bytes;
  ByteWriter out(bytes);
  out.string(k_magic);
  out.varint(k_version);
  out.blob(sample.secret);
  out.varint(sample.files);
  out.varint(sample.left_out);
  out.varint(sample.left_out_bytes);
  out.varint(sample.chosen.size());
  for (const SampledFile& file : sample.chosen) put(out, file);
  return bytes;
}

Result<DrillSample> decode_drill_sample(ByteView data, const SampleBounds& asked) {
  ByteReader in(data, Errc::protocol, "sample");
  NB_TRY(check_header(in));
  DrillSample sample;
  NB_TRY_ASSIGN(const ByteView secret, in.blob(hash::k_secret_bytes));
  if (secret.size() != hash::k_secret_bytes) return in.bad("bad secret");
  sample.secret.assign(secret.begin(), secret.end());
  NB_TRY_ASSIGN(sample.files, in.varint());
  NB_TRY_ASSIGN(sample.left_out, in.varint());
  NB_TRY_ASSIGN(sample.left_out_bytes, in.varint());
  NB_TRY_ASSIGN(const std::uint64_t count, in.varint(asked.files));
  std::uint64_t room = asked.bytes;
  for (std::uint64_t i = 0; i < count; ++i) {
    NB_TRY_ASSIGN(SampledFile file, get_file(in));
    if (file.size > room) return in.bad("more bytes than were asked for");
    room -= file.size;
    if (!sample.chosen.empty() && !comes_before(sample.chosen.back(), file)) return in.bad("out of order");
    sample.chosen.push_back(std::move(file));
  }
  if (!in.at_end()) return in.bad("more than it should have");
  return sample;
}

}  // namespace nb::cli
