// SPDX-License-Identifier: Apache-2.0
#include "session/sink_history.hpp"

#include "session/source_setup.hpp"
#include "txn/prune.hpp"

namespace nb::session {
namespace {

// Readers who stay that long may keep the old generations until the next run.
constexpr std::chrono::seconds k_wait_readers{10};

using Warn = std::function<void(const std::string&)>;

void tell(const Result<txn::ThinReport>& report, const Warn& warn) {
  const std::string what = "generations that are no longer kept could not be dropped: ";
  if (!report) return warn(what + report.error().message());
  for (const txn::ThinReport::Problem& each : report->problems) {
    warn(what + "generation " + std::to_string(each.generation) + ": " + each.error.message());
  }
}

}  // namespace

void settle_history(SinkSetup& setup, const wire::RunResult& committed, RunHistory history, const Warn& warn,
                    Clock& clock) {
  if (!committed.committed || !setup.set || !setup.writer) return;
  if (setup.set->format().lifetime != txn::Lifetime::permanent) return;
  const txn::ThinOptions options{k_wait_readers, may_go_on};
  if (history == RunHistory::not_wanted) tell(txn::drop_predecessor(*setup.set, *setup.writer, clock, options), warn);
  tell(txn::prune_after_commit(*setup.set, *setup.writer, clock, options), warn);
}

}  // namespace nb::session
