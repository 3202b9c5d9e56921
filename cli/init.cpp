// SPDX-License-Identifier: Apache-2.0
// init: makes a file set in a directory, which is made too where it is missing.
#include <sys/stat.h>

#include <cerrno>

#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/connect.hpp"
#include "cli/policy.hpp"
#include "cli/remote_command.hpp"
#include "cli/terminal.hpp"
#include "fs/posix_directory.hpp"
#include "txn/file_set.hpp"
#include "txn/locate.hpp"
#include "txn/prune.hpp"

namespace nb::cli {
namespace {

// A set inside another one is legitimate, and easily a slip.
Status check_place(const std::string& path) {
  const auto outer = txn::locate_set(path, std::nullopt);
  if (!outer || !outer->is_set) return {};
  if (outer->below.is_root()) return fail(Errc::exists, path + ": a file set is there, and stays as it is");
  print_message(escape(path) + " lies inside the file set at " + escape(outer->root_path) +
                "; from now on a push to that one keeps out of it");
  return {};
}

// Returns the new set's UUID as text.
Result<std::string> make_set(const std::string& path, const Settings& settings, Clock& clock) {
  if (::mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) return fail_errno("mkdir " + path);
  NB_TRY(check_place(path));
  NB_TRY_ASSIGN(auto root, fs::open_user_directory(path));
  NB_TRY_ASSIGN(const hash::Secret secret, hash::Secret::generate());
  auto set = txn::FileSet::create(std::move(root), txn::Lifetime::permanent, secret);
  if (!set) return wrap(std::move(set).error(), path);
  if (names_policy(settings)) {
    const txn::LockNote note = txn::lock_note_of_this_process(client_name(), {}, clock);
    NB_TRY_ASSIGN(const auto lock, txn::WriterLock::acquire(**set, note, std::chrono::seconds(0), clock));
    NB_TRY(txn::write_policy(**set, *lock, changed_policy({}, settings)));
  }
  return txn::id_text((*set)->format().uuid);
}

Result<int> init(const Settings& settings, Clock& clock) {
  NB_TRY_ASSIGN(const ssh::Location place, ssh::parse_location(settings.arguments.front()));
  if (place.host) {
    std::vector<std::string> words = policy_words(settings.given);
    words.insert(words.begin(), "init");
    if (settings.quiet) words.emplace_back("--quiet");
    words.insert(words.end(), {"--", place.path});
    return run_on_host(settings, *place.host, words);
  }
  NB_TRY_ASSIGN(const std::string uuid, make_set(place.path, settings, clock));
  if (!settings.quiet) std::printf("nbackup: made file set %s at %s\n", uuid.c_str(), escape(place.path).c_str());
  return 0;
}

}  // namespace

int run_init(const Settings& settings, Clock& clock) {
  const auto exit_code = init(settings, clock);
  return exit_code ? *exit_code : report_failure(exit_code.error());
}

}  // namespace nb::cli
