// SPDX-License-Identifier: Apache-2.0
// The tree of a file set as it was at an earlier generation: a read-only Directory over the live tree and the files that
// history keeps. Nothing is copied: a name leads to the live inode, to a kept one, or nowhere, and metadata that has
// changed since is shown as it was.
#pragma once

#include <memory>

#include "txn/history.hpp"

namespace nb::txn {

// The root of generation `number`, which is kept. `set` outlives what is returned, and the tree does not change while
// the caller holds a lock on the set. Memory: the paths that changed since, each once.
// Every operation that changes something is Errc::unsupported; a Node's file_system_identity() and a Directory's
// attribute_identity() are nothing, since equal stat data do not promise equal metadata here.
Result<std::unique_ptr<fs::Directory>> open_past(FileSet& set, std::uint64_t number);

}  // namespace nb::txn
