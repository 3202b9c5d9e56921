// SPDX-License-Identifier: Apache-2.0
// Filing: what a commit has replaced and removed goes from the stage's old/ to history/<generation>/files, under its own
// path. It comes between apply and head, so that what makes the applied tree durable makes this durable too, and is
// undone before anything else: redo and undo of the journal find old/ as they left it. The directories it needs are made
// and durable before the first file moves: a power cut may keep a move and lose the directory it went to.
//
//   history/<N>.new   being filled, or being emptied
//   history/<N>       whole; N is the generation of the journal
//
// Each may be repeated after any interruption.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "txn/apply.hpp"
#include "txn/file_set.hpp"

namespace nb::txn {

// The names below history/ that the directory of a generation may have meanwhile.
std::array<std::string, 2> entry_names(std::uint64_t generation);

// Before redo(), which makes them durable: the directory of the generation, in `context.filed`, and in it those of the
// files that will be kept. And the account of the generation before, where there is none yet.
Status make_history_places(FileSet& set, const Journal& journal, ApplyContext& context);
// After redo().
Status file_history(FileSet& set, const Journal& journal, ApplyContext& context);
// Before redo() and undo() of a recovery, and before undo() of a failed commit.
Status take_history_back(FileSet& set, const Journal& journal, ApplyContext& context);

}  // namespace nb::txn
