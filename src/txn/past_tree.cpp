// SPDX-License-Identifier: Apache-2.0
#include "txn/past_tree.hpp"

#include "txn/history_check.hpp"
#include "txn/live_tree.hpp"
#include "txn/past_directory.hpp"

namespace nb::txn {
namespace {

// Takes the changes of one generation after the other into a view.
class PastBuilder {
 public:
  PastBuilder(const History& history, PastView& view) : m_history(history), m_view(view), m_live(view.set.root()) {}

  Status take(const Generation& generation) {
    return m_history.for_each_change(generation, [this, &generation](const Change& change) -> Status {
      if (const auto* metadata = std::get_if<OldMetadata>(&change)) return take_metadata(*metadata);
      if (const auto* absent = std::get_if<Absent>(&change)) m_view.overlay.set_absent(*absent);
      if (const auto* kept = std::get_if<KeptEntry>(&change)) m_view.overlay.set_kept(*kept, generation.number);
      return {};
    });
  }

 private:
  // What goes for an inode that cannot be found goes at least for the path that names it, and shows there as lost.
  Status take_metadata(const OldMetadata& change) {
    std::optional<fs::Stat> stat;
    if (change.shared) {
      NB_TRY_ASSIGN(stat, find(change.path));
    }
    if (stat) {
      m_view.overlay.set_metadata(inode_id(*stat), change.metadata);
    } else {
      m_view.overlay.set_metadata(change.path, change.metadata);
    }
    return {};
  }

  // The inode at `path` in the state reached so far; nothing if there is none, or this process may not see it.
  Result<std::optional<fs::Stat>> find(const RelPath& path) {
    const PastOverlay::Found found = PastOverlay::find(&m_view.overlay.root(), path);
    if (found.is_absent) return std::optional<fs::Stat>();
    if (found.kept) NB_TRY(open_kept(*found.kept));
    if (found.kept && !m_kept) return std::optional<fs::Stat>();
    Result<std::optional<fs::Stat>> stat = (found.kept ? *m_kept : m_live).find(path);
    if (!stat && info(stat.error().code).cls == ErrorClass::per_file) return std::optional<fs::Stat>();
    return stat;
  }

  // Leaves m_kept empty where the files of the generation are gone.
  Status open_kept(std::uint64_t generation) {
    if (m_kept_generation == generation) return {};
    m_kept.reset();
    m_kept_generation = generation;
    Result<std::unique_ptr<fs::Directory>> files = m_view.open_kept(generation, RelPath());
    if (!files && info(files.error().code).cls == ErrorClass::per_file) return {};
    NB_TRY_ASSIGN(m_kept_files, std::move(files));
    m_kept.emplace(*m_kept_files);
    return {};
  }

  const History& m_history;
  PastView& m_view;
  LiveTree m_live;
  std::optional<std::uint64_t> m_kept_generation;
  std::unique_ptr<fs::Directory> m_kept_files;
  std::optional<LiveTree> m_kept;
};

Status lead_back(const History& history, PastView& view, std::uint64_t number) {
  PastBuilder builder(history, view);
  for (std::uint64_t at = view.set.head().generation; at != number;) {
    const Result<Generation> generation = history.read(at);
    if (!generation) return tl::make_unexpected(no_way_back(generation.error(), at));
    if (!generation->previous || *generation->previous < number) {
      return fail(Errc::bad_set,
                  "history/" + std::to_string(at) + ": does not lead back to generation " + std::to_string(number));
    }
    const Status taken = builder.take(*generation);
    if (!taken) return tl::make_unexpected(no_way_back(in_changes(taken.error(), at), at));
    at = *generation->previous;
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<fs::Directory>> open_past(FileSet& set, std::uint64_t number) {
  NB_TRY_ASSIGN(const History history, History::open(set));
  const bool is_live = number == set.head().generation;
  if (!is_live && !history.has(number)) return fail(Errc::not_found, "generation " + std::to_string(number));
  NB_TRY_ASSIGN(std::unique_ptr<fs::Directory> root, set.root().reopen());
  const auto view = std::make_shared<PastView>(PastView{set, number, {}});
  NB_TRY(lead_back(history, *view, number));
  return std::make_unique<PastDirectory>(PastPlace{view, &view->overlay.root()}, RelPath(), std::move(root));
}

bool same_subtree(const fs::Directory& a, const fs::Directory& b) {
  const auto* left = dynamic_cast<const PastDirectory*>(&a);
  const auto* right = dynamic_cast<const PastDirectory*>(&b);
  return left != nullptr && right != nullptr && left->same_as(*right);
}

}  // namespace nb::txn
