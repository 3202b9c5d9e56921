// SPDX-License-Identifier: Apache-2.0
// The client's end of a run. cli/ gives it a way to connect; it connects, runs, and after a lost connection connects
// again with the same transaction id: what was staged is resumed, and a commit whose answer was lost is asked for.
#pragma once

#include <functional>
#include <memory>

#include "base/clock.hpp"
#include "session/job.hpp"
#include "session/observer.hpp"
#include "transport/byte_stream.hpp"

namespace nb::session {

using Connector = std::function<Result<std::unique_ptr<transport::ByteStream>>()>;

struct RetryPolicy {
  unsigned attempts = 0;                        // tries after the first
  std::chrono::milliseconds first_delay{1000};  // doubled each time, up to a minute
};

// Runs `job` to its end. Errors are session errors; per-file ones are in the report.
Result<RunReport> run(const Job& job, const Connector& connect, const RetryPolicy& retry, Observer& observer,
                      Clock& clock);

// Set from a signal handler (async-signal-safe): every running session of this process ends with Errc::interrupted at
// its next step, leaving the stage as resume data. A commit past its commit point is finished first.
void request_interrupt();

}  // namespace nb::session
