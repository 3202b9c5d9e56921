// SPDX-License-Identifier: Apache-2.0
// The commit's exclusive lock against readers; it ends with the returned file.
#pragma once

#include <chrono>
#include <memory>

#include "base/clock.hpp"
#include "txn/lock.hpp"

namespace nb::txn {

// Errc::readers_busy if readers hold it for longer than `wait`.
Result<std::unique_ptr<fs::File>> take_apply_lock(FileSet& set, std::chrono::seconds wait, Clock& clock,
                                                  const GoOn& go_on = {});

}  // namespace nb::txn
