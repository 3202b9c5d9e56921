// SPDX-License-Identifier: Apache-2.0
#include "session/sink_setup.hpp"

#include <cstdlib>
#include <utility>

#include "base/failpoint.hpp"
#include "fs/posix_directory.hpp"
#include "session/set_path.hpp"
#include "session/source_setup.hpp"
#include "txn/locate.hpp"

namespace nb::session {
namespace {

Status guard_set(const SinkRequest& request, const txn::Located& found, const txn::FileSet* set) {
  if (!request.expected_set) return {};
  if (set && set->format().uuid == *request.expected_set) return {};
  const std::string what = set ? "another file set is at " : "no file set is at ";
  return fail(Errc::guard_set_missing, what + found.root_path);
}

Result<hash::Secret> secret_for(const SinkRequest& request) {
  if (request.offered_secret.empty()) return hash::Secret::generate();
  return hash::Secret::from_bytes(request.offered_secret, Errc::protocol);
}

// The other side reads the set under a reader's lock until the session ends, for which the commit would wait.
Status check_not_source(const SinkRequest& request, const txn::FileSet& set) {
  if (request.mode != SinkMode::commit || !request.source_set || set.format().uuid != *request.source_set) return {};
  return fail(Errc::path,
              "source and destination lie in one file set; push copies within a set, pull and restore do not");
}

// A run that leaves no set behind was cut off here: its commit is finished, and what it kept goes. Returns the root.
Result<std::unique_ptr<fs::Directory>> clear_ephemeral(const SinkRequest& request, std::unique_ptr<txn::FileSet> set,
                                                       const std::string& root_path, Clock& clock) {
  const txn::LockNote note = txn::lock_note_of_this_process(request.client, request.transaction, clock);
  NB_TRY_ASSIGN(const auto lock, txn::WriterLock::acquire(*set, note, request.wait, clock, may_go_on, request.on_wait));
  NB_TRY(txn::recover(*set, *lock, clock));
  const Status removed = set->remove_control();
  if (!removed && removed.error().code == Errc::foreign_edit) {
    return fail(Errc::path,
                root_path + "/" + removed.error().context +
                    " keeps what an earlier pull or restore found in its way; move it elsewhere and remove " +
                    root_path + "/.nbackup, then run this again");
  }
  NB_TRY(removed);
  return set->root().reopen();
}

// What a pull was cut off in is no set to be in: the destination below it becomes one of its own.
Result<txn::Located> below_of(txn::Located found, const std::optional<std::string>& missing) {
  if (found.below.is_root()) return found;
  NB_TRY_ASSIGN(found.root, found.root->open_directory_path(missing ? found.below.parent() : found.below));
  found.root_path += (found.root_path == "/" ? "" : "/") + found.below.str();
  return found;
}

// Everything below a set belongs to it. A slip of the hand must not do that to a home or to the whole machine.
Status check_place(const std::string& path) {
  const char* home = std::getenv("HOME");
  const std::unique_ptr<char, void (*)(void*)> real(home != nullptr ? ::realpath(home, nullptr) : nullptr, std::free);
  if (path != "/" && (!real || path != real.get())) return {};
  return fail(Errc::path, "destination " + path + ": all of it would become one file set; name a directory in it, or " +
                              "run 'nbackup init' there first if that is meant");
}

Status check_keeps(const SinkRequest& request, const txn::FileSet* set) {
  const txn::Lifetime lifetime = set != nullptr ? set->format().lifetime : request.lifetime;
  if (!request.must_keep_history || request.mode != SinkMode::commit) return {};
  if (lifetime == txn::Lifetime::permanent) return {};
  return fail(Errc::read_only, request.destination +
                                   " is in no file set, which would keep what is replaced; "
                                   "this key may only add (serve --append-only)");
}

// With `missing`, and no set, what was found is its parent.
Status open_set(const SinkRequest& request, txn::Located found, const std::optional<std::string>& missing, Clock& clock,
                SinkSetup& setup) {
  bool is_parent = missing && !found.is_set;
  if (found.is_set) {
    NB_TRY_ASSIGN(setup.set, txn::FileSet::open(std::move(found.root)));
    NB_TRY(check_not_source(request, *setup.set));
    NB_TRY(guard_set(request, found, setup.set.get()));
    NB_TRY(check_keeps(request, setup.set.get()));
    const bool must_last = request.mode == SinkMode::commit && request.lifetime == txn::Lifetime::permanent;
    if (!must_last || setup.set->format().lifetime == txn::Lifetime::permanent) return {};
    NB_TRY_ASSIGN(found.root, clear_ephemeral(request, std::move(setup.set), found.root_path, clock));
    NB_TRY_ASSIGN(found, below_of(std::move(found), missing));
    setup.base = {};
    is_parent = missing.has_value();
  }
  NB_TRY(guard_set(request, found, nullptr));
  NB_TRY(check_keeps(request, nullptr));
  const bool would_make = request.mode != SinkMode::verify && request.lifetime == txn::Lifetime::permanent;
  if (would_make) NB_TRY(check_place(found.root_path));
  if (request.mode != SinkMode::commit) {
    if (!is_parent) setup.plain_root = std::move(found.root);
    return {};
  }
  // Only now: an unmounted pool must not get a new set on the disk below it. There is no generation that could see it.
  if (is_parent) {
    NB_TRY_ASSIGN(found.root, fs::PathRoot::make_directory(*found.root, *missing));
  }
  NB_TRY_ASSIGN(const hash::Secret secret, secret_for(request));
  auto made = txn::FileSet::create(std::move(found.root), request.lifetime, secret);
  if (!made && made.error().code == Errc::exists && found.passed_over) {
    return no_set_at("destination " + found.root_path, found.passed_over);
  }
  if (!made) return wrap(made.error(), "destination " + found.root_path);
  setup.set = std::move(*made);
  return {};
}

Status take_locks(const SinkRequest& request, Clock& clock, SinkSetup& setup) {
  if (request.mode != SinkMode::commit) {
    if (!setup.set) return {};
    NB_TRY_ASSIGN(setup.reader, lock_to_read(*setup.set, request.client, clock));
    return {};
  }
  const txn::LockNote note = txn::lock_note_of_this_process(request.client, request.transaction, clock);
  NB_TRY_ASSIGN(setup.writer,
                txn::WriterLock::acquire(*setup.set, note, request.wait, clock, may_go_on, request.on_wait));
  NB_FAILPOINT("session.sink.locked");
  NB_TRY_ASSIGN(setup.transaction,
                txn::Transaction::begin(*setup.set, *setup.writer, request.transaction, clock, may_go_on));
  return {};
}

}  // namespace

SinkTarget SinkSetup::target() const {
  SinkTarget target;
  target.root = set ? &set->root() : plain_root.get();
  target.base = base;
  target.new_name = new_name;
  target.set = set.get();
  target.transaction = transaction.get();
  return target;
}

namespace {

Result<SinkSetup> try_set_up(const SinkRequest& request, Clock& clock) {
  SinkSetup setup;
  NB_TRY_ASSIGN(TargetPath path, resolve_target(request.destination, request.shape, request.stay_within));
  setup.new_name = path.new_name;
  const std::optional<std::string> missing = path.missing;
  NB_TRY_ASSIGN(txn::Located found, locate_target(std::move(path), request.stay_within));
  setup.base = found.below;
  NB_TRY(open_set(request, std::move(found), missing, clock, setup));
  if (missing && request.mode == SinkMode::verify && !setup.set) {
    return fail(Errc::path, request.destination + ": no such directory, so there is nothing to compare with");
  }
  if (setup.set) {
    setup.secret = setup.set->secret();
  } else {
    NB_TRY_ASSIGN(setup.secret, secret_for(request));
  }
  NB_TRY(take_locks(request, clock, setup));
  return setup;
}

}  // namespace

Result<SinkSetup> set_up_sink(const SinkRequest& request, Clock& clock) {
  const SteadyTime until = clock.steady() + request.wait;
  SinkRequest again = request;
  bool has_appeared = false;
  bool is_told = false;
  while (true) {
    auto setup = try_set_up(again, clock);
    if (setup) return setup;
    const Errc code = setup.error().code;
    // The run whose end was waited for took its set with it.
    if (txn::FileSet::is_gone(setup.error())) {
      has_appeared = false;
      continue;
    }
    // Another run may just have made the set that this one was to make.
    if (code == Errc::exists && !std::exchange(has_appeared, true)) continue;
    if (code != Errc::locked || request.mode != SinkMode::commit) return setup;
    // What is locked though it was not waited for is being made.
    again.wait = left_until(until, clock);
    if (again.wait == std::chrono::seconds(0)) return setup;
    if (!std::exchange(is_told, true) && request.on_wait) {
      request.on_wait("waiting for the file set, which another process is making");
    }
    NB_TRY(txn::pause_for_lock(clock, may_go_on));
  }
}

}  // namespace nb::session
