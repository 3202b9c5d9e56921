// SPDX-License-Identifier: Apache-2.0
#include "session/source_setup.hpp"

#include <algorithm>

#include "base/failpoint.hpp"
#include "session/interrupt.hpp"
#include "session/kept_beside.hpp"
#include "session/user_path.hpp"
#include "txn/listed_name.hpp"
#include "txn/locate.hpp"
#include "txn/transaction.hpp"

namespace nb::session {
namespace {

constexpr std::chrono::seconds k_reader_wait{60};

// Where the set of a source is looked for from: a directory that was named is perhaps a set's root itself.
struct Start {
  std::unique_ptr<fs::Directory> directory;
  std::string below;  // the source's own directory: the name that was opened, if one was
};
Start start_of(SourcePath path) {
  if (!path.name) return {std::move(path.handle), {}};
  Result<std::unique_ptr<fs::Directory>> named = path.handle->open_directory(*path.name);
  if (!named) return {std::move(path.handle), {}};
  return {std::move(*named), *path.name};
}

// Where a transfer that reads from the set has its root. A source that is named by its parent directory has it there.
KeptBeside::Place place_of(const std::string& named, const RelPath& found) {
  if (named.empty()) return {found, {}};
  if (found.is_root()) return {{}, RelPath().child(named)};
  return {found.parent(), {}};
}

// What is kept beside the tree is kept by the names that are listed.
Status check_spelling(const std::string& source, const std::string& name, const fs::Directory& root,
                      const RelPath& path) {
  const RelPath listed = txn::as_listed(root, path);
  if (listed.name() == name) return {};
  return fail(Errc::path, source + ": its name there is " + std::string(listed.name()) + ", use that");
}

Status lock_set(const fs::PathRoot& bounds, const std::string& source, SourcePath path, const SourceReader& reader,
                Clock& clock, SourceSetup& setup) {
  const std::optional<std::string> name = path.name;
  Start start = start_of(std::move(path));
  NB_TRY_ASSIGN(txn::Located found, txn::locate_set(bounds, std::move(start.directory)));
  if (!found.is_set) return {};
  const RelPath named = name && start.below.empty() ? found.below.child(*name) : found.below;
  if (name && !named.is_root()) NB_TRY(check_spelling(source, *name, *found.root, named));
  NB_TRY_ASSIGN(txn::FileSet * set, setup.held.hold(std::move(found.root), reader, clock));
  // What a pull was cut off in holds attributes as they are.
  if (set->format().lifetime == txn::Lifetime::permanent) setup.view = scan::MetadataView::kept;
  setup.generation = setup.held.sets.front()->head().generation;
  const auto trouble = [told = setup.tree.trouble()](Error error) { told->push_back(std::move(error)); };
  setup.tree.read_beside(
      source, std::make_shared<KeptBeside>(*set, place_of(start.below, found.below), KeptBeside::Use::read, trouble));
  return {};
}

}  // namespace

Result<txn::FileSet*> HeldSets::hold(std::unique_ptr<fs::Directory> root, const SourceReader& reader, Clock& clock) {
  NB_TRY_ASSIGN(auto set, txn::FileSet::open(std::move(root)));
  for (const auto& other : sets) {
    if (other->format().uuid == set->format().uuid) return other.get();
  }
  if (set->format().uuid != reader.destination_set) {
    NB_TRY_ASSIGN(auto lock, lock_to_read(*set, reader.client, clock));
    locks.push_back(std::move(lock));
  }
  damage.add(*set);
  sets.push_back(std::move(set));
  return sets.back().get();
}

Status finish_interrupted(txn::FileSet& set, const std::string& client, Clock& clock) {
  NB_TRY_ASSIGN(const bool needed, set.needs_recovery());
  if (!needed) return {};
  const txn::LockNote note = txn::lock_note_of_this_process(client, {}, clock);
  NB_TRY_ASSIGN(const auto lock, txn::WriterLock::acquire(set, note, k_reader_wait, clock, may_go_on));
  NB_TRY(txn::recover(set, *lock, clock, may_go_on));
  return {};
}

Result<std::unique_ptr<txn::ReaderLock>> lock_to_read(txn::FileSet& set, const std::string& client, Clock& clock) {
  while (true) {
    NB_FAILPOINT("session.reader.waits");
    NB_TRY_ASSIGN(auto lock, txn::ReaderLock::acquire(set, k_reader_wait, clock, may_go_on));
    // Under the lock no commit is alive: one that shows has died.
    NB_TRY_ASSIGN(const bool cut_off, set.needs_recovery());
    if (!cut_off) return lock;
    lock.reset();
    NB_TRY(finish_interrupted(set, client, clock));
  }
}

Result<SourceSetup> set_up_source(const std::vector<std::string>& sources, const SourceReader& reader, Clock& clock) {
  NB_TRY_ASSIGN(SourceTree tree, SourceTree::open(sources, reader.stay_within));
  SourceSetup setup{{}, scan::MetadataView::plain, 0, std::move(tree)};
  NB_TRY_ASSIGN(const fs::PathRoot bounds, fs::PathRoot::open(reader.stay_within));
  for (const std::string& source : sources) {
    Result<SourcePath> path = resolve_source(source, reader.stay_within);
    // One that is missing is among the tree's problems.
    if (path) NB_TRY(lock_set(bounds, source, std::move(*path), reader, clock, setup));
  }
  return setup;
}

}  // namespace nb::session
