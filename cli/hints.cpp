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

// Not here: errors whose message says it already. One line of a terminal each.
constexpr std::array k_hints{
    Hint{Errc::protocol_version, "Install the same version of nbackup on both sides."},
    Hint{Errc::remote_missing, "Install it: nbackup deploy HOST, or say where it is: --remote-path"},
    Hint{Errc::connect, "Check name and port, and that sshd runs there; ssh -v shows more."},
    Hint{Errc::auth, "Check that 'ssh -o BatchMode=yes HOST true' works for this user."},
    Hint{Errc::insecure, "Only the login was sent. Without --ssh-security all is encrypted."},
    Hint{Errc::no_space, "Free some space there and run it again: what was sent is kept."},
    Hint{Errc::sync_failed, "Nothing was committed. The disk may be failing: look at dmesg there."},
    Hint{Errc::protocol, "Does the login print text? 'ssh HOST true' must print nothing."},
    Hint{Errc::connection_lost, "Run it again: what was sent is kept. Transfers do so by --retry=N."},
    // Not of a run, of which the reporters say it.
    Hint{Errc::interrupted, "What was under way is stopped; what is committed stays."},
    Hint{Errc::changed, "Stop what writes to it, or back up a snapshot."},
    Hint{Errc::unreadable, "Make it readable for this user, or leave it out with --exclude."},
    Hint{Errc::max_delete, "Look with -n -i --delete --max-delete=-1; if right, leave out -n."},
    Hint{Errc::timeout, "Run it again: what was sent is kept. Transfers have --timeout."},
    Hint{Errc::connect_timeout, "Check that the host is up, or raise --contimeout."},
    Hint{Errc::guard_empty_source, "Is it mounted? If it is meant to be empty, run with --allow-empty."},
    Hint{Errc::guard_mount_point, "Mount it, or run with --allow-unmounted."},
    Hint{Errc::guard_set_missing, "Is it mounted? If it was replaced on purpose, run with --new-set."},
    Hint{Errc::nested_set, "Push to it by its own path, or leave it out with --exclude."},
    Hint{Errc::stale, "Look at its log. One that is gone: nbackup status --forget DEST"},
    Hint{Errc::locked, "Try again later; what writes can wait for it: --wait=SECONDS"},
    Hint{Errc::in_doubt, "'nbackup recover' there finds out. Change nothing by hand before."},
    Hint{Errc::rolled_back, "The old state is whole. Remove the cause (chattr -i, space, quota)."},
    Hint{Errc::recovery_failed, "Remove the cause (chattr -i, space, quota), then: nbackup recover DIR"},
    Hint{Errc::cross_device, "Unmount it, exclude it, or make it a set of its own: nbackup init."},
    Hint{Errc::readers_busy, "Something reads the set for long; try again, or raise --wait-readers."},
    Hint{Errc::bad_set, "'nbackup recover' there mends what it can. The files are plain files."},
    Hint{Errc::not_permitted, "Another user owns it, or it is protected (lsattr shows +i and +a)."},
    Hint{Errc::foreign_edit, "Your version is under .nbackup/conflict/ in the set."},
    Hint{Errc::read_only, "Remount the file system, or use a key that may do this."},
    Hint{Errc::damaged, "'nbackup heal' restores files, 'nbackup recover' mends records."},
    Hint{Errc::internal, "Please report this, with the command and this message."},
};

// What goes while a source is read is told as vanished.
constexpr std::string_view k_missing = "It is missing in the file set: 'nbackup scrub' tells what else is.";
constexpr std::string_view k_too_long = "A path has at most 4,095 bytes: shorten a name, or --exclude it.";

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
