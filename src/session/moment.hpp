// SPDX-License-Identifier: Apache-2.0
// From a moment, as a user names it, to a generation of a file set.
#pragma once

#include "txn/history.hpp"
#include "wire/messages.hpp"

namespace nb::session {

// The generation that `at` means, which is kept or the live one. The caller holds a lock on `set` and has its head read
// under it. Errc::usage if it is not kept, or if all are younger; the message says which there are.
Result<std::uint64_t> generation_at(const txn::FileSet& set, const txn::History& history, const wire::Moment& at);

}  // namespace nb::session
