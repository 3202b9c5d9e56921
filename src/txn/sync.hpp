// SPDX-License-Identifier: Apache-2.0
// Making a stage and an applied journal durable: one syncfs where it reports write errors, each file by itself where it
// does not.
#pragma once

#include "txn/apply.hpp"
#include "txn/stage.hpp"

namespace nb::txn {

enum class Durability : std::uint8_t {
  sure,
  unsure,  // something could not be synced by itself and syncfs does not tell
};

// `device` was opened before the first write. Errors are Errc::sync_failed: what was staged is lost.
Result<Durability> sync_stage(fs::Directory& device, fs::Directory& control, Stage& stage);
// The names in old/ and what make_history_places made.
Status sync_history_places(ApplyContext& context);
// Errors mean that it is not known whether the changes to the live tree will last.
Result<Durability> sync_applied(fs::Directory& device, const Journal& journal, ApplyContext& context);

}  // namespace nb::txn
