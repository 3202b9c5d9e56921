// SPDX-License-Identifier: Apache-2.0
// .nbackup/secret, and .nbackup/spare: what a permanent set cannot get back from anything else it keeps, a second time
// and in another file, for mend.hpp.
#pragma once

#include "txn/file_set.hpp"

namespace nb::txn {

struct Spare {
  Uuid uuid{};
  hash::Secret secret;
};

Bytes encode(const hash::Secret& secret);
Bytes encode(const Spare& spare);
// Errors are Errc::bad_set.
Result<hash::Secret> decode_secret(ByteView data);
Result<Spare> decode_spare(ByteView data);

// Writes the spare of a permanent set unless it is there as it should be. Needs the writer's lock.
Status keep_spare(fs::Directory& control, const SetFormat& format, const hash::Secret& secret);

}  // namespace nb::txn
