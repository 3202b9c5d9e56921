// SPDX-License-Identifier: Apache-2.0
// The parts of `restore`.
#pragma once

#include <functional>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "cli/settings.hpp"

namespace nb::cli {

// Where to restore to. Called at each connection, once it stands: until then a signal ends the process at once, and
// nothing may be left behind.
using MakePlace = std::function<Result<std::string>()>;
// A pull of the one source as it was at settings.at, to that place, and with settings.read_back a comparison after it.
// Anything but a single source that is no directory is refused before it is sent. Tells everything; returns the exit
// code.
int restore_file(const Settings& settings, const MakePlace& make_place, Clock& clock);

// The destination is "-": one file, to standard output. It is restored to a temporary directory first, so that nothing
// is written but a whole file whose digest was right.
int restore_to_stdout(const Settings& settings, Clock& clock);

}  // namespace nb::cli
