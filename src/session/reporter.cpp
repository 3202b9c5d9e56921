// SPDX-License-Identifier: Apache-2.0
#include "session/reporter.hpp"

namespace nb::session {

// 24 (something vanished) gives way to 23 (something could not be transferred).
void Reporter::count(const Error& error) {
  ++m_problems;
  const int code = info(error.code).exit_code == info(Errc::vanished).exit_code ? 24 : 23;
  if (m_exit != 23) m_exit = code;
}

void Reporter::problem(const Error& error) {
  const std::lock_guard lock(m_mutex);
  count(error);
  if (m_side == Side::client) {
    m_observer.on_problem(error);
  } else {
    // A broken connection shows itself to whoever receives.
    static_cast<void>(
        m_connection.send(wire::Problem{error.code, static_cast<std::uint64_t>(error.sys_errno), error.context}));
  }
}

void Reporter::item(const wire::Item& item) {
  const std::lock_guard lock(m_mutex);
  if (m_side == Side::client) {
    m_observer.on_item(item);
  } else {
    static_cast<void>(m_connection.send(item));
  }
}

void Reporter::phase(wire::PhaseKind phase) {
  {
    const std::lock_guard lock(m_mutex);
    if (m_side == Side::client) return m_observer.on_phase(phase);
  }
  static_cast<void>(m_connection.send(wire::Phase{phase}));
  static_cast<void>(m_connection.flush());
}

void Reporter::progress(const Counts& counts) {
  const std::lock_guard lock(m_mutex);
  if (m_side == Side::client) m_observer.on_progress(counts);
}

void Reporter::notice(const std::string& text) {
  const std::lock_guard lock(m_mutex);
  m_observer.on_notice(text);
}

void Reporter::advise(const std::string& text) {
  const std::lock_guard lock(m_mutex);
  if (m_side == Side::client) return m_observer.on_notice(text);
  static_cast<void>(m_connection.send(wire::Notice{text}));
}

void Reporter::received(const wire::Problem& problem) {
  const Error error{problem.code, static_cast<int>(problem.sys_errno), problem.context};
  const std::lock_guard lock(m_mutex);
  count(error);
  if (m_side == Side::client) m_observer.on_problem(error);
}

void Reporter::received(const wire::Item& item) {
  const std::lock_guard lock(m_mutex);
  if (m_side == Side::client) m_observer.on_item(item);
}

void Reporter::received(const wire::Notice& notice) {
  const std::lock_guard lock(m_mutex);
  if (m_side == Side::client) m_observer.on_notice(notice.text);
}

void Reporter::received(const wire::Phase& phase) {
  const std::lock_guard lock(m_mutex);
  if (m_side == Side::client) m_observer.on_phase(phase.kind);
}

std::uint64_t Reporter::problems() const {
  const std::lock_guard lock(m_mutex);
  return m_problems;
}

int Reporter::exit_code() const {
  const std::lock_guard lock(m_mutex);
  return m_exit;
}

}  // namespace nb::session
