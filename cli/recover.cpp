// SPDX-License-Identifier: Apache-2.0
// recover: finishes or undoes a commit that was interrupted, without waiting for the next push to do it; before that it
// mends what is damaged of the set's own records.
#include <fmt/format.h>

#include "base/random.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/connect.hpp"
#include "cli/print.hpp"
#include "cli/remote_command.hpp"
#include "cli/terminal.hpp"
#include "session/set_path.hpp"
#include "txn/history_check.hpp"
#include "txn/locate.hpp"
#include "txn/lock.hpp"
#include "txn/mend.hpp"
#include "txn/orphans.hpp"
#include "txn/transaction.hpp"

namespace nb::cli {
namespace {

struct Recovered {
  txn::MendReport mended;
  std::vector<txn::Orphan> orphans;
  txn::RecoveryReport report;
  txn::HistoryCheck history;
};

void tell_mended(const std::string& path, const txn::MendReport& mended) {
  for (const std::string& line : mended.mended) print_message(escape(path) + "/.nbackup: " + escape(line));
}

void print_waiting(const std::string& text) { print_message(escape(text)); }

Result<Recovered> recover_set(const std::string& path, std::chrono::seconds wait, Clock& clock) {
  Result<txn::Located> there = txn::locate_set(path, std::nullopt);
  if (!there && there.error().code == Errc::not_found) return session::no_set_at(path, {});
  NB_TRY_ASSIGN(txn::Located located, std::move(there));
  if (!located.is_set) return session::no_set_at(path, located.passed_over);
  txn::TxId token{};
  NB_TRY(random_bytes(token));
  const txn::LockNote note = txn::lock_note_of_this_process(client_name(), token, clock);
  Recovered all;
  NB_TRY_ASSIGN(all.mended, txn::mend(*located.root, note, wait, clock, print_waiting));
  // Told at once: what comes may fail.
  tell_mended(located.root_path, all.mended);
  NB_TRY_ASSIGN(const auto set, txn::FileSet::open(std::move(located.root)));
  NB_TRY_ASSIGN(const auto lock, txn::WriterLock::acquire(*set, note, wait, clock, {}, print_waiting));
  NB_TRY_ASSIGN(all.orphans, txn::set_aside_orphans(*set, *lock));
  NB_TRY_ASSIGN(all.report, txn::recover(*set, *lock, clock));
  NB_TRY_ASSIGN(all.history, txn::check_history(*set));
  if (!all.history.damage) all.history.damage = all.mended.loss;
  return all;
}

// The tree may be half of each of two generations, and nothing can tell which half.
void tell_orphans(const std::vector<txn::Orphan>& orphans) {
  for (const txn::Orphan& each : orphans) {
    const std::string names = each.content == txn::k_files_name ? "under its names" : "without names";
    print_message("the journal of an interrupted commit is missing: what it had replaced is in .nbackup/" +
                  each.place.str() + "/" + each.content + ", " + names +
                  "; push again, and take the generation before for damaged");
  }
}

// What is lost is told, and not dropped: what it keeps may still be taken out by hand.
void tell_lost(const txn::HistoryCheck& history) {
  if (!history.damage) return;
  // Without the hint for such an error, which is this command.
  print_message(error_line(*history.damage));
  if (history.lost.empty()) return;
  print_message("prune --damaged drops what cannot be restored; kept files lie under .nbackup/history/*/files");
}

int exit_code_of(const Recovered& all) {
  if (all.report.action == txn::RecoveryAction::rolled_back) return info(Errc::rolled_back).exit_code;
  if (!all.orphans.empty()) return info(Errc::recovery_failed).exit_code;
  if (!all.report.conflicts.empty()) return info(Errc::foreign_edit).exit_code;
  return all.history.damage ? info(all.history.damage->code).exit_code : 0;
}

std::string outcome(const Recovered& all) {
  switch (all.report.action) {
    case txn::RecoveryAction::nothing: return all.mended.mended.empty() ? "nothing to recover" : "mended";
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
    std::vector<std::string> words{"recover", fmt::format("--wait={}", settings.wait.count())};
    if (settings.quiet) words.emplace_back("--quiet");
    words.insert(words.end(), {"--", place.path});
    return run_on_host(settings, *place.host, words);
  }
  NB_TRY_ASSIGN(const Recovered all, recover_set(place.path, settings.wait, clock));
  for (const RelPath& path : all.report.conflicts) print_error(Error{Errc::foreign_edit, 0, path.str()});
  if (!settings.quiet) {
    print_out("nbackup: {}: {}, generation {}\n", escape(place.path), outcome(all), all.report.generation);
  }
  tell_orphans(all.orphans);
  tell_lost(all.history);
  return exit_code_of(all);
}

}  // namespace

int run_recover(const Settings& settings, Clock& clock) {
  const auto exit_code = recover(settings, clock);
  return exit_code ? *exit_code : report_failure(exit_code.error());
}

}  // namespace nb::cli
