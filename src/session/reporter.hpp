// SPDX-License-Identifier: Apache-2.0
// Reporter: where per-file problems go. On the client they reach the Observer; on the remote end they are sent to the
// client. Either way they are counted, and the count decides the exit code. Thread-safe.
#pragma once

#include <mutex>

#include "session/connection.hpp"
#include "session/observer.hpp"

namespace nb::session {

enum class Side : std::uint8_t { client, server };

class Reporter {
 public:
  Reporter(Side side, Observer& observer, Connection& connection)
      : m_side(side), m_observer(observer), m_connection(connection) {}

  // One path could not be handled.
  void problem(const Error& error);
  // A change, for itemized output.
  void item(const wire::Item& item);
  void phase(wire::PhaseKind phase);
  void progress(const Counts& counts);
  // For this side's own log.
  void notice(const std::string& text);
  // For whoever watches the run, on whichever side.
  void advise(const std::string& text);
  // What the other side reported. It is shown on the client and never sent back: the thread that receives must not wait
  // for room on the line.
  void received(const wire::Problem& problem);
  void received(const wire::Item& item);
  void received(const wire::Notice& notice);
  void received(const wire::Phase& phase);

  [[nodiscard]] std::uint64_t problems() const;
  // 0, 23 or 24, as rsync would exit for the problems so far.
  [[nodiscard]] int exit_code() const;

 private:
  void count(const Error& error);

  const Side m_side;
  Observer& m_observer;
  Connection& m_connection;
  mutable std::mutex m_mutex;
  std::uint64_t m_problems = 0;
  int m_exit = 0;
};

}  // namespace nb::session
