// SPDX-License-Identifier: Apache-2.0
#include "session/tree_diff.hpp"

#include <algorithm>

#include "base/unreadable.hpp"
#include "fs/metadata.hpp"
#include "session/interrupt.hpp"
#include "session/itemize.hpp"
#include "txn/live_tree.hpp"
#include "txn/past_tree.hpp"

namespace nb::session {
namespace {

constexpr std::size_t k_read_bytes = std::size_t{256} << 10;
constexpr auto k_direction = Direction::sent;

// One name as a view has it: a place in a listing, which outlives this.
struct Seen {
  const wire::Entry& entry;
  const fs::Stat& stat;
  [[nodiscard]] bool is_directory() const { return entry.type == fs::FileType::directory; }
};
Seen seen(const scan::Listed& listed, std::size_t index) { return {listed.entries[index], listed.stats[index]}; }

enum class Has : std::uint8_t { both, only_from, only_to };

// A directory still to be looked into.
struct Pending {
  RelPath path;
  Has has = Has::both;
};

Result<bool> same_content(fs::File& a, fs::File& b, std::uint64_t size) {
  Bytes one(k_read_bytes);
  Bytes other(k_read_bytes);
  for (std::uint64_t offset = 0; offset < size;) {
    if (interrupt_requested()) return fail(Errc::interrupted, "");
    NB_TRY_ASSIGN(const std::size_t count, fs::read_fully(a, offset, one));
    NB_TRY_ASSIGN(const std::size_t other_count, fs::read_fully(b, offset, other));
    if (count != other_count || count == 0) return false;
    if (!std::equal(one.begin(), one.begin() + static_cast<std::ptrdiff_t>(count), other.begin())) return false;
    offset += count;
  }
  return true;
}

class Diff {
 public:
  Diff(SetView& from, SetView& to, const DiffVisitor& visitor) : m_from(from), m_to(to), m_visitor(visitor) {}

  Status run(const RelPath& path) {
    if (path.is_root()) {
      m_pending.push_back({path, Has::both});
    } else {
      NB_TRY(begin_at(path));
    }
    while (!m_pending.empty()) {
      const Pending next = std::move(m_pending.back());
      m_pending.pop_back();
      if (interrupt_requested()) return fail(Errc::interrupted, "");
      NB_TRY(next.has == Has::both ? compare(next.path) : walk(next));
      push_children();
    }
    return {};
  }

 private:
  Status begin_at(const RelPath& path) {
    const auto before = m_from.look_at(path);
    const auto after = m_to.look_at(path);
    const auto missing = [](const auto& listed) { return !listed && listed.error().code == Errc::not_found; };
    if (!before && !missing(before)) return tl::make_unexpected(before.error());
    if (!after && !missing(after)) return tl::make_unexpected(after.error());
    if (!before && !after) return fail(Errc::not_found, path.str() + ": in neither generation");
    const auto first = [](const auto& listed) { return listed ? std::optional(seen(*listed, 0)) : std::nullopt; };
    NB_TRY(compare_name(path, first(before), first(after)));
    push_children();
    return {};
  }

  // The first of the children comes next.
  void push_children() {
    m_pending.insert(m_pending.end(), std::make_move_iterator(m_children.rbegin()),
                     std::make_move_iterator(m_children.rend()));
    m_children.clear();
  }

  Status tell(const std::string& change, const RelPath& path, std::string detail = {}) {
    return m_visitor.item({change, path, std::move(detail)});
  }

  Status tell_problems(const scan::Listed& listed) {
    for (const Error& error : listed.problems) NB_TRY(m_visitor.problem(error));
    return {};
  }

  // A directory of one of the trees: all in it came, or went.
  Status walk(const Pending& pending) {
    SetView& view = pending.has == Has::only_to ? m_to : m_from;
    const auto directory = view.open_directory(pending.path);
    if (!directory) return give_up(pending.path, directory.error());
    const auto listed = view.list(**directory, pending.path);
    if (!listed) return give_up(pending.path, listed.error());
    NB_TRY(tell_problems(*listed));
    for (const wire::Entry& entry : listed->entries) {
      NB_TRY(tell_one(pending.path.child(entry.name), entry, pending.has));
    }
    return {};
  }

  Status tell_one(const RelPath& path, const wire::Entry& entry, Has has) {
    NB_TRY(has == Has::only_to ? tell(item_new(entry.type, k_direction, false), path, link_detail(entry))
                               : tell(item_deleted(), path, deleted_detail(entry.type)));
    if (entry.type == fs::FileType::directory) m_children.push_back({path, has});
    return {};
  }

