// SPDX-License-Identifier: Apache-2.0
// Where the client's memory lies. Called once by cli/.
#pragma once

#include <string>

#include "base/result.hpp"

namespace nb::cache {

// $NBACKUP_CACHE, else $XDG_CACHE_HOME/nbackup/cache.db, else ~/.cache/nbackup/cache.db. XDG_CACHE_HOME counts only if
// it is absolute, as its specification asks. Errc::not_found where not even a home directory is known.
Result<std::string> default_client_state_path();

}  // namespace nb::cache
