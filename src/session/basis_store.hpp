// SPDX-License-Identifier: Apache-2.0
// BasisStore: what the sink knows of the files that deltas are made against. Digests and block signatures come from the
// set's manifest where it has them for exactly this state of the file, else the file is read. It also notes what a run
// brings in, for the deltas of the next one, and answers what else the manifest knows: which files have a content, and
// the hints about directories. Used by Sink and Mover from one thread.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "cache/manifest.hpp"
#include "delta/applier.hpp"
#include "session/known_damage.hpp"
#include "session/reporter.hpp"
#include "txn/transaction.hpp"

namespace nb::session {

// A file that a new content is likely to resemble.
struct BasisFile {
  RelPath path;                        // below the set's root
  std::optional<std::uint64_t> slot;   // it lies in the stage, where an interrupted run began it
  fs::Stat stat;                       // when it was offered
  std::optional<hash::Digest> digest;  // known without reading
};

enum class Belief : std::uint8_t {
  manifest,  // as long as the stat data are the same
  nothing,   // --paranoid: every basis is read
};

class BasisStore {
 public:
  // `root` is that of the tree written to; `set` is null where nothing is remembered after the run. All outlive it.
  BasisStore(fs::Directory& root, txn::FileSet* set, txn::Transaction& transaction, const hash::Secret& secret,
             Belief belief, Reporter& reporter);
  ~BasisStore();

  BasisFile offer(const RelPath& path, const fs::Stat& stat);
  // What an interrupted run has of that content under new/<slot>; nothing if it is not worth using.
  std::optional<BasisFile> offer_begun(const RelPath& path, std::uint64_t slot);
  // The encoded piece of its signature; empty if it cannot be had (any more). `index` is below pieces_in(its size).
  Bytes piece(const BasisFile& basis, std::uint64_t index);
  // The file itself; null if it is not what was offered any more.
  std::unique_ptr<fs::File> open(const BasisFile& basis);
  [[nodiscard]] static bool is_unchanged(const BasisFile& basis, const fs::File& file);
  // A block of it as the manifest knows it, or null; the pointer is good until the next call.
  const delta::BlockSignature* trusted(const BasisFile& basis, std::uint64_t block);

  // Notes the content that `path` has after the commit, staged or as it is, and the pieces of its signature as they are
  // finished.
  [[nodiscard]] bool remembers() const { return m_set != nullptr; }
  // Before the pieces: none of another content that this run had begun for the path may stay with them.
  void begin_file(const RelPath& path);
  void stage_piece(const RelPath& path, const delta::SignaturePiece& piece, std::uint64_t file_bytes);
  void stage(const RelPath& path, const txn::Ident& ident, std::uint64_t size, const hash::Digest& digest);
  // What is remembered of that file is wrong, whatever its stat data say; also for runs to come.
  void distrust(const RelPath& path);
  // The same of all these files, whatever their names; for this run. `damage` outlives the store.
  void distrust_all(const KnownDamage& damage) { m_damage = &damage; }
  // After the new generation is durable: what was staged holds, what was removed is forgotten.
  void confirm();

  // --- Where contents are. The digest of a live file, where it is known and may be believed.
  std::optional<hash::Digest> digest_of(const RelPath& path, const fs::Stat& stat);
  // As the manifest's functions of these names; nothing where there is no manifest.
  bool has_other(const RelPath& path, std::uint64_t size, const std::optional<fs::Timestamp>& mtime);
  std::vector<RelPath> find_by_content(const hash::Digest& digest, std::uint64_t size);
  // `path`, which was begun, gets the content of `from`, whose digest_of() is known: the signature is known too.
  void inherit(const RelPath& path, const RelPath& from);

  // --- Hints about directories: of no weight in themselves, so they are noted at once and not with the commit.
  // Whether any were known when the run began.
  bool knows_listings();
  void note_listing(const RelPath& directory, const hash::Digest& digest);
  std::vector<RelPath> find_listing(const hash::Digest& digest);
  void note_extras(const RelPath& directory, const std::vector<std::string>& names);
  std::vector<std::string> extras(const RelPath& directory);

  // The manifest's, for what else lies in it; made where there is none.
  std::shared_ptr<cache::Store> store() { return opened().store(); }

  [[nodiscard]] const delta::BlockSigner& signer() const { return m_signer; }

 private:
  cache::Manifest& opened();
  // For what is staged.
  cache::Manifest& manifest();
  // Null where there is none yet: nothing is asked of one that would be empty.
  cache::Manifest* known();
  void forget_removed();
  Bytes read_piece(const BasisFile& basis, std::uint64_t index);
  std::optional<delta::SignaturePiece> known_piece(const BasisFile& basis, std::uint64_t index);
  bool has_signature(const BasisFile& basis);

  fs::Directory& m_root;
  txn::FileSet* m_set;
  txn::Transaction& m_transaction;
  Belief m_belief;
  const KnownDamage* m_damage = nullptr;
  Reporter& m_reporter;
  delta::BlockSigner m_signer;
  std::unique_ptr<cache::Manifest> m_manifest;  // opened when it is first needed
  bool m_begun = false;                         // what it stages is this run's
  bool m_staged_any = false;
  std::optional<bool> m_exists;  // on disk, while it is not open
  std::optional<bool> m_knows_listings;
  RelPath m_piece_path;  // whose piece is m_piece
  std::optional<delta::SignaturePiece> m_piece;
  std::optional<std::pair<RelPath, hash::Digest>> m_checked;  // whose signature was looked at last,
  bool m_is_sound = false;                                    // and whether it is that of this content
};

}  // namespace nb::session
