// SPDX-License-Identifier: Apache-2.0
// Deletion: plans what leaves the set. Looks at everything below a doomed directory first: what the filter protects, a
// nested file set with all its content, whatever is mounted there and reserved names stay, and so does the directory
// above them; a mount or a reserved name that stays is reported, a set is told. Used by Sink.
#pragma once

#include <functional>
#include <optional>
#include <set>

#include "filter/rules.hpp"
#include "fs/directory.hpp"
#include "session/reporter.hpp"
#include "txn/records.hpp"

namespace nb::session {

class Deletion {
 public:
  struct Doomed {
    RelPath path;  // below the transfer's root
    fs::Stat stat;
    std::uint64_t print = 0;  // of all that goes with it
  };
  using Visit = std::function<void(const RelPath& path, fs::FileType type)>;
  // The transfer's root is `base` below `root`; `rules` may be null; all outlive the planner.
  Deletion(fs::Directory& root, RelPath base, const filter::Rules* rules, Reporter& reporter)
      : m_root(root), m_base(std::move(base)), m_rules(rules), m_reporter(reporter) {}

  // All that goes for `doomed` to go: itself if everything below it can, else the parts that can. Counts and returns
  // them; `visit`, if there is one, is told of every single entry, children first, for the itemized output: by a second
  // walk, so that memory does not grow with what goes.
  Result<std::vector<Doomed>> plan(Doomed doomed, const Visit& visit);
  // Whether `doomed` could go as a whole.
  Result<bool> can_go_whole(const Doomed& doomed);
  // Right before the commit: Errc::changed if a planned directory has something in it that it had not when it was looked
  // at, or has it otherwise. Nobody would be told, and without history it would be lost.
  Status check_again();

  [[nodiscard]] std::uint64_t entries() const { return m_entries; }  // planned so far, every one counted
  // So many of them stay: what holds them is closed to us.
  void uncount(std::uint64_t entries) { m_entries -= entries; }

 private:
  struct Judged {
    bool whole = true;
    std::vector<Doomed> parts;    // if not whole
    std::uint64_t entries = 0;    // that go, itself and everything below counted
    std::uint64_t print = 0;      // what they are, in any order
    std::vector<RelPath> mounts;  // what stays for being another mount
    std::vector<RelPath> nested;  // and for being a file set of its own
    std::vector<RelPath> stray;   // reserved names that belong to no file set, and stay with what holds them
    std::vector<RelPath> barred;  // somebody else's directories, which this user may not move
    std::vector<Error> unread;    // what cannot be looked into
    void add_stays(Judged& below);
  };
  Result<Judged> judge(const Doomed& doomed);
  void count(const Doomed& doomed, Judged& judged) const;
  [[nodiscard]] bool is_protected(const Doomed& doomed) const;
  void tell(const Judged& judged);
  [[nodiscard]] Result<bool> is_mounted(const fs::Stat& stat);

  fs::Directory& m_root;
  const RelPath m_base;
  const filter::Rules* m_rules;
  Reporter& m_reporter;
  const Visit* m_visit = nullptr;  // in the second walk
  std::optional<fs::Stat> m_root_stat;
  std::uint64_t m_entries = 0;
  std::set<RelPath> m_told;       // nested sets and stray names
  std::vector<Doomed> m_planned;  // directories that go as a whole
};

}  // namespace nb::session
