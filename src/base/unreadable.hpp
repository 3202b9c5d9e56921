// SPDX-License-Identifier: Apache-2.0
// What those who walk trees make of an error about one name: Errc::unreadable, which their run goes on after.
#pragma once

#include <string>
#include <utility>

#include "base/result.hpp"

namespace nb {

// `what` in place of the context of `error`, unless that is of an earlier generation, which says itself what is wrong.
inline Error unreadable(Error error, std::string what) {
  if (error.code != Errc::unreadable) error.context = std::move(what);
  error.code = Errc::unreadable;
  return error;
}

}  // namespace nb
