// SPDX-License-Identifier: Apache-2.0
// Manifest: what a file set knows of the contents in its tree, so that the sink need not read them again: digest and
// stat data of each committed regular file, and the block signatures of large ones. Lies in `.nbackup/manifest.db`. It
// decides nothing about a commit: without it everything is read again, so nothing here fails (store.hpp).
//
// A row is believed only for the state that it was confirmed with: inode, size, mtime and ctime to the nanosecond. What
// a run brings in is *pending* until its commit is durable, and is never found before; what stays pending after a crash
// is dropped at the next begin_run(). Why that is enough after a power cut: docs/decisions.md, "The manifest".
//
// Of directories it keeps hints: the digest of the listing that each was committed with, by which a renamed one is
// recognised, and the names in it that its source does not have. They may be wrong at any time, so they are written
// whenever they are known, without waiting for a commit, and whoever uses them checks the files themselves.
//
// Used by one thread; one process writes at a time (the writer's lock of the set), others may read.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/rel_path.hpp"
#include "cache/batch.hpp"
#include "fs/stat.hpp"
#include "hash/digest.hpp"

namespace nb::cache {

inline constexpr int k_manifest_schema_version = 3;
inline constexpr std::size_t k_max_extras_bytes = std::size_t{64} << 10;
inline constexpr std::size_t k_max_signature_piece_bytes = std::size_t{16} << 20;

using TransactionId = std::array<std::byte, 16>;

// A file as it lies in the stage, or a live one whose metadata are to change; its ctime changes once more with the
// apply.
struct StagedFile {
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  fs::Timestamp mtime;
  hash::Digest digest;
};

class Manifest {
 public:
  // `control_directory` is a path by which the kernel finds `.nbackup` as long as the manifest lives: that of an open
  // descriptor (fs::Directory::kernel_path()). `manifest.db` in it must be no symlink. Never null.
  static std::unique_ptr<Manifest> open(const std::string& control_directory, Warn warn,
                                        FileAccess access = FileAccess::write);
  // One that holds nothing.
  static std::unique_ptr<Manifest> none();
  ~Manifest();  // flushes
  Manifest(const Manifest&) = delete;
  Manifest& operator=(const Manifest&) = delete;

  // --- Writing: begin_run, then stage and stage_piece in any order; after the commit is durable, confirm and remove.
  // Drops what other runs left pending. What this transaction staged before it lost its connection stays, unless it is
  // about a live file: nobody watched that meanwhile.
  void begin_run(const TransactionId& transaction);
  // Another content of `path` begins to be staged. What this transaction staged there before it lost its connection
  // goes, with the pieces of its signature.
  void begin_file(const RelPath& path);
  // The content of `path` is `file` if this transaction commits. Replaces what it staged there.
  void stage(const RelPath& path, const StagedFile& file);
  // A piece of its signature, before or after stage(). Pieces over k_max_signature_piece_bytes are not kept.
  void stage_piece(const RelPath& path, std::uint32_t index, ByteView data);
  // What was staged for `path` holds from now on, in the state `after`, as seen after the apply. Call it only once the
  // new generation is durable, or a power cut could leave a row about a file that was lost. If `after` is not the
  // staged file the row is dropped. Without a staged row nothing happens.
  void confirm(const RelPath& path, const fs::Stat& after);
  // The same for everything pending, in the order of the directories; `look` gives the state of a path, or nothing.
  void confirm_all(const std::function<std::optional<fs::Stat>(const RelPath&)>& look);
  // The confirmed file at `path` has this state now, with the content `digest` that it had. Nothing happens if that is
  // not what its row says, ctime aside.
  void restate(const RelPath& path, const fs::Stat& now, const hash::Digest& digest);
  // What was confirmed at `path` is gone, with everything below it. What is pending there stays: call this before
  // confirm() where something new took the place.
  void remove(const RelPath& path);
  // The pieces that belong to the confirmed row of `from` are those of what is staged for `path` too.
  void stage_signature_of(const RelPath& path, const RelPath& from);
  // Makes everything so far visible to other processes (and, a little later, durable).
  void flush();

  // --- Reading: confirmed rows only.
  // The digest of the regular file `path`, if it is still as it was confirmed. Quick in the order of a walk.
  std::optional<hash::Digest> find(const RelPath& path, const fs::Stat& stat);
  // A piece of the signature that belongs to find(path, ...); ask that first.
  std::optional<Bytes> piece(const RelPath& path, std::uint32_t index);
  // Whether a file other than `path` has this size, and this mtime where it is given: if not, no digest needs to be
  // computed to look for its content. A hint: of very many files of one size only some are looked at.
  bool has_other(const RelPath& path, std::uint64_t size, const std::optional<fs::Timestamp>& mtime);
  // Where such a content was confirmed; at most `most` places. Check each with find() and the live stat before use.
  std::vector<RelPath> find_by_content(const hash::Digest& digest, std::uint64_t size, std::size_t most = 8);

  // --- Hints about directories.
  bool knows_listings();
  void note_listing(const RelPath& directory, const hash::Digest& digest);
  std::vector<RelPath> find_listing(const hash::Digest& digest, std::size_t most = 8);
  // Sorted names; more than k_max_extras_bytes of them are not kept.
  void note_extras(const RelPath& directory, const std::vector<std::string>& names);
  std::vector<std::string> extras(const RelPath& directory);

  // For BareDirectories, whose table lies in the same file. Never null.
  [[nodiscard]] const std::shared_ptr<Store>& store() const { return m_store; }

 private:
  struct Window;
  explicit Manifest(std::shared_ptr<Store> store);
  template <class Work>
  void write(const Work& work);
  void load(const RelPath& directory, std::string_view from);

  std::shared_ptr<Store> m_store;
  Batch m_batch;
  std::unique_ptr<Window> m_window;  // rows around the last find()
};

}  // namespace nb::cache
