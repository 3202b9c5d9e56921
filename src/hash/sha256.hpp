// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4), for one purpose: what the tool of that name prints at another machine (`deploy`). Contents of
// backups have Digest, which is an order of magnitude faster.
#pragma once

#include <string>

#include "base/bytes.hpp"

namespace nb::hash {

// In lower-case hexadecimal, as sha256sum prints it.
std::string sha256_hex(ByteView data);

}  // namespace nb::hash
