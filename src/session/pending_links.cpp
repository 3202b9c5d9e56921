// SPDX-License-Identifier: Apache-2.0
#include "session/pending_links.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace nb::session {
namespace {

constexpr std::size_t k_piece_bytes = std::size_t{64} << 10;

void put_name(ByteWriter& out, std::string& before, const std::string& name) {
  const auto [end, in_name] = std::mismatch(before.begin(), before.end(), name.begin(), name.end());
  out.varint(static_cast<std::uint64_t>(end - before.begin()));
  out.string({in_name, name.end()});
  before = name;
}

Result<RelPath> get_name(ByteReader& in, std::string& before) {
  NB_TRY_ASSIGN(const std::uint64_t common, in.varint(before.size()));
  NB_TRY_ASSIGN(const std::string rest, in.string(k_max_path_bytes));
  before.resize(common);
  before += rest;
  return RelPath::parse(before, Errc::internal);
}

}  // namespace

void PendingLinks::add(const PendingLink& link) {
  NB_ASSERT(!link.spot.in_tree || link.spot.name == link.path.name());
  if (m_pieces.empty() || m_pieces.back().size() >= k_piece_bytes) m_pieces.emplace_back();
  ByteWriter out(m_pieces.back());
  put_name(out, m_before.path, link.path.str());
  put_name(out, m_before.leader, link.leader.str());
  out.u8(static_cast<std::uint8_t>(link.type));
  const bool has_content = link.content.has_value();
  out.u8(static_cast<std::uint8_t>((link.spot.in_tree ? 1 : 0) | (link.in_live ? 2 : 0) | (link.replaced ? 4 : 0) |
                                   (has_content ? 8 : 0)));
  out.varint(link.spot.slot);
  if (link.spot.in_tree) put_name(out, m_before.below, link.spot.below.str());
  if (link.replaced) txn::put(out, *link.replaced);
  out.varint(link.size);
  txn::put(out, link.mtime);
  if (has_content) link.content->write(out);
}

Result<PendingLink> PendingLinks::read(ByteReader& in, Before& before) {
  PendingLink link;
  NB_TRY_ASSIGN(link.path, get_name(in, before.path));
  NB_TRY_ASSIGN(link.leader, get_name(in, before.leader));
  NB_TRY_ASSIGN(const std::uint8_t type, in.u8());
  link.type = static_cast<fs::FileType>(type);
  NB_TRY_ASSIGN(const std::uint8_t bits, in.u8());
  NB_TRY_ASSIGN(link.spot.slot, in.varint());
  link.spot.in_tree = (bits & 1) != 0;
  link.in_live = (bits & 2) != 0;
  if (link.spot.in_tree) {
    NB_TRY_ASSIGN(link.spot.below, get_name(in, before.below));
    link.spot.name = link.path.name();
  }
  if ((bits & 4) != 0) {
    NB_TRY_ASSIGN(link.replaced, txn::get_ident(in));
  }
  NB_TRY_ASSIGN(link.size, in.varint());
  NB_TRY_ASSIGN(link.mtime, txn::get_time(in));
  if ((bits & 8) != 0) {
    NB_TRY_ASSIGN(link.content, hash::Digest::read(in));
  }
  return link;
}

Status PendingLinks::for_each(const std::function<Status(const PendingLink&)>& visit) const {
  Before before;
  for (const Bytes& piece : m_pieces) {
    ByteReader in(piece, Errc::internal, "pending hard link");
    while (!in.at_end()) {
      NB_TRY_ASSIGN(const PendingLink link, read(in, before));
      NB_TRY(visit(link));
    }
  }
  return {};
}

void LeaderSpots::put(const RelPath& path, const std::optional<Spot>& spot) {
  At& at = m_at[path];
  at = {};
  if (!spot) return;
  at.slot = spot->slot;
  at.is_complete = true;
  at.in_tree = spot->in_tree;
  if (!spot->in_tree) return;
  const RelPath in_tree = spot->below.child(spot->name);
  NB_ASSERT(path.str().ends_with(in_tree.str()));
  at.in_tree_from = static_cast<std::uint16_t>(path.str().size() - in_tree.str().size());
}

std::optional<Spot> LeaderSpots::find(const RelPath& path) const {
  const auto found = m_at.find(path);
  if (found == m_at.end() || !found->second.is_complete) return std::nullopt;
  const At& at = found->second;
  if (!at.in_tree) return Spot{at.slot, false, {}, {}};
  const RelPath in_tree = RelPath::parse(path.str().substr(at.in_tree_from)).value();
  return Spot{at.slot, true, in_tree.parent(), std::string(in_tree.name())};
}

}  // namespace nb::session
