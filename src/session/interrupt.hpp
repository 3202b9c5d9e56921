// SPDX-License-Identifier: Apache-2.0
// The one flag that a signal handler sets (session::request_interrupt in client.hpp), and the shield that a commit
// holds up against it. Process-wide because signals are.
#pragma once

namespace nb::session {

// True once request_interrupt() was called and no shield is up.
bool interrupt_requested();

// The opposite, as a GoOn (base/go_on.hpp).
bool may_go_on();

// While one of these lives, the process must not give up: a commit is past its commit point.
class InterruptShield {
 public:
  InterruptShield();
  ~InterruptShield();
  InterruptShield(const InterruptShield&) = delete;
  InterruptShield& operator=(const InterruptShield&) = delete;
};

}  // namespace nb::session
