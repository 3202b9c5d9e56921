// SPDX-License-Identifier: Apache-2.0
#include "session/basis_store.hpp"

namespace nb::session {

BasisStore::BasisStore(fs::Directory& root, txn::FileSet* set, txn::Transaction& transaction,
                       const hash::Secret& secret, Belief belief, Reporter& reporter)
    : m_root(root), m_set(set), m_transaction(transaction), m_belief(belief), m_reporter(reporter), m_signer(secret) {}

BasisStore::~BasisStore() = default;

cache::Manifest& BasisStore::opened() {
  if (m_manifest) return *m_manifest;
  const auto path = m_set != nullptr ? m_set->control().kernel_path() : std::nullopt;
  m_manifest = path ? cache::Manifest::open(*path, [&to = m_reporter](const std::string& text) { to.notice(text); })
                    : cache::Manifest::none();
  return *m_manifest;
}

cache::Manifest& BasisStore::manifest() {
  if (!m_begun) opened().begin_run(m_transaction.id());
  m_begun = true;
  return *m_manifest;
}

cache::Manifest* BasisStore::known() {
  if (m_manifest) return m_manifest.get();
  if (m_set == nullptr) return nullptr;
  if (!m_exists) m_exists = m_set->control().stat_at("manifest.db").has_value();
  return *m_exists ? &opened() : nullptr;
}

BasisFile BasisStore::offer(const RelPath& path, const fs::Stat& stat) {
  BasisFile basis{path, std::nullopt, stat, std::nullopt};
  basis.digest = digest_of(path, stat);
  return basis;
}

std::optional<BasisFile> BasisStore::offer_begun(const RelPath& path, std::uint64_t slot) {
  const auto stat = m_transaction.slots().stat_at(txn::Transaction::slot_name(slot));
  if (!stat || stat->type != fs::FileType::regular || stat->size <= hash::k_block_bytes) return std::nullopt;
  return BasisFile{path, slot, *stat, std::nullopt};
}

Bytes BasisStore::piece(const BasisFile& basis, std::uint64_t index) {
  if (has_signature(basis)) {
    auto known = manifest().piece(basis.path, static_cast<std::uint32_t>(index));
    if (known) return std::move(*known);
  }
  return read_piece(basis, index);
}

std::optional<delta::SignaturePiece> BasisStore::known_piece(const BasisFile& basis, std::uint64_t index) {
  const auto blob = manifest().piece(basis.path, static_cast<std::uint32_t>(index));
  if (!blob) return std::nullopt;
  auto decoded = delta::SignaturePiece::decode(*blob, index, basis.stat.size, m_signer, Errc::io);
  return decoded ? std::optional(std::move(*decoded)) : std::nullopt;
}

// Both sides believe what it says of a block that neither reads: so it must be the signature of just this content.
bool BasisStore::has_signature(const BasisFile& basis) {
  if (!basis.digest) return false;
  const std::pair checked(basis.path, *basis.digest);
  if (m_checked != checked) {
    const auto piece = [&](std::uint64_t index) { return known_piece(basis, index); };
    m_is_sound = delta::digest_by_pieces(basis.stat.size, m_signer.secret(), piece) == basis.digest;
    m_checked = checked;
  }
  return m_is_sound;
}

Bytes BasisStore::read_piece(const BasisFile& basis, std::uint64_t index) {
  const auto file = open(basis);
  if (!file) return {};
  const auto piece = delta::sign_piece(*file, basis.stat.size, index, m_signer);
  if (!piece) return {};  // it has changed meanwhile, or cannot be read: without a signature all of it is sent
  return piece->encode(basis.stat.size);
}

std::unique_ptr<fs::File> BasisStore::open(const BasisFile& basis) {
  Result<std::unique_ptr<fs::File>> file = fail(Errc::not_found, "");
  if (basis.slot) {
    file = m_transaction.slots().open_file(txn::Transaction::slot_name(*basis.slot), fs::OpenMode::read);
  } else if (const auto directory = m_root.open_directory_path(basis.path.parent())) {
    file = (*directory)->open_file(basis.path.name(), fs::OpenMode::read);
  }
  if (!file || !is_unchanged(basis, **file)) return nullptr;
  return std::move(*file);
}

bool BasisStore::is_unchanged(const BasisFile& basis, const fs::File& file) {
  const auto now = file.stat();
  if (!now) return false;
  // Nobody else writes to a slot; but the other names that it had in an adopted tree go, which moves its ctime.
  const bool is_ours = basis.slot.has_value();
  return is_ours ? txn::ident_of(*now) == txn::ident_of(basis.stat) : fs::is_same_state(*now, basis.stat);
}

const delta::BlockSignature* BasisStore::trusted(const BasisFile& basis, std::uint64_t block) {
  if (!has_signature(basis)) return nullptr;
  const std::uint64_t index = block / delta::k_piece_blocks;
  if (!m_piece || m_piece_path != basis.path || m_piece->index() != index) {
    m_piece = known_piece(basis, index);
    m_piece_path = basis.path;
    if (!m_piece) return nullptr;
  }
  return &m_piece->block(block - m_piece->first_block());
}

void BasisStore::begin_file(const RelPath& path) {
  if (m_set != nullptr) manifest().begin_file(path);
}

void BasisStore::stage_piece(const RelPath& path, const delta::SignaturePiece& piece, std::uint64_t file_bytes) {
  if (m_set == nullptr) return;
  manifest().stage_piece(path, static_cast<std::uint32_t>(piece.index()), piece.encode(file_bytes));
}

void BasisStore::stage(const RelPath& path, const txn::Ident& ident, std::uint64_t size, const hash::Digest& digest) {
  if (m_set == nullptr) return;
  m_staged_any = true;
  manifest().stage(path, {ident.inode, size, ident.mtime, digest});
}

std::optional<hash::Digest> BasisStore::digest_of(const RelPath& path, const fs::Stat& stat) {
  cache::Manifest* memory = m_belief == Belief::manifest ? known() : nullptr;
  if (m_damage != nullptr && m_damage->has(stat)) return std::nullopt;
  return memory != nullptr ? memory->find(path, stat) : std::nullopt;
}

bool BasisStore::has_other(const RelPath& path, std::uint64_t size, const std::optional<fs::Timestamp>& mtime) {
  cache::Manifest* memory = known();
  return memory != nullptr && memory->has_other(path, size, mtime);
}

std::vector<RelPath> BasisStore::find_by_content(const hash::Digest& digest, std::uint64_t size) {
  cache::Manifest* memory = known();
  return memory != nullptr ? memory->find_by_content(digest, size) : std::vector<RelPath>{};
}

void BasisStore::inherit(const RelPath& path, const RelPath& from) {
  if (known() != nullptr) manifest().stage_signature_of(path, from);
}

bool BasisStore::knows_listings() {
  if (!m_knows_listings) m_knows_listings = known() != nullptr && known()->knows_listings();
  return *m_knows_listings;
}

void BasisStore::note_listing(const RelPath& directory, const hash::Digest& digest) {
  static_cast<void>(knows_listings());
  if (m_set != nullptr) opened().note_listing(directory, digest);
}

std::vector<RelPath> BasisStore::find_listing(const hash::Digest& digest) {
  cache::Manifest* memory = known();
  return memory != nullptr ? memory->find_listing(digest) : std::vector<RelPath>{};
}

void BasisStore::note_extras(const RelPath& directory, const std::vector<std::string>& names) {
  if (m_set == nullptr || (names.empty() && known() == nullptr)) return;
  opened().note_extras(directory, names);
}

std::vector<std::string> BasisStore::extras(const RelPath& directory) {
  cache::Manifest* memory = known();
  return memory != nullptr ? memory->extras(directory) : std::vector<std::string>{};
}

void BasisStore::distrust(const RelPath& path) {
  cache::Manifest* memory = known();
  if (memory == nullptr) return;
  memory->remove(path);
  memory->flush();
}

// Only now: until the commit what goes may be the content of something new. Small files have no rows.
void BasisStore::forget_removed() {
  cache::Manifest* memory = known();
  if (memory == nullptr) return;
  // An error leaves rows about files that are gone; they are found out when they are used.
  static_cast<void>(m_transaction.for_each_move([memory](const txn::JournalOp& op) -> Status {
    const auto* removal = std::get_if<txn::Remove>(&op);
    const bool has_rows = removal != nullptr && (removal->removed.type == fs::FileType::directory ||
                                                 removal->removed.size > hash::k_block_bytes);
    if (has_rows) memory->remove(removal->path);
    return {};
  }));
}

void BasisStore::confirm() {
  forget_removed();
  if (!m_staged_any) return;
  std::unique_ptr<fs::Directory> directory;
  RelPath directory_path;
  manifest().confirm_all([&](const RelPath& path) -> std::optional<fs::Stat> {
    if (!directory || directory_path != path.parent()) {
      auto opened = m_root.open_directory_path(path.parent());
      if (!opened) return std::nullopt;
      directory = std::move(*opened);
      directory_path = path.parent();
    }
    const auto stat = directory->stat_at(path.name());
    return stat ? std::optional(*stat) : std::nullopt;
  });
}

}  // namespace nb::session
