// SPDX-License-Identifier: Apache-2.0
// Mending: what is missing or damaged of a set's own small records is made anew from what else the set keeps. Used by
// `nbackup recover`, before the set is opened, which takes all of them to be sound. The tree, and what history keeps,
// are not touched.
//
//   format     from the spare; else the identity that a standing journal or merge names; else a new identity
//   secret     from the spare; else a new one, and what was recorded under the old one goes: contents are read again
//   head       from the account of the newest generation of history, or what a standing journal follows
//   accounts   from the head of the list of changes, or from the neighbours; when and by whom it was made is lost
//   spare      from format and secret
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "txn/lock.hpp"

namespace nb::txn {

struct MendReport {
  std::vector<std::string> mended;  // a line each, for a person: "head: made anew from history/7"
  std::optional<Error> loss;        // of all older generations: nothing else in the set tells of it from now on
};

// `root` has a control directory. Takes the writer's lock for as long as it works. What was damaged stays beside the new
// one, as `<name>.damaged`. Errc::bad_set for what can be made from nothing, which then stays as it was found, and for
// a record that a newer nbackup has made.
Result<MendReport> mend(fs::Directory& root, LockNote note, std::chrono::seconds wait, Clock& clock,
                        const OnWait& on_wait = {});

}  // namespace nb::txn
