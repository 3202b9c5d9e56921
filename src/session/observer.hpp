// SPDX-License-Identifier: Apache-2.0
// Observer: how a run tells the terminal, the log file and --json what happens. Implemented in cli/. Calls may come
// from any of the session's threads, never two at once; they must not block for long.
#pragma once

#include <string>

#include "base/result.hpp"
#include "session/job.hpp"
#include "wire/messages.hpp"

namespace nb::session {

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_phase(wire::PhaseKind phase) = 0;
  // At most about ten times a second, while the source is at work.
  virtual void on_progress(const Counts& so_far) = 0;
  // One change, in rsync's itemized form; only with k_flag_itemize.
  virtual void on_item(const wire::Item& item) = 0;
  // One path that could not be handled; the run goes on.
  virtual void on_problem(const Error& error) = 0;
  // Something a person should know that is no error ("resuming: 812 files are already staged").
  virtual void on_notice(const std::string& text) = 0;
};

}  // namespace nb::session
