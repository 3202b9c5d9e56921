// SPDX-License-Identifier: Apache-2.0
// Where the user's own files of nbackup lie, by the XDG base directory specification: a variable of it counts only if
// its value is absolute. Errc::not_found where not even a home directory is known.
#pragma once

#include <string>

#include "base/result.hpp"

namespace nb::cli {

// $HOME, else what the user database says.
Result<std::string> home_directory();

// The client's memory: $NBACKUP_CACHE, else $XDG_CACHE_HOME/nbackup/cache.db, else ~/.cache/nbackup/cache.db.
Result<std::string> memory_path();

// What it says about hosts (host_options.hpp): $NBACKUP_CONFIG, else $XDG_CONFIG_HOME/nbackup/config, else
// ~/.config/nbackup/config.
Result<std::string> config_path();
// Whether NBACKUP_CONFIG says where: then it is meant to be read.
bool config_is_named();

}  // namespace nb::cli
