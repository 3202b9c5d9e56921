// SPDX-License-Identifier: Apache-2.0
#include "session/departures.hpp"

#include <algorithm>

namespace nb::session {

Result<Departures> Departures::of(txn::Transaction& transaction, const hash::Secret& secret) {
  Departures all(secret);
  const auto note = [&all](const RelPath& path, std::uint64_t slot) {
    all.m_gone.emplace_back(all.key_of(path), slot);
  };
  NB_TRY(transaction.for_each_move([&note](const txn::JournalOp& op) -> Status {
    if (const auto* removal = std::get_if<txn::Remove>(&op)) note(removal->path, removal->slot);
    const auto* place = std::get_if<txn::Place>(&op);
    if (place != nullptr && place->replaced) note(place->path, place->slot);
    return {};
  }));
  std::sort(all.m_gone.begin(), all.m_gone.end());
  return all;
}

hash::Digest Departures::key_of(const RelPath& path) const { return hash::digest_of(as_bytes(path.str()), *m_secret); }

void Departures::add(const RelPath& path) { m_added.insert(key_of(path)); }

bool Departures::has(const RelPath& path) const { return find(path) || m_added.contains(key_of(path)); }

std::optional<std::uint64_t> Departures::slot_of(const RelPath& path) const {
  const hash::Digest key = key_of(path);
  const auto it = std::lower_bound(m_gone.begin(), m_gone.end(), std::pair(key, std::uint64_t{0}));
  if (it == m_gone.end() || it->first != key) return std::nullopt;
  return it->second;
}

std::optional<Departures::Trash> Departures::find(const RelPath& path) const {
  for (RelPath each = path; !each.is_root(); each = each.parent()) {
    const auto slot = slot_of(each);
    if (!slot) continue;
    if (each == path) return Trash{*slot, {}};
    const auto below = RelPath::parse(path.str().substr(each.str().size() + 1));
    return below ? std::optional(Trash{*slot, *below}) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace nb::session
