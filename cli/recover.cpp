// SPDX-License-Identifier: Apache-2.0
// recover: finishes or undoes a commit that was interrupted, without waiting for the next push to do it.
#include <fmt/format.h>

#include "base/random.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/connect.hpp"
#include "cli/remote_command.hpp"
#include "cli/terminal.hpp"
#include "txn/locate.hpp"
#include "txn/lock.hpp"
#include "txn/transaction.hpp"

namespace nb::cli {
namespace {

Result<txn::RecoveryReport> recover_set(const std::string& path, std::chrono::seconds wait, Clock& clock) {
  NB_TRY_ASSIGN(txn::Located located, txn::locate_set(path, std::nullopt));
  if (!located.is_set) return fail(Errc::path, "no file set at or above " + path);
  NB_TRY_ASSIGN(const auto set, txn::FileSet::open(std::move(located.root)));
  txn::TxId token{};
  NB_TRY(random_bytes(token));
  NB_TRY_ASSIGN(const auto lock, txn::WriterLock::acquire(
                                     *set, txn::lock_note_of_this_process(client_name(), token, clock), wait, clock));
  return txn::recover(*set, *lock, clock);
}

std::string outcome(const txn::RecoveryReport& report) {
  switch (report.action) {
    case txn::RecoveryAction::nothing: return "nothing to recover";
    case txn::RecoveryAction::completed: return "the interrupted commit was completed";
    case txn::RecoveryAction::rolled_back: return "the interrupted commit was undone";
    case txn::RecoveryAction::thinned: return "the interrupted dropping of generations was completed";
    case txn::RecoveryAction::journal_removed: return "the commit was complete; its journal was removed";
  }
  return "recovered";
}

Result<int> recover(const Settings& settings, Clock& clock) {
  NB_TRY_ASSIGN(const ssh::Location place, ssh::parse_location(settings.arguments.front()));
  if (place.host) {
    const std::string wait = fmt::format("--wait={}", settings.wait.count());
    return run_on_host(settings, *place.host, {"recover", wait, "--", place.path});
  }
  NB_TRY_ASSIGN(const txn::RecoveryReport report, recover_set(place.path, settings.wait, clock));
  for (const RelPath& path : report.conflicts) {
    print_error(Error{Errc::foreign_edit, 0, path.str()});
  }
  if (!settings.quiet) {
    fmt::print("nbackup: {}: {}, generation {}\n", escape(place.path), outcome(report), report.generation);
  }
  const Errc worst = report.action == txn::RecoveryAction::rolled_back ? Errc::rolled_back : Errc::foreign_edit;
  const bool clean = report.action != txn::RecoveryAction::rolled_back && report.conflicts.empty();
  return clean ? 0 : info(worst).exit_code;
}

}  // namespace

int run_recover(const Settings& settings, Clock& clock) {
  const auto exit_code = recover(settings, clock);
  return exit_code ? *exit_code : report_failure(exit_code.error());
}

}  // namespace nb::cli
