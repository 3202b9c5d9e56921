// SPDX-License-Identifier: Apache-2.0
// An Error and its form on the wire.
#pragma once

#include <new>

#include "base/result.hpp"
#include "wire/messages.hpp"

namespace nb::session {

inline Error from_message(const wire::ErrorMessage& message) {
  return {message.code, static_cast<int>(message.sys_errno), message.context};
}

inline wire::ErrorMessage to_message(const Error& error) {
  return {error.code, static_cast<std::uint64_t>(error.sys_errno), error.context};
}

// The status of `work`, whose caller tells the peer of an error: that memory has run out is one too.
template <class Work>
Status while_memory_lasts(const Work& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return fail(Errc::internal, "memory has run out");
  }
}

}  // namespace nb::session
