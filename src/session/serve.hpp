// SPDX-License-Identifier: Apache-2.0
// The remote end: answers one session on a byte stream, as source (pull) or sink (push).
#pragma once

#include <optional>
#include <string>

#include "base/clock.hpp"
#include "session/observer.hpp"
#include "transport/byte_stream.hpp"

namespace nb::session {

struct ServeOptions {
  std::optional<std::string> root;  // real absolute path: everything is confined to it, and relative paths start here
  bool read_only = false;           // refuses every push that is not a dry run or a verification
  // Refuses what would take away an earlier state: a push without history, or to where no set keeps one; one that
  // deletes more than the usual limit, whatever the client allows.
  bool append_only = false;
  std::chrono::seconds inactivity{0};
  Limits limits;
};

// Serves one session to its end. An error was already sent to the peer where that was possible.
Status serve(transport::ByteStream& stream, const ServeOptions& options, Observer& observer, Clock& clock);

}  // namespace nb::session
