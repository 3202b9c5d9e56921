// SPDX-License-Identifier: Apache-2.0
// A file that only its owner may read, made where it is missing. Used for the databases and the locks beside them.
#pragma once

#include <string>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "cache/database.hpp"

namespace nb::cache {

// Open for reading and writing; 0600 afterwards, whatever it was. By PathRule::user the directories above it that are
// missing are made (0700); by PathRule::exact it must be no symlink (Errc::path).
Result<Fd> open_private_file(const std::string& path, PathRule rule);

}  // namespace nb::cache
