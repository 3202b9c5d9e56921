// SPDX-License-Identifier: Apache-2.0
// Where the client's memory lies. Called once by cli/.
#pragma once

#include <string>

#include "base/result.hpp"

namespace nb::cache {

// $NBACKUP_CACHE, else $XDG_CACHE_HOME/nbackup/cache.db, else ~/.cache/nbackup/cache.db. XDG_CACHE_HOME counts only if
// it is absolute, as its specification asks. Errc::not_found where not even a home directory is known.
Result<std::string> default_client_state_path();

// Makes the directories above `path` that are missing (0700) and the file itself if it is missing; the file is 0600
// afterwards, whatever it was.
Status prepare_private_file(const std::string& path);

}  // namespace nb::cache
