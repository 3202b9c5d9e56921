// SPDX-License-Identifier: Apache-2.0
// SetWriter: a file set held by somebody who changes what is kept of it, its tree aside: what was interrupted is
// finished, and other writers wait or are refused.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "txn/lock.hpp"

namespace nb::session {

struct SetWriter {
  std::unique_ptr<txn::FileSet> set;
  std::unique_ptr<txn::WriterLock> lock;
  std::string root_path;  // absolute and real, for messages
  RelPath below;          // the place asked for, seen from the set's root; need not be there
};

// As open_set (set_reader.hpp), with the writer's lock. Errc::locked if another holds it for longer than `wait`.
Result<SetWriter> open_set_to_write(const std::string& place, const std::optional<std::string>& stay_within,
                                    const std::string& client, std::chrono::seconds wait, Clock& clock,
                                    const txn::OnWait& on_wait);

}  // namespace nb::session
