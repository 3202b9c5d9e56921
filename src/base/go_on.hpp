// SPDX-License-Identifier: Apache-2.0
// GoOn: asked by what may take long: while it waits, while it reads a content, and right before a commit point. False
// ends it with Errc::interrupted. May be empty. The session passes its interrupt flag.
#pragma once

#include <functional>

namespace nb {

using GoOn = std::function<bool()>;

}  // namespace nb
