// SPDX-License-Identifier: Apache-2.0
// The Debian package of nssh that `deploy --nssh` sends: where it is on this machine and what dpkg says of it.
#pragma once

#include <string>

#include "cli/deploy_plan.hpp"

namespace nb::cli {

// The newest package for `architecture` in the folder where nssh/build is told to put it. Errc::not_found, with how to
// make one, if there is none.
Result<std::string> find_nssh_package(const std::string& architecture);

// Reads what the package says of itself; `installed` is the version to compare with, or empty. Errc::usage if it is no
// package of nssh. Needs dpkg on this machine.
Result<PackageOffer> describe_nssh_package(const std::string& file, const std::string& installed);

}  // namespace nb::cli
