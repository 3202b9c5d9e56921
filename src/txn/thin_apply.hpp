// SPDX-License-Identifier: Apache-2.0
// Carrying out what history/merge says, from its first byte or from wherever it was interrupted: whether something has
// been done follows from what exists at places that are used once. It is never undone.
#pragma once

#include "txn/thin_record.hpp"

namespace nb::txn {

// Moves, makes durable, gives the new lists their names, and removes history/merge. What goes ends in `trash`; `device`
// was opened before any of it. The caller holds the apply lock. After an error history/merge may stand, and this has to
// be called again.
Status apply_thinning(fs::Directory& history, fs::Directory& trash, fs::Directory& device, const ThinRecord& record);

// Makes every name durable that `record` changes or has prepared; content is never touched.
Status sync_moved(fs::Directory& history, fs::Directory& trash, fs::Directory& device, const ThinRecord& record);

}  // namespace nb::txn
