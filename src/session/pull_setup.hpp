// SPDX-License-Identifier: Apache-2.0
// What the client's sink is told in a pull: where to, under which secret, and what the source may send. Used by Run
// (client.cpp).
#pragma once

#include <string>

#include "session/job.hpp"
#include "session/run_options.hpp"
#include "session/sink_setup.hpp"

namespace nb::session {

enum class SecretOrigin : std::uint8_t { of_a_set, fresh };
struct LocalSecret {
  hash::Secret secret;
  SecretOrigin origin = SecretOrigin::fresh;
};

// The secret of the set that a pull will write to, or a new one for a set that has yet to be made.
Result<LocalSecret> local_secret(const std::string& destination);

// Waits, as the job says, until nobody writes to the set that a pull will write to, where there is one. Returns how long
// it may be waited for again. Errors as those of WriterLock::acquire. Nothing stays locked. That the source lies in the
// same set, which is an error, is only known once that was opened.
Result<std::chrono::seconds> await_destination(const Job& job, const wire::Id& transaction, const txn::OnWait& on_wait,
                                               Clock& clock);

// Errc::protocol where the source opened something else than `job` asks for.
Status check_shape(const Job& job, const wire::Opened& opened);

SinkRequest pull_request(const Job& job, const wire::Id& transaction, const wire::Opened& opened,
                         const hash::Secret& secret);
// What may come at the root are the names that were asked for, and nothing else.
SinkOptions pull_options(const Job& job, const wire::Opened& opened, const wire::Hello& peer, const ListingKey& key);

}  // namespace nb::session
