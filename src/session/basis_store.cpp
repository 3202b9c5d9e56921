// SPDX-License-Identifier: Apache-2.0
#include "session/basis_store.hpp"

namespace nb::session {

BasisStore::BasisStore(fs::Directory& root, txn::FileSet* set, txn::Transaction& transaction,
                       const hash::Secret& secret, Belief belief, Reporter& reporter)
    : m_root(root),
      m_set(set),
      m_transaction(transaction),
      m_belief(belief),
      m_reporter(reporter),
      m_signer(secret) {}

BasisStore::~BasisStore() = default;

cache::Manifest& BasisStore::manifest() {
  if (m_manifest) return *m_manifest;
  const auto path = m_set != nullptr ? m_set->control().kernel_path() : std::nullopt;
  m_manifest = path ? cache::Manifest::open(*path, [this](const std::string& text) { m_reporter.notice(text); })
                    : cache::Manifest::none();
  m_manifest->begin_run(m_transaction.id());
  return *m_manifest;
}

BasisFile BasisStore::offer(const RelPath& path, const fs::Stat& stat) {
  BasisFile basis{path, std::nullopt, stat, std::nullopt};
  if (m_set != nullptr && m_belief == Belief::manifest) basis.digest = manifest().find(path, stat);
  return basis;
}

std::optional<BasisFile> BasisStore::offer_begun(const RelPath& path, std::uint64_t slot) {
  const auto stat = m_transaction.slots().stat_at(txn::Transaction::slot_name(slot));
  if (!stat || stat->type != fs::FileType::regular || stat->size <= hash::k_block_bytes) return std::nullopt;
  return BasisFile{path, slot, *stat, std::nullopt};
}

Bytes BasisStore::piece(const BasisFile& basis, std::uint64_t index) {
  if (basis.digest) {
    auto known = manifest().piece(basis.path, static_cast<std::uint32_t>(index));
    if (known) return std::move(*known);
  }
  return read_piece(basis, index);
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
  return now && fs::is_same_state(*now, basis.stat);
}

const delta::BlockSignature* BasisStore::trusted(const BasisFile& basis, std::uint64_t block) {
  if (!basis.digest) return nullptr;
  const std::uint64_t index = block / delta::k_piece_blocks;
  if (!m_piece || m_piece_path != basis.path || m_piece->index() != index) {
    m_piece.reset();
    m_piece_path = basis.path;
    const auto blob = manifest().piece(basis.path, static_cast<std::uint32_t>(index));
    if (!blob) return nullptr;
    auto decoded = delta::SignaturePiece::decode(*blob, index, basis.stat.size, m_signer, Errc::io);
    if (!decoded) return nullptr;
    m_piece = std::move(*decoded);
  }
  return &m_piece->block(block - m_piece->first_block());
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

void BasisStore::forget(const RelPath& path) {
  if (m_set != nullptr) manifest().remove(path);
}

void BasisStore::confirm() {
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
