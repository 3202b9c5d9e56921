// SPDX-License-Identifier: Apache-2.0
// SinkSetup: everything a sink stands on, from a destination as the user wrote it: the directory, the file set around
// it or a new one, its writer's lock and a transaction. Used by serve (push) and by the client (pull).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "session/sink.hpp"
#include "session/user_path.hpp"
#include "txn/lock.hpp"
#include "txn/transaction.hpp"

namespace nb::session {

struct SinkRequest {
  std::string destination;
  SourceShape shape = SourceShape::tree;
  SinkMode mode = SinkMode::commit;
  txn::Lifetime lifetime = txn::Lifetime::permanent;  // of a set that has to be made
  std::optional<wire::Id> expected_set;               // the guard: this set, or Errc::guard_set_missing
  std::optional<wire::Id> source_set;                 // the set that a pull reads from, where it lies in one
  bool must_keep_history = false;                     // Errc::read_only where a set would not last
  Bytes offered_secret;                               // for a new set
  std::string client;
  txn::TxId transaction{};
  std::chrono::seconds wait{0};
  txn::OnWait on_wait;
  std::optional<std::string> stay_within;  // serve --root
};

struct SinkSetup {
  std::unique_ptr<txn::FileSet> set;          // where there is one
  std::unique_ptr<fs::Directory> plain_root;  // where there is none (dry run); null if nothing is there at all
  RelPath base;
  std::optional<std::string> new_name;
  std::optional<hash::Secret> secret;
  std::unique_ptr<txn::WriterLock> writer;
  std::unique_ptr<txn::ReaderLock> reader;
  std::unique_ptr<txn::Transaction> transaction;

  [[nodiscard]] SinkTarget target() const;
};

Result<SinkSetup> set_up_sink(const SinkRequest& request, Clock& clock);

}  // namespace nb::session
