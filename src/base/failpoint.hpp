// SPDX-License-Identifier: Apache-2.0
// Failpoints: named places where a test can make the process die, fail or stop. Compiled in only with NB_FAILPOINTS
// (presets dev, ci, asan, tsan); a release build has no trace of them.
//
// NBACKUP_FAILPOINT="name=action[@count][,...]" arms them; the count-th pass (1 is the first and the default) acts:
//   abort  the process dies at once, as by SIGKILL: nothing is flushed, no destructor runs
//   stop   the process stops (SIGSTOP) until it is continued, so that a test can look at the disk or kill it
//   error  the place returns Errc::io with EIO, as a failing system call would
// NBACKUP_FAILPOINT_LOG=FILE appends the name of each failpoint passed (once per process), for the coverage check.
// The list of all names is generated from the sources by scripts/list-failpoints. This is process-wide state by
// nature: it stands for the power switch.
#pragma once

#include "base/result.hpp"

namespace nb {

#ifdef NB_FAILPOINTS
// Returns an error where the test asked for one; may not return at all.
Status failpoint(std::string_view name);
#else
inline Status failpoint(std::string_view) { return {}; }
#endif

}  // namespace nb

// At a place that can report: returns the injected error out of the enclosing function.
#define NB_FAILPOINT(name) NB_TRY(::nb::failpoint(name))
