// SPDX-License-Identifier: Apache-2.0
// The host's half of a drill: which files, and what the set knows of them. Names are walked, and only what was chosen
// is looked at, so that a million files cost their directories alone.
#include <algorithm>
#include <random>

#include "base/random.hpp"
#include "base/unreadable.hpp"
#include "cache/manifest.hpp"
#include "cli/drill.hpp"
#include "cli/look_places.hpp"
#include "cli/when.hpp"
#include "session/file_walk.hpp"
#include "session/known_contents.hpp"
#include "session/source_setup.hpp"
#include "txn/locate.hpp"

namespace nb::cli {
namespace {

using Random = std::mt19937_64;

Result<Random> make_random() {
  std::uint64_t seed = 0;
  NB_TRY(random_bytes(std::as_writable_bytes(std::span(&seed, 1))));
  return Random(seed);
}

std::uint64_t below(Random& random, std::uint64_t count) {
  return std::uniform_int_distribution<std::uint64_t>(0, count - 1)(random);
}

// So many of all that are offered, each as likely as every other (Vitter's algorithm R).
class Reservoir {
 public:
  Reservoir(std::size_t room, Random& random) : m_room(room), m_random(random) {}
  void offer(RelPath path) {
    ++m_seen;
    if (m_chosen.size() < m_room) {
      m_chosen.push_back(std::move(path));
    } else if (const std::uint64_t at = below(m_random, m_seen); at < m_room) {
      m_chosen[at] = std::move(path);
    }
  }
  [[nodiscard]] std::uint64_t seen() const { return m_seen; }
  // In no order that says anything.
  std::vector<RelPath> take() {
    std::shuffle(m_chosen.begin(), m_chosen.end(), m_random);
    return std::move(m_chosen);
  }

 private:
  const std::size_t m_room;
  Random& m_random;
  std::uint64_t m_seen = 0;
  std::vector<RelPath> m_chosen;
};

class Sampler {
 public:
  Sampler(session::SetReader& reader, const HostJob& job, session::CommandOutput& output, Random random)
      : m_reader(reader),
        m_top(reader.below.join(job.path)),
        m_room(job.settings.limit_bytes),
        m_problems(output),
        m_random(random) {
    // One of the two: they would have the manifest open twice, and closing a file takes all locks of a process on it.
    if (reader.set().control().stat_at("contents.db")) {
      m_contents.emplace(reader.set(), warn_through(output), cache::FileAccess::read);
    } else {
      m_manifest = open_manifest(reader.set(), output);
    }
    const ByteView secret = reader.set().secret().stored();
    m_sample.secret.assign(secret.begin(), secret.end());
  }

  // Up to `count` files of that generation.
  Status add(std::uint64_t generation, std::size_t count) {
    NB_TRY_ASSIGN(session::SetView view, session::SetView::open(m_reader, generation));
    NB_TRY_ASSIGN(const auto top, named(view.open_directory(m_top)));
    return add_from(view, *top, count);
  }
  // The same of one that the user did not ask for: what cannot be read of it is a finding, that it had no such path is
  // none.
  Status try_add(std::uint64_t generation, std::size_t count) {
    const Status added = add_if_there(generation, count);
    if (added || added.error().code == Errc::interrupted) return added;
    return m_problems.tell(wrap(added.error(), "generation " + std::to_string(generation)).value());
  }

  [[nodiscard]] std::size_t chosen() const { return m_sample.chosen.size(); }
  [[nodiscard]] int exit_code() const { return m_problems.exit_code(); }
  Random& random() { return m_random; }
  Bytes finish() {
    std::sort(m_sample.chosen.begin(), m_sample.chosen.end(), comes_before);
    return encode(m_sample);
  }

 private:
  Status add_if_there(std::uint64_t generation, std::size_t count) {
    NB_TRY_ASSIGN(session::SetView view, session::SetView::open(m_reader, generation));
    const auto top = view.open_directory(m_top);
    if (!top && is_not_there(top.error().code)) return {};
    NB_TRY(top);
    return add_from(view, **top, count);
  }

  // `top`: m_top as `view` has it.
  Status add_from(session::SetView& view, fs::Directory& top, std::size_t count) {
    Reservoir chosen(count, m_random);
    NB_TRY(walk(top, chosen));
    m_sample.files += chosen.seen();
    for (const RelPath& path : chosen.take()) NB_TRY(take(view, path));
    return {};
  }

  static cache::Warn warn_through(session::CommandOutput& output) {
    return [&output](const std::string& text) { static_cast<void>(output.notice(text)); };
  }

