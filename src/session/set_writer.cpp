// SPDX-License-Identifier: Apache-2.0
#include "session/set_writer.hpp"

#include "base/random.hpp"
#include "session/source_setup.hpp"
#include "session/user_path.hpp"
#include "txn/locate.hpp"
#include "txn/transaction.hpp"

namespace nb::session {

Result<SetWriter> open_set_to_write(const std::string& place, const std::optional<std::string>& stay_within,
                                    const std::string& client, std::chrono::seconds wait, Clock& clock,
                                    const txn::OnWait& on_wait) {
  NB_TRY_ASSIGN(TargetPath path, resolve_target(place, SourceShape::tree, stay_within));
  if (path.missing) return fail(Errc::path, place + ": no such directory");
  NB_TRY_ASSIGN(txn::Located found, locate_target(std::move(path), stay_within));
  if (!found.is_set) return fail(Errc::path, "no file set at or above " + place);
  NB_TRY_ASSIGN(auto set, txn::FileSet::open(std::move(found.root)));
  txn::TxId token{};
  NB_TRY(random_bytes(token));
  const txn::LockNote note = txn::lock_note_of_this_process(client, token, clock);
  NB_TRY_ASSIGN(auto lock, txn::WriterLock::acquire(*set, note, wait, clock, may_go_on, on_wait));
  NB_TRY(txn::recover(*set, *lock, clock, may_go_on));
  return SetWriter{std::move(set), std::move(lock), std::move(found.root_path), std::move(found.below)};
}

}  // namespace nb::session
