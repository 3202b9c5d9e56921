// SPDX-License-Identifier: Apache-2.0
#include "session/pull_setup.hpp"

#include "session/user_path.hpp"
#include "txn/locate.hpp"

namespace nb::session {
namespace {

// What the source may send at the root; nothing: the whole content of a directory.
std::optional<AskedNames> names_asked_for(const Job& job) {
  AskedNames names;
  for (const std::string& source : job.sources) {
    auto name = entry_named_by(source);
    if (!name) return std::nullopt;
    if (job.at) {
      names.add_past(std::move(*name));
    } else {
      names.add(std::move(*name));
    }
  }
  return names;
}

// The set that a pull will write to; null where it has yet to be made.
Result<std::unique_ptr<txn::FileSet>> set_of(const std::string& destination) {
  for (const SourceShape shape : {SourceShape::tree, SourceShape::single_file}) {
    auto path = resolve_target(destination, shape, std::nullopt);
    if (!path) continue;
    NB_TRY_ASSIGN(txn::Located found, locate_target(*std::move(path), std::nullopt));
    if (!found.is_set) break;
    auto set = txn::FileSet::open(std::move(found.root));
    if (!set && txn::FileSet::is_gone(set.error())) break;
    return set;
  }
  return nullptr;
}

}  // namespace

Result<LocalSecret> local_secret(const std::string& destination) {
  NB_TRY_ASSIGN(const auto set, set_of(destination));
  if (set) return LocalSecret{set->secret(), SecretOrigin::of_a_set};
  NB_TRY_ASSIGN(hash::Secret secret, hash::Secret::generate());
  return LocalSecret{secret, SecretOrigin::fresh};
}

Result<std::chrono::seconds> await_destination(const Job& job, const wire::Id& transaction, const txn::OnWait& on_wait,
                                               Clock& clock) {
  const std::chrono::seconds wait = job.options.wait;
  if (mode_of(job.options.flags) != SinkMode::commit) return wait;
  NB_TRY_ASSIGN(const auto set, set_of(job.destination));
  if (!set) return wait;
  const SteadyTime until = clock.steady() + wait;
  const txn::LockNote note = txn::lock_note_of_this_process(job.client, transaction, clock);
  const auto lock = txn::WriterLock::acquire(*set, note, wait, clock, may_go_on, on_wait);
  if (lock || txn::FileSet::is_gone(lock.error())) return left_until(until, clock);
  return tl::make_unexpected(lock.error());
}

SinkRequest pull_request(const Job& job, const wire::Id& transaction, const wire::Opened& opened,
                         const hash::Secret& secret) {
  SinkRequest request;
  request.destination = job.destination;
  const bool single = (opened.flags & wire::k_flag_single_file) != 0;
  request.shape = single ? SourceShape::single_file : SourceShape::tree;
  request.mode = mode_of(job.options.flags);
  request.lifetime = txn::Lifetime::ephemeral;
  request.source_set = opened.set;
  request.offered_secret.assign(secret.stored().begin(), secret.stored().end());
  request.client = job.client;
  request.transaction = transaction;
  request.wait = job.options.wait;
  return request;
}

Status check_shape(const Job& job, const wire::Opened& opened) {
  // Of several sources some may be missing there; what may come is checked name by name then.
  const bool one = job.sources.size() == 1;
  const bool single = (opened.flags & wire::k_flag_single_file) != 0;
  const bool implied = (opened.flags & wire::k_flag_implied_root) != 0;
  const bool by_name = names_asked_for(job).has_value();
  if (job.single_file_only && !single) {
    return fail(Errc::path, job.sources.front() + " is not one file, which is all that standard output takes");
  }
  if (single ? one && by_name && implied : !one || implied == by_name) return {};
  return fail(Errc::protocol, "opened something else than what was asked for");
}

SinkOptions pull_options(const Job& job, const wire::Opened& opened, const wire::Hello& peer, const ListingKey& key) {
  constexpr std::uint64_t k_found_there = wire::k_flag_implied_root | wire::k_flag_single_file;
  SinkOptions options = sink_options(job.options.flags | (opened.flags & k_found_there), peer, key);
  options.direction = Direction::received;
  options.max_delete = job.options.max_delete;
  options.client = job.client;
  options.wait_readers = job.options.wait_readers;
  options.listing_credit_bytes = job.limits.listing_credit_bytes;
  options.root_names = names_asked_for(job);
  return options;
}

}  // namespace nb::session
