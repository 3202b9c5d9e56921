// SPDX-License-Identifier: Apache-2.0
// The parts of `restore`.
#pragma once

#include "base/clock.hpp"
#include "cli/settings.hpp"

namespace nb::cli {

// With one_file anything but a single source that is no directory is refused before it is sent.
enum class RestoreShape : std::uint8_t { any, one_file };
// A pull of the sources as they were at settings.at, to the destination, and with settings.read_back a comparison after
// it. Tells everything; returns the exit code.
int restore_to_tree(const Settings& settings, RestoreShape shape, Clock& clock);

// The destination is "-": one file, to standard output. It is restored to a temporary directory first, so that nothing
// is written but a whole file whose digest was right.
int restore_to_stdout(const Settings& settings, Clock& clock);

}  // namespace nb::cli
