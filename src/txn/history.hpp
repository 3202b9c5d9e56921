// SPDX-License-Identifier: Apache-2.0
// History: what a file set keeps of its earlier generations under .nbackup/history/. The live tree is the newest one;
// each directory history/<generation> has what leads back to the one before:
//
//   generation   its account (txn/generation.hpp)
//   changes      how the previous kept generation differs from it; none in the oldest
//   files/       what it replaced and removed, under its own path: plain files that may be copied out by hand
//
// Reading needs a reader's lock or the writer's, and no interrupted commit (FileSet::needs_recovery).
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "txn/file_set.hpp"
#include "txn/generation.hpp"

namespace nb::txn {

inline constexpr std::string_view k_history_name = "history";
inline constexpr std::string_view k_generation_name = "generation";
inline constexpr std::string_view k_changes_name = "changes";
inline constexpr std::string_view k_files_name = "files";

// The numbers of the generations that have a directory in `history`, rising, whatever head says. Anything else there
// was not finished, or is somebody else's.
Result<std::vector<std::uint64_t>> generations_in(const fs::Directory& history);

// files/ of a generation, below `history`.
RelPath kept_files(std::uint64_t generation);
// Errc::not_found if it keeps none.
Result<std::unique_ptr<fs::Directory>> open_kept_files(FileSet& set, std::uint64_t generation);

// The account of generation `number` in `history`. Errc::bad_set if it is damaged.
[[nodiscard]] Result<Generation> read_account(const fs::Directory& history, std::uint64_t number);
// The changes that lead from `generation` back to its `previous`, which it has.
Status for_each_change(const fs::Directory& history, const Generation& generation,
                       const std::function<Status(const Change&)>& visit);

class History {
 public:
  // An empty one where nothing is kept yet. `set` outlives it.
  static Result<History> open(FileSet& set);

  // Kept generations, oldest first. The last is the live tree's, unless nothing is kept or it has gone.
  [[nodiscard]] const std::vector<std::uint64_t>& numbers() const { return m_numbers; }
  [[nodiscard]] bool has(std::uint64_t number) const;
  // Whether the live generation, which leads back to older ones, has gone from here: a loss, or the work of a person.
  [[nodiscard]] bool lacks_live() const { return m_lacks_live; }
  // Errc::not_found if it is not kept, Errc::bad_set if its account is damaged.
  [[nodiscard]] Result<Generation> read(std::uint64_t number) const;
  // The newest kept generation that was committed at `time_ns` or before; Errc::not_found if all are younger. One whose
  // time is not known, such as the tree before the first push, is asked for by its number alone: who wants yesterday's
  // files must not be given an empty tree.
  [[nodiscard]] Result<std::uint64_t> newest_at(std::int64_t time_ns) const;
  // The changes that lead from `generation` back to its `previous`, which it has.
  Status for_each_change(const Generation& generation, const std::function<Status(const Change&)>& visit) const;

 private:
  History() = default;
  std::unique_ptr<fs::Directory> m_directory;  // null where there is none
  std::vector<std::uint64_t> m_numbers;
  bool m_lacks_live = false;
};

}  // namespace nb::txn
