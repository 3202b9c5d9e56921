// SPDX-License-Identifier: Apache-2.0
#include "session/sink_history.hpp"

#include <limits>

#include "session/source_setup.hpp"
#include "txn/history_size.hpp"
#include "txn/prune.hpp"
#include "txn/scrub_record.hpp"

namespace nb::session {
namespace {

// A client waits: some 60 ms.
constexpr std::uint64_t k_most_entries = 20'000;

// Readers who stay that long may keep the old generations until the next run.
constexpr std::chrono::seconds k_wait_readers{10};

using Warn = std::function<void(const std::string&)>;

void tell(const Result<txn::ThinReport>& report, const Warn& warn) {
  const std::string what = "generations that are no longer kept could not be dropped: ";
  if (!report) return warn(what + report.error().message());
  for (const txn::ThinReport::Problem& each : report->problems) {
    warn(what + "generation " + std::to_string(each.generation) + ": " + each.error.message());
  }
  if (!report->emptied) warn(report->emptied.error().message());
}

}  // namespace

void describe_set(txn::FileSet& set, wire::RunResult& result) {
  const auto scrubbed = txn::read_scrub_record(set);
  if (scrubbed && scrubbed->last) result.last_scrub_ns = static_cast<std::uint64_t>(scrubbed->last->ended_ns);
  const auto size = txn::measure_history(set, k_most_entries);
  if (!size || !*size) return;
  result.history_bytes = (*size)->bytes;
  result.history_generations = (*size)->generations;
}

void settle_history(SinkSetup& setup, const wire::RunResult& committed, RunHistory history, const Warn& warn,
                    Clock& clock) {
  if (!committed.committed || !setup.set || !setup.writer) return;
  if (setup.set->format().lifetime != txn::Lifetime::permanent) return;
  const txn::ThinOptions options{k_wait_readers, may_go_on};
  // What the client was not told, the next one is to be.
  bool is_unmeasured = committed.history_generations == 0;
  const auto settle = [&](const Result<txn::ThinReport>& report) {
    tell(report, warn);
    is_unmeasured |= report && !report->dropped.empty();
  };
  if (history == RunHistory::not_wanted) settle(txn::drop_predecessor(*setup.set, *setup.writer, clock, options));
  settle(txn::prune_after_commit(*setup.set, *setup.writer, clock, options));
  if (!is_unmeasured) return;
  static_cast<void>(txn::measure_history(*setup.set, std::numeric_limits<std::uint64_t>::max()));
}

}  // namespace nb::session
