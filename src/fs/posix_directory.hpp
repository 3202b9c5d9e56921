// SPDX-License-Identifier: Apache-2.0
// The real file system behind Directory.
#pragma once

#include <memory>
#include <string>

#include "fs/directory.hpp"

namespace nb::fs {

// Opens a directory by a path that the user gave (symlinks followed, as every tool does for its arguments). This is the
// only place where a path string from outside reaches the kernel whole.
Result<std::unique_ptr<Directory>> open_user_directory(const std::string& path);

// Of the file system that an open file or directory is on.
Result<Space> space_of(int fd);

}  // namespace nb::fs
