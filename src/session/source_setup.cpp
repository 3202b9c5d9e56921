// SPDX-License-Identifier: Apache-2.0
#include "session/source_setup.hpp"

#include <algorithm>

#include "txn/locate.hpp"
#include "txn/transaction.hpp"

namespace nb::session {
namespace {

constexpr std::chrono::seconds k_reader_wait{60};

Status lock_set(const std::string& directory, const std::string& client, Clock& clock, SourceSetup& setup) {
  NB_TRY_ASSIGN(txn::Located found, txn::locate_set(directory, std::nullopt));
  if (!found.is_set) return {};
  setup.view = scan::MetadataView::kept;
  NB_TRY_ASSIGN(auto set, txn::FileSet::open(std::move(found.root)));
  const auto same = [&set](const auto& other) { return other->format().uuid == set->format().uuid; };
  if (std::any_of(setup.sets.begin(), setup.sets.end(), same)) return {};
  NB_TRY(finish_interrupted(*set, client, clock));
  NB_TRY_ASSIGN(auto lock, txn::ReaderLock::acquire(*set, k_reader_wait, clock));
  setup.sets.push_back(std::move(set));
  setup.locks.push_back(std::move(lock));
  return {};
}

}  // namespace

Status finish_interrupted(txn::FileSet& set, const std::string& client, Clock& clock) {
  NB_TRY_ASSIGN(const bool needed, set.needs_recovery());
  if (!needed) return {};
  const txn::LockNote note = txn::lock_note_of_this_process(client, {}, clock);
  NB_TRY_ASSIGN(const auto lock, txn::WriterLock::acquire(set, note, k_reader_wait, clock));
  NB_TRY(txn::recover(set, *lock, clock));
  return {};
}

Result<SourceSetup> set_up_source(const std::vector<std::string>& sources, const std::string& client,
                                  const std::optional<std::string>& stay_within, Clock& clock) {
  NB_TRY_ASSIGN(SourceTree tree, SourceTree::open(sources, stay_within));
  SourceSetup setup{std::move(tree), scan::MetadataView::plain, {}, {}};
  for (const std::string& directory : setup.tree.directories()) NB_TRY(lock_set(directory, client, clock, setup));
  return setup;
}

}  // namespace nb::session
