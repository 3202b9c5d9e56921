// SPDX-License-Identifier: Apache-2.0
#include "txn/thin_plan.hpp"

#include "txn/history.hpp"
#include "txn/small_file.hpp"
#include "txn/thin_lists.hpp"

namespace nb::txn {
namespace {

std::string kept_name(std::uint64_t generation, const RelPath& path) {
  return "history/" + std::to_string(generation) + "/files/" + path.str();
}

// The moves behind a merged list. Trees that a generation keeps whole are changed where they lie, so that what is left
// of the lists says the same of them as all of the lists did.
class MovePlanner {
 public:
  MovePlanner(KeptTrees& trees, MergedLists& lists, std::uint64_t survivor, std::uint64_t& next_slot)
      : m_trees(trees), m_lists(lists), m_survivor(survivor), m_next_slot(next_slot) {}

  Status plan() {
    for (auto& [key, said] : m_lists.paths) {
      while (!m_covers.empty() && !is_below(key, *m_covers.back().key)) m_covers.pop_back();
      NB_TRY(path(path_of_key(key), said));
      if (said.where != Whereabouts::unsaid) m_covers.push_back({&key, &said});
    }
    return {};
  }

  // What is cleared as a whole comes first.
  void put_into(std::vector<ThinOp>& ops) {
    ops.insert(ops.end(), m_clears.begin(), m_clears.end());
    ops.insert(ops.end(), m_moves.begin(), m_moves.end());
  }

 private:
  struct Cover {
    const std::string* key;
    const SaidOfPath* said;
  };

  static bool is_below(const std::string& key, const std::string& top) {
    return key.size() > top.size() && key[top.size()] == '\0' && key.starts_with(top);
  }

  Status path(const RelPath& path, SaidOfPath& said) {
    if (said.where == Whereabouts::kept) NB_TRY(find_source(path, said));
    if (said.where == Whereabouts::unsaid) return {};
    const SaidOfPath* cover = m_covers.empty() ? nullptr : m_covers.back().said;
    if (cover != nullptr && cover->where == Whereabouts::kept) return edit(path, said, cover->generation);
    if (said.where == Whereabouts::kept && said.generation == m_survivor) return {};
    if (said.where == Whereabouts::kept) return bring(path, said, cover != nullptr);
    return said.is_stale ? clear(path, m_survivor, m_clears) : Status();
  }

  // Beside the trees. What is moved into a directory that then is not there after a power cut would be gone: so its
  // parents are made now. Where a parent is lost, what is in its place has to be cleared before, each step durably.
  Status bring(const RelPath& path, SaidOfPath& said, bool is_parent_lost) {
    if (!is_parent_lost) {
      NB_TRY(m_trees.make_parent_of(m_survivor, path));
      return take(path, said, m_survivor);
    }
    m_moves.emplace_back(ThinBarrier{});
    m_moves.emplace_back(MakeParent{path});
    m_moves.emplace_back(ThinBarrier{});
    return take(path, said, m_survivor);
  }

  // What somebody else has taken out of history is lost, and nothing in its place may be taken for it.
  Status find_source(const RelPath& path, SaidOfPath& said) {
    const bool stays = said.generation == m_survivor && said.type != fs::FileType::directory;
    if (stays) return {};
    NB_TRY_ASSIGN(const std::optional<fs::Stat> source, m_trees.find(said.generation, path));
    if (!source) {
      said.where = Whereabouts::lost;
      said.metadata.clear();
    }
    return {};
  }

  // Inside a tree that is kept whole, and lies in files/ of `keeper` now.
  Status edit(const RelPath& path, SaidOfPath& said, std::uint64_t keeper) {
    const bool is_kept = said.where == Whereabouts::kept;
    if (is_kept && said.generation == keeper) return {};
    NB_TRY(prepare_parent(path.parent(), keeper));
    return is_kept ? take(path, said, keeper) : clear(path, keeper, m_moves);
  }

  // The tree's own directory changes its time with what is in it, and perhaps its mode to let that happen.
  Status prepare_parent(const RelPath& parent, std::uint64_t keeper) {
    NB_TRY_ASSIGN(const std::optional<fs::Stat> stat, m_trees.find(keeper, parent));
    if (!stat || stat->type != fs::FileType::directory) {
      return fail(Errc::bad_set, kept_name(keeper, parent) + " is not there");
    }
    NB_TRY(m_trees.check(keeper, parent, *stat, KeptTrees::Use::edits));
    return keep_metadata(parent, keeper, m_lists.paths[key_of(parent)]);
  }

  Status keep_metadata(const RelPath& path, std::uint64_t keeper, SaidOfPath& said) {
    if (!said.metadata.empty()) return {};
    NB_TRY_ASSIGN(fs::Metadata now, m_trees.metadata(keeper, path));
    said.metadata.push_back({std::move(now), false, m_lists.next_order++});
    return {};
  }

