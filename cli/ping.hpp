// SPDX-License-Identifier: Apache-2.0
// --ping-url: a web address is told when a run starts and how it ended, in the manner of healthchecks.io.
#pragma once

#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace nb::cli {

enum class PingEvent : std::uint8_t { started, succeeded, failed };

// Errc::usage unless it is an http:// or https:// address with a host. Pure.
Status check_ping_url(const std::string& url);

// Where the event is told: the URL with /start, nothing or /fail behind its path, before a query. Pure.
std::string ping_address(const std::string& url, PingEvent event);

// Tells it. An end is told up to three times, for a ping that is lost is a false alarm; a start once. An error's
// context says what went wrong where, without the URL's path, which may be a secret.
Status ping(const std::string& url, PingEvent event, const std::string& body, Clock& clock);

}  // namespace nb::cli
