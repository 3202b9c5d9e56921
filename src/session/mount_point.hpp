// SPDX-License-Identifier: Apache-2.0
// Mount points by their paths: which ones a source lies below, and what became of those that a push has remembered. For
// the guard of a run, and for the client's memory after one that could not look at everything.
#pragma once

#include <string>

namespace nb::session {

// Whether something is mounted at `path`, which is absolute. Before Linux 5.8 nothing tells: false.
[[nodiscard]] bool is_mount_point(const std::string& path);

// Whether `path`, absolute and once a mount point, is a directory with nothing mounted on it now. False where there is
// no directory, or one that cannot be looked at.
[[nodiscard]] bool has_lost_mount(const std::string& path);

}  // namespace nb::session
