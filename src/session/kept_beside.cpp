// SPDX-License-Identifier: Apache-2.0
#include "session/kept_beside.hpp"

#include "fs/path_root.hpp"
#include "txn/set_files.hpp"

namespace nb::session {

KeptBeside::KeptBeside(txn::FileSet& set, Place place, Use use, std::function<void(Error)> trouble)
    : m_set(set), m_place(std::move(place)), m_trouble(std::move(trouble)) {
  m_marked = is_used_by(m_set);
  const bool there = m_set.control().stat_at(cache::k_kept_name).has_value();
  const bool writes = use == Use::write;
  if (m_marked && !there) tell_missing();
  if (!there && (!m_marked || !writes)) return;
  if (open(writes ? cache::KeptStore::Use::write : cache::KeptStore::Use::read) && writes) m_store->begin_run();
}

KeptBeside::~KeptBeside() = default;

bool KeptBeside::is_used_by(txn::FileSet& set) { return set.control().stat_at(txn::k_beside_name).has_value(); }

void KeptBeside::tell_missing() const {
  const auto control = fs::real_path_of(m_set.control());
  const std::string directory = control ? *control : std::string(k_control_name);
  if (m_trouble) {
    m_trouble({Errc::metadata_lost, 0,
               directory + "/" + cache::k_kept_name +
                   " is missing: owners, modes, links and attributes that the file " +
                   "system there cannot hold are lost; a push brings them again"});
  }
}

// A set that goes with its run has no place to keep anything.
bool KeptBeside::open(cache::KeptStore::Use use) {
  const auto path = m_set.control().kernel_path();
  if (!path || m_set.format().lifetime != txn::Lifetime::permanent) return false;
  m_store = cache::KeptStore::open(*path, m_set.head().generation, use, [this](const std::string& text) {
    if (m_trouble) m_trouble({Errc::metadata_lost, 0, text});
  });
  return true;
}

RelPath KeptBeside::in_set(const RelPath& path) const {
  if (m_place.above.is_root()) return m_place.base.join(path);
  if (!path.is_within(m_place.above) || path == m_place.above) return {};
  return RelPath::parse(path.str().substr(m_place.above.str().size() + 1)).value_or(RelPath());
}

fs::Xattrs KeptBeside::find(const RelPath& path, fs::FileType type) {
  return m_store ? m_store->find(in_set(path), type) : fs::Xattrs{};
}

bool KeptBeside::put(const RelPath& path, fs::FileType type, const fs::Xattrs& attributes) {
  if (!m_store && (attributes.empty() || !open(cache::KeptStore::Use::write))) return attributes.empty();
  return m_store->put(in_set(path), type, attributes);
}

void KeptBeside::copy(const RelPath& from, const RelPath& to) {
  if (m_store) m_store->copy(in_set(from), in_set(to));
}

void KeptBeside::remove(const RelPath& path) {
  if (m_store) m_store->remove(in_set(path));
}

void KeptBeside::remove_below(const RelPath& path) {
  if (m_store) m_store->remove_below(in_set(path));
}

// The mark comes after what it stands for.
Status KeptBeside::flush() {
  if (!m_store) return {};
  NB_TRY(m_store->flush());
  if (m_marked) return {};
  NB_TRY(m_set.control().create_file(txn::k_beside_name));
  m_marked = true;
  return m_set.control().sync();
}

void KeptBeside::confirm() {
  if (m_store) m_store->confirm();
}

}  // namespace nb::session
