// SPDX-License-Identifier: Apache-2.0
// How one generation's tree differs from another's, as the push that led from one to the other would have itemized it.
// Goes down only where something may differ: a subtree that both generations share costs two stat calls.
#pragma once

#include <functional>

#include "session/set_reader.hpp"

namespace nb::session {

struct DiffVisitor {
  // One change that leads from the first tree to the second, in the order of a push: a directory's own names, then what
  // is in them. An error of it ends the comparison.
  std::function<Status(const wire::Item&)> item;
  // A name of either tree that cannot be read; what is below it is left out.
  std::function<Status(const Error&)> problem;
};

// Compares `path` in `from` and `to`, two views of one set, with all that is below it. Contents of equal size are read
// where the two are not one inode. Errc::not_found if neither has it.
Status diff_trees(SetView& from, SetView& to, const RelPath& path, const DiffVisitor& visitor);

}  // namespace nb::session
