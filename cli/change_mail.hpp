// SPDX-License-Identifier: Apache-2.0
// --mail-on-change: a mail when a run ended otherwise than the last time, by the sendmail program that every mail
// system brings.
#pragma once

#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace nb::cli {

// Errc::usage for what is no address: it goes into a header and onto a command line. Pure.
Status check_mail_address(const std::string& address);

// Whether this end is news. Where nothing is known of the last time, a success is none. Pure.
bool is_news(std::optional<int> last_exit_code, int exit_code);

// "nbackup on root@nas: push /data to rpi4:/pool failed (exit code 10)"; ", works again" where it did. Printable ASCII.
std::string mail_subject(const std::string& client, const std::string& title, int exit_code);

// The message with its headers. Lines are cut at what mail allows. Pure.
std::string mail_text(const std::string& address, const std::string& subject, const std::string& body);

// Hands the message over. Errors have the whole reason in their context.
Status send_mail(const std::string& address, const std::string& text, Clock& clock);

}  // namespace nb::cli