  // Not made where there is none, nor begun anew where it is damaged: looking changes nothing.
  static std::unique_ptr<cache::Manifest> open_manifest(txn::FileSet& set, session::CommandOutput& output) {
    const auto path = set.control().kernel_path();
    if (!path || !set.control().stat_at("manifest.db")) return cache::Manifest::none();
    return cache::Manifest::open(*path, warn_through(output), cache::FileAccess::read);
  }

  // What scrubs know reaches further than the manifest, which has files of some size in the live tree alone.
  std::optional<hash::Digest> recorded(std::uint64_t generation, const RelPath& path, const fs::Stat& stat) {
    if (!m_contents) return m_manifest->find(path, stat);
    session::FilePlace place{generation, path};
    if (generation == m_reader.set().head().generation) place.generation.reset();
    const session::Expected expected = m_contents->expect(place, stat);
    const bool is_known = expected.standing == session::Standing::known && expected.size == stat.size;
    return is_known ? std::optional(expected.digest) : std::nullopt;
  }

  Status walk(fs::Directory& top, Reservoir& chosen) {
    session::FileWalk walk;
    walk.is_held = true;
    walk.visit = [&](fs::Directory&, const RelPath& below) -> Status {
      if (!session::may_go_on()) return fail(Errc::interrupted, "");
      chosen.offer(m_top.join(below));
      return {};
    };
    walk.unreadable = [&](const RelPath& below, const Error& error) -> Status {
      // A set of its own, with generations of its own.
      if (txn::is_set(m_reader.set().root(), m_top.join(below))) return {};
      return m_problems.tell(unreadable(error, "read " + m_top.join(below).str()));
    };
    return session::walk_files(top, walk);
  }

  // Looks at one that was chosen, unless what it brings is beyond the limit.
  Status take(session::SetView& view, const RelPath& path) {
    const auto found = view.look_at(path);
    if (!found) return m_problems.tell(found.error());
    NB_TRY(m_problems.tell(*found));
    const wire::Entry& entry = found->entries.front();
    // A file that stands for something else, as a device does where none can be made.
    if (entry.type != fs::FileType::regular) return {};
    if (entry.size > m_room) {
      ++m_sample.left_out;
      m_sample.left_out_bytes += entry.size;
      return {};
    }
    m_room -= entry.size;
    NB_TRY_ASSIGN(RelPath below_top, relative_to_top(path));
    m_sample.chosen.push_back({view.generation(), std::move(below_top), entry.size, entry.meta.mtime,
                               recorded(view.generation(), path, found->stats.front())});
    return {};
  }

  [[nodiscard]] Result<RelPath> relative_to_top(const RelPath& path) const {
    return m_top.is_root() ? path : RelPath::parse(std::string_view(path.str()).substr(m_top.str().size() + 1));
  }

  session::SetReader& m_reader;
  const RelPath m_top;
  std::uint64_t m_room;  // bytes that may still be chosen
  Problems m_problems;
  Random m_random;
  std::unique_ptr<cache::Manifest> m_manifest;
  std::optional<session::KnownContents> m_contents;  // where a scrub has been
  DrillSample m_sample;
};

// A quarter of the sample is of an older generation: what is needed to go back there is seen by nobody else.
Status choose(session::SetReader& reader, std::size_t count, Sampler& sampler) {
  const std::uint64_t newest = reader.set().head().generation;
  std::vector<std::uint64_t> older = reader.history.numbers();
  std::erase(older, newest);
  const std::size_t share = count / 4;
  if (!older.empty() && share > 0) NB_TRY(sampler.try_add(older[below(sampler.random(), older.size())], share));
  return sampler.add(newest, count - sampler.chosen());
}

}  // namespace

Result<int> run_drill_host(const HostJob& job, session::CommandOutput& output, Clock& clock) {
  NB_TRY_ASSIGN(session::SetReader reader, session::open_set(job.place, job.stay_within, job.client, clock));
  NB_TRY_ASSIGN(Random random, make_random());
  Sampler sampler(reader, job, output, random);
  const auto count = static_cast<std::size_t>(job.settings.sample);
  if (job.settings.at) {
    NB_TRY_ASSIGN(const wire::Moment moment, parse_when(*job.settings.at, clock.wall()));
    NB_TRY_ASSIGN(const std::uint64_t generation, reader.generation(moment));
    NB_TRY(sampler.add(generation, count));
  } else {
    NB_TRY(choose(reader, count, sampler));
  }
  NB_TRY(output.write(as_text(sampler.finish())));
  return sampler.exit_code();
}

}  // namespace nb::cli
