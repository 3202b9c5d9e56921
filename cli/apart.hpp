// SPDX-License-Identifier: Apache-2.0
// A destination that is or lies in its own source would be copied with it, each time with all that was copied before.
#pragma once

#include "cli/endpoints.hpp"
#include "session/run_options.hpp"

namespace nb::cli {

// Errc::path, with the way out, where the destination is, or is in, a source of this machine and no rule of `options`
// leaves it out. What is on a host cannot be known here.
Status check_apart(const Endpoints& ends, const session::Options& options);

}  // namespace nb::cli
