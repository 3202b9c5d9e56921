// SPDX-License-Identifier: Apache-2.0
// The tree of a file set as it was at an earlier generation: a read-only Directory over the live tree and the files
// that history keeps. Nothing is copied: a name leads to the live inode, to a kept one, or nowhere, and metadata that
// has changed since is shown as it was.
#pragma once

#include <memory>

#include "txn/history.hpp"

namespace nb::txn {

// The root of generation `number`: one that is kept, or the live one. Errc::not_found if it is neither; Errc::bad_set
// if what leads back to it is damaged or missing. `set` outlives what is returned, and the tree does not change while
// the caller holds a lock on the set. Memory: the paths that changed since, each once. Descriptors: one or two for each
// handle.
//
// As in the live tree, the root holds the control directory. Every operation that changes something, syncs or locks is
// Errc::unsupported; a Node's file_system_identity() and a Directory's attribute_identity() are nothing, since equal
// stat data do not promise equal metadata here, and there is no kernel_path().
//
// What the change lists know of and the file system does not have any more (a kept file that somebody deleted by hand;
// Absent{lost}; a live name with a record of its own that has gone since) is listed, as a regular file where its type
// is not known, and every use of it is Errc::unreadable: a reader reports it, and does not take it for absent. The same
// goes for a directory that is a file set of its own, but in the live generation: its pushes tell this set nothing.
Result<std::unique_ptr<fs::Directory>> open_past(FileSet& set, std::uint64_t number);

// Whether two directories, of trees that open_past made of one set under one lock, are sure to be equal with all that
// is below them, the directories' own metadata included. False says nothing. It costs two stat calls and a look at the
// changes below; when it is true a comparison need not go down. It is never true if metadata of an inode with several
// names changed between the two generations, since these may be anywhere.
// (Of two files, equal device, inode, mtime and metadata say as much: a content never changes in place.)
bool same_subtree(const fs::Directory& a, const fs::Directory& b);

}  // namespace nb::txn
