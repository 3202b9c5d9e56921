// SPDX-License-Identifier: Apache-2.0
#include "cli/hints.hpp"

#include <array>
#include <cerrno>

namespace nb::cli {
namespace {

struct Hint {
  Errc code;
  std::string_view text;
};

// Not here: errors whose message says it already (the guards name their overrides).
constexpr std::array k_hints{
    Hint{Errc::protocol_version, "Install the same version of nbackup on both sides."},
    Hint{Errc::remote_missing,
         "Install it there: nbackup deploy HOST. If it is there, say where: --remote-path=COMMAND"},
    Hint{Errc::connect, "Check the name, the port and that sshd runs there; ssh -v shows what happens."},
    Hint{Errc::auth, "Check that 'ssh -o BatchMode=yes HOST true' works for this user."},
    Hint{Errc::insecure, "Nothing but the login was sent. Without --ssh-security it is encrypted or fails."},
    Hint{Errc::no_space, "Free some space at the destination and run it again: what was sent is kept and used."},
    Hint{Errc::sync_failed, "The disk or its cable may be failing: look at dmesg there. Nothing was committed."},
    Hint{Errc::protocol,
         "If the remote shell prints something at login, silence it: ssh HOST true must print nothing."},
    Hint{Errc::connection_lost, "Run it again: what was sent is kept. --retry=N does so by itself."},
    // Not of a run, of which the reporters say it.
    Hint{Errc::interrupted, "What was under way is stopped; what is committed stays."},
    Hint{Errc::changed, "Stop what writes to it, or back up a snapshot."},
    Hint{Errc::unreadable, "Make it readable for this user, or leave it out with --exclude."},
    Hint{Errc::max_delete, "Look at it with -n -i --delete --max-delete=-1. If it is right, leave out the -n. A "
                               "key that may only add is held to the set's policy."},
    Hint{Errc::timeout, "Run it again: what was sent is kept. A longer --timeout helps a slow disk."},
    Hint{Errc::connect_timeout, "Check that the host is up, or raise --contimeout."},
    Hint{Errc::locked, "Try again later, or wait for it: --wait=SECONDS"},
    Hint{Errc::in_doubt, "Run 'nbackup recover' there when the disk works: it finds out. Change nothing by hand."},
    Hint{Errc::rolled_back, "The old state is complete. Remove the cause (chattr -i, space, quota) and run it again."},
    Hint{Errc::recovery_failed, "Remove the cause (chattr -i, space, quota), then: nbackup recover DIR"},
    Hint{Errc::cross_device, "Unmount it, exclude it, or make it a set of its own with 'nbackup init'."},
    Hint{Errc::readers_busy, "Something reads the set for long; try again, or raise --wait-readers."},
    Hint{Errc::bad_set, "'nbackup recover' there mends what it can, and its files are plain files all the same."},
    Hint{Errc::not_permitted, "Another user owns it, or it is protected (lsattr shows +i and +a)."},
    Hint{Errc::foreign_edit, "Your version is under .nbackup/conflict/ in the set."},
    Hint{Errc::read_only, "The file system or the key is read-only: remount it, or use another key."},
    Hint{Errc::damaged, "'nbackup heal' restores a file from a sound copy, 'nbackup recover' mends records."},
    Hint{Errc::internal, "This is a fault of nbackup: please report it with the command and this message."},
};

// What goes while a source is read is told as vanished.
constexpr std::string_view k_missing = "It is missing in the file set: 'nbackup scrub' finds out what else is.";
constexpr std::string_view k_too_long =
    "A path has at most 4,095 bytes: shorten a name, back up a directory on the way as a source of its own, or leave "
    "it out with --exclude.";

}  // namespace

std::string_view hint_for(const Error& error) {
  if (error.code == Errc::unreadable && error.sys_errno == ENAMETOOLONG) return k_too_long;
  if (error.code == Errc::unreadable && error.sys_errno == ENOENT) return k_missing;
  // No operation failed: its words say why.
  if (error.code == Errc::unreadable && error.sys_errno == 0) return {};
  for (const Hint& hint : k_hints) {
    if (hint.code == error.code) return hint.text;
  }
  return {};
}

}  // namespace nb::cli