  Status give_up(const RelPath& path, Error error) {
    if (error.code == Errc::interrupted) return tl::make_unexpected(std::move(error));
    return m_visitor.problem(unreadable(std::move(error), "read " + (path.is_root() ? "." : path.str())));
  }

  // A directory that both have.
  Status compare(const RelPath& path) {
    const auto before = m_from.open_directory(path);
    if (!before) return give_up(path, before.error());
    const auto after = m_to.open_directory(path);
    if (!after) return give_up(path, after.error());
    if (txn::same_subtree(**before, **after)) return {};
    const auto old = m_from.list(**before, path);
    if (!old) return give_up(path, old.error());
    const auto now = m_to.list(**after, path);
    if (!now) return give_up(path, now.error());
    NB_TRY(tell_problems(*old));
    NB_TRY(tell_problems(*now));
    const Difference own = compare_metadata(*now->own, *old->own);
    if (own.any()) NB_TRY(tell(item_changed(fs::FileType::directory, k_direction, own, false), path));
    return compare_names(path, *old, *now);
  }

  // Both are sorted by name.
  Status compare_names(const RelPath& path, const scan::Listed& old, const scan::Listed& now) {
    std::size_t i = 0;
    std::size_t k = 0;
    while (i < old.entries.size() || k < now.entries.size()) {
      const bool has_old =
          i < old.entries.size() && (k == now.entries.size() || old.entries[i].name <= now.entries[k].name);
      const bool has_now =
          k < now.entries.size() && (i == old.entries.size() || now.entries[k].name <= old.entries[i].name);
      const std::string& name = has_old ? old.entries[i].name : now.entries[k].name;
      NB_TRY(compare_name(path.child(name), has_old ? std::optional(seen(old, i)) : std::nullopt,
                          has_now ? std::optional(seen(now, k)) : std::nullopt));
      if (has_old) ++i;
      if (has_now) ++k;
    }
    return {};
  }

  // At least one of the two is there.
  Status compare_name(const RelPath& path, const std::optional<Seen>& old, const std::optional<Seen>& now) {
    if (!now) return tell_one(path, old->entry, Has::only_from);
    if (!old) return tell_one(path, now->entry, Has::only_to);
    if (old->is_directory() && now->is_directory()) {
      m_children.push_back({path, Has::both});
      return {};
    }
    if (old->is_directory() || now->is_directory()) {
      NB_TRY(tell_one(path, old->entry, Has::only_from));
      return tell_one(path, now->entry, Has::only_to);
    }
    if (old->entry.type != now->entry.type) return tell_one(path, now->entry, Has::only_to);
    return compare_files(path, *old, *now);
  }

  Status compare_files(const RelPath& path, const Seen& old, const Seen& now) {
    Difference d = compare_metadata(now.entry.meta, old.entry.meta);
    d.size = now.entry.size != old.entry.size;
    d.content = now.entry.target != old.entry.target || now.entry.node != old.entry.node;
    const bool is_regular = now.entry.type == fs::FileType::regular;
    // A content never changes in place.
    if (is_regular && !d.size && now.entry.size > 0 && !txn::same_inode(old.stat, now.stat)) {
      const auto same = is_same_content(path, now.entry.size);
      if (!same && same.error().code == Errc::interrupted) return tl::make_unexpected(same.error());
      if (!same) return give_up(path, same.error());
      d.content = !*same;
    }
    if (!d.any()) return {};
    const bool transfers = is_regular && (d.content || d.size);
    return tell(item_changed(now.entry.type, k_direction, d, transfers), path, link_detail(now.entry));
  }

  Result<bool> is_same_content(const RelPath& path, std::uint64_t size) {
    NB_TRY_ASSIGN(const auto before, m_from.open_file(path));
    NB_TRY_ASSIGN(const auto after, m_to.open_file(path));
    return same_content(*before, *after, size);
  }

  SetView& m_from;
  SetView& m_to;
  const DiffVisitor& m_visitor;
  std::vector<Pending> m_pending;   // the next one last
  std::vector<Pending> m_children;  // of the directory at hand, in order
};

}  // namespace

Status diff_trees(SetView& from, SetView& to, const RelPath& path, const DiffVisitor& visitor) {
  return Diff(from, to, visitor).run(path);
}

}  // namespace nb::session
