// SPDX-License-Identifier: Apache-2.0
// Which file system a descriptor is on, in a way that survives boots and remounts. Internal to src/fs.
#pragma once

#include <optional>
#include <string>

namespace nb::fs::posix {

// See Node::file_system_identity. `fd` may be of any kind; of an O_PATH one the answer is "unknown".
std::optional<std::string> file_system_identity(int fd);
// See Directory::attribute_identity.
std::optional<std::string> attribute_identity(int fd);
// See Directory::folds_case.
bool folds_case(int fd);

}  // namespace nb::fs::posix
