// SPDX-License-Identifier: Apache-2.0
#include "session/taken_file.hpp"

#include "txn/records.hpp"

namespace nb::session {
namespace {

constexpr std::uint8_t k_in_tree = 1;
constexpr std::uint8_t k_in_live = 2;
constexpr std::uint8_t k_shared = 4;
constexpr std::uint8_t k_replaces = 8;
constexpr std::uint8_t k_alike = 16;

Result<RelPath> get_path(ByteReader& in) {
  NB_TRY_ASSIGN(const std::string text, in.string(k_max_path_bytes));
  return RelPath::parse(text, Errc::bad_set);
}

void put_spot(ByteWriter& out, const Spot& spot) {
  out.varint(spot.slot);
  if (!spot.in_tree) return;
  out.string(spot.below.str());
  out.string(spot.name);
}

Result<Spot> get_spot(ByteReader& in, std::uint8_t bits) {
  Spot spot;
  NB_TRY_ASSIGN(spot.slot, in.varint());
  spot.in_tree = (bits & k_in_tree) != 0;
  if (!spot.in_tree) return spot;
  NB_TRY_ASSIGN(spot.below, get_path(in));
  NB_TRY_ASSIGN(spot.name, in.string(k_max_path_bytes));
  return spot;
}

std::uint8_t bits_of(const TakenFile& taken) {
  const ExpectedFile& file = taken.file;
  return static_cast<std::uint8_t>((file.spot.in_tree ? k_in_tree : 0) | (file.in_live ? k_in_live : 0) |
                                   (file.shared ? k_shared : 0) | (file.replaced ? k_replaces : 0) |
                                   (taken.is_alike ? k_alike : 0));
}

Status get_state(ByteReader& in, fs::Stat& state) {
  state.type = fs::FileType::regular;
  NB_TRY_ASSIGN(state.inode, in.varint());
  NB_TRY_ASSIGN(state.links, in.varint());
  NB_TRY_ASSIGN(state.mtime, txn::get_time(in));
  NB_TRY_ASSIGN(state.ctime, txn::get_time(in));
  return {};
}

Status get_file(ByteReader& in, std::uint8_t bits, ExpectedFile& file) {
  file.in_live = (bits & k_in_live) != 0;
  file.shared = (bits & k_shared) != 0;
  NB_TRY_ASSIGN(file.path, get_path(in));
  NB_TRY_ASSIGN(file.spot, get_spot(in, bits));
  if ((bits & k_replaces) != 0) {
    NB_TRY_ASSIGN(file.replaced, txn::get_ident(in));
  }
  NB_TRY_ASSIGN(file.meta, wire::decode_metadata(in));
  NB_TRY_ASSIGN(file.size, in.varint());
  return {};
}

}  // namespace

Bytes encode(const TakenFile& taken) {
  Bytes bytes;
  ByteWriter out(bytes);
  out.u8(bits_of(taken));
  out.string(taken.file.path.str());
  put_spot(out, taken.file.spot);
  if (taken.file.replaced) txn::put(out, *taken.file.replaced);
  wire::encode_metadata(out, taken.file.meta);
  out.varint(taken.file.size);
  taken.digest.write(out);
  out.string(taken.from.str());
  out.varint(taken.state.inode);
  out.varint(taken.state.links);
  txn::put(out, taken.state.mtime);
  txn::put(out, taken.state.ctime);
  return bytes;
}

Result<TakenFile> decode_taken_file(ByteView record) {
  ByteReader in(record, Errc::bad_set, "taken file");
  TakenFile taken;
  NB_TRY_ASSIGN(const std::uint8_t bits, in.u8());
  taken.is_alike = (bits & k_alike) != 0;
  NB_TRY(get_file(in, bits, taken.file));
  NB_TRY_ASSIGN(taken.digest, hash::Digest::read(in));
  NB_TRY_ASSIGN(taken.from, get_path(in));
  NB_TRY(get_state(in, taken.state));
  taken.state.size = taken.file.size;
  return taken;
}

}  // namespace nb::session
