// SPDX-License-Identifier: Apache-2.0
#include "cli/reporter.hpp"

#include <mutex>

namespace nb::cli {

struct ReporterGroup::State {
  std::mutex mutex;
  std::vector<std::unique_ptr<Reporter>> members;
};

ReporterGroup::ReporterGroup() : m_state(std::make_unique<State>()) {}
ReporterGroup::~ReporterGroup() = default;

void ReporterGroup::add(std::unique_ptr<Reporter> reporter) {
  const std::lock_guard lock(m_state->mutex);
  m_state->members.push_back(std::move(reporter));
}

template <class Call>
void ReporterGroup::each(const Call& call) {
  const std::lock_guard lock(m_state->mutex);
  for (const auto& member : m_state->members) call(*member);
}

void ReporterGroup::on_start(const RunStart& start) {
  each([&](Reporter& to) { to.on_start(start); });
}
void ReporterGroup::on_link(const transport::RemoteLink& link) {
  each([&](Reporter& to) { to.on_link(link); });
}
void ReporterGroup::on_phase(wire::PhaseKind phase) {
  each([&](Reporter& to) { to.on_phase(phase); });
}
void ReporterGroup::on_progress(const session::Counts& so_far) {
  each([&](Reporter& to) { to.on_progress(so_far); });
}
void ReporterGroup::on_item(const wire::Item& item) {
  each([&](Reporter& to) { to.on_item(item); });
}
void ReporterGroup::on_problem(const Error& error) {
  each([&](Reporter& to) { to.on_problem(error); });
}
void ReporterGroup::on_notice(const std::string& text) {
  each([&](Reporter& to) { to.on_notice(text); });
}
void ReporterGroup::on_warning(const std::string& text) {
  each([&](Reporter& to) { to.on_warning(text); });
}
void ReporterGroup::on_remote_line(std::string_view line) {
  each([&](Reporter& to) { to.on_remote_line(line); });
}
void ReporterGroup::on_summary(const RunSummary& summary) {
  each([&](Reporter& to) { to.on_summary(summary); });
}
void ReporterGroup::on_error(const Error& error, int exit_code) {
  each([&](Reporter& to) { to.on_error(error, exit_code); });
}

std::string_view phase_name(wire::PhaseKind phase) {
  switch (phase) {
    case wire::PhaseKind::compare: return "compare";
    case wire::PhaseKind::transfer: return "transfer";
    case wire::PhaseKind::sync: return "sync";
    case wire::PhaseKind::commit: return "commit";
    case wire::PhaseKind::cleanup: return "cleanup";
  }
  return "unknown";
}

}  // namespace nb::cli
