// SPDX-License-Identifier: Apache-2.0
#include "session/set_writer.hpp"

#include "base/random.hpp"
#include "session/set_path.hpp"
#include "session/source_setup.hpp"
#include "txn/transaction.hpp"

namespace nb::session {

Result<SetWriter> open_set_to_write(const std::string& place, const std::optional<std::string>& stay_within,
                                    const std::string& client, std::chrono::seconds wait, Clock& clock,
                                    const txn::OnWait& on_wait) {
  NB_TRY_ASSIGN(const fs::PathRoot bounds, fs::PathRoot::open(stay_within));
  NB_TRY_ASSIGN(SetPath found, find_in_set(bounds, place));
  NB_TRY_ASSIGN(auto set, txn::FileSet::open(std::move(found.root)));
  txn::TxId token{};
  NB_TRY(random_bytes(token));
  const txn::LockNote note = txn::lock_note_of_this_process(client, token, clock);
  NB_TRY_ASSIGN(auto lock, txn::WriterLock::acquire(*set, note, wait, clock, may_go_on, on_wait));
  NB_TRY(txn::recover(*set, *lock, clock, may_go_on));
  return SetWriter{std::move(set), std::move(lock), std::move(found.root_path), std::move(found.inside)};
}

}  // namespace nb::session
