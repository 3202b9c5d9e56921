// SPDX-License-Identifier: Apache-2.0
#include "session/interrupt.hpp"

#include <atomic>

#include "session/client.hpp"

namespace nb::session {
namespace {

std::atomic<bool> g_requested{false};
std::atomic<int> g_shields{0};
static_assert(std::atomic<bool>::is_always_lock_free, "set from a signal handler");

}  // namespace

void request_interrupt() { g_requested.store(true); }

bool interrupt_requested() { return g_requested.load() && g_shields.load() == 0; }
bool may_go_on() { return !interrupt_requested(); }

InterruptShield::InterruptShield() { ++g_shields; }
InterruptShield::~InterruptShield() { --g_shields; }

}  // namespace nb::session
