// SPDX-License-Identifier: Apache-2.0
// Opening a remote stream so that the caller can give it up. libssh, while it connects or looks up a name, cannot be
// woken; so it works on a thread of its own, which is left alone where the caller wants no more of it.
#pragma once

#include <functional>
#include <memory>

#include "transport/ssh_select.hpp"

namespace nb::transport {

// As open_remote_stream(). `gives_up` is asked ten times a second while it connects, but not while the person at the
// terminal is asked something, which is the prompt's to end: then Errc::interrupted, and none of the functions in
// `options` is called any more. What was left alone may still be at work when the process ends: it must then end by
// _exit(), which takes nothing down under it.
Result<std::unique_ptr<ByteStream>> open_unless_given_up(RemoteOptions options, const std::function<bool()>& gives_up);

}  // namespace nb::transport