  // `keeper`: where the tree is that the path is in until the moves begin.
  Status take(const RelPath& path, SaidOfPath& said, std::uint64_t keeper) {
    NB_TRY_ASSIGN(const std::optional<fs::Stat> source, m_trees.find(said.generation, path));
    NB_TRY(m_trees.check(said.generation, path, *source, KeptTrees::Use::moves));
    if (is_closed(*source)) NB_TRY(keep_metadata(path, said.generation, said));
    NB_TRY_ASSIGN(const std::optional<fs::Stat> there, m_trees.find(keeper, path));
    if (there) NB_TRY(m_trees.check(keeper, path, *there, KeptTrees::Use::moves));
    m_moves.emplace_back(TakeKept{path, said.generation, m_next_slot++});
    return {};
  }

  Status clear(const RelPath& path, std::uint64_t keeper, std::vector<ThinOp>& ops) {
    NB_TRY_ASSIGN(const std::optional<fs::Stat> there, m_trees.find(keeper, path));
    if (there) NB_TRY(m_trees.check(keeper, path, *there, KeptTrees::Use::moves));
    ops.emplace_back(ClearKept{path, m_next_slot++});
    return {};
  }

  KeptTrees& m_trees;
  MergedLists& m_lists;
  std::uint64_t m_survivor;
  std::uint64_t& m_next_slot;
  std::vector<Cover> m_covers;  // of the path that is looked at, outermost first
  std::vector<ThinOp> m_clears;
  std::vector<ThinOp> m_moves;
};

Status read_list(const fs::Directory& history, const Generation& account, ListMerger& merger) {
  return for_each_change(history, account, [&](const Change& change) { return merger.add(change, account.number); });
}

// The generation that `account` leads back to, which is to be dropped.
Result<Generation> read_next(const fs::Directory& history, const Generation& account, std::uint64_t number) {
  if (account.previous != number) {
    return fail(Errc::bad_set,
                "generation " + std::to_string(account.number) + " does not lead back to " + std::to_string(number));
  }
  return read_account(history, number);
}

// Written anew: one that a crash has left means nothing.
Status write_account(fs::Directory& directory, const Generation& account) {
  NB_TRY(remove_if_there(directory, k_generation_new_name));
  return put_new_file(directory, k_generation_new_name, encode(account));
}

Result<ThinPlan> plan_base(fs::Directory& history, const ThinRun& run, Generation account) {
  ThinPlan plan;
  plan.ops.emplace_back(Merge{run.survivor, true});
  for (const std::uint64_t number : run.dropped) plan.ops.emplace_back(Dropped{number});
  plan.dropped = run.dropped.size();
  account.previous.reset();
  NB_TRY_ASSIGN(const auto directory, history.open_directory(std::to_string(run.survivor)));
  NB_TRY(remove_if_there(*directory, k_changes_new_name));
  NB_TRY(write_account(*directory, account));
  return plan;
}

}  // namespace

Result<ThinPlan> plan_thinning(fs::Directory& history, const ThinRun& run, std::uint64_t& next_slot) {
  NB_TRY_ASSIGN(const Generation survivor, read_account(history, run.survivor));
  // Everything of the survivor's that leads back goes with the last generation that it could lead to, and none of it
  // needs to be read: it may be what is damaged.
  if (run.to_the_oldest) return plan_base(history, run, survivor);
  ThinPlan plan;
  plan.ops.emplace_back(Merge{run.survivor, false});
  ListMerger merger(run.survivor);
  Generation last = survivor;
  for (const std::uint64_t number : run.dropped) {
    NB_TRY_ASSIGN(const Generation next, read_next(history, last, number));
    if (plan.dropped == 0) NB_TRY(read_list(history, survivor, merger));
    NB_TRY(read_list(history, next, merger));
    plan.ops.emplace_back(Dropped{number});
    ++plan.dropped;
    last = next;
    if (plan.dropped == k_most_dropped_at_once || merger.lists().paths.size() >= k_most_paths_at_once) break;
  }
  KeptTrees trees(history);
  MergedLists lists = merger.take();
  MovePlanner planner(trees, lists, run.survivor, next_slot);
  NB_TRY(planner.plan());
  planner.put_into(plan.ops);
  Generation account = survivor;
  account.previous = last.previous;
  NB_TRY_ASSIGN(const auto directory, history.open_directory(std::to_string(run.survivor)));
  NB_TRY(write_merged_list(trees, *directory, {run.survivor, *account.previous}, lists));
  NB_TRY(write_account(*directory, account));
  return plan;
}

}  // namespace nb::txn
