// SPDX-License-Identifier: Apache-2.0
// TakenFile: a new file whose content the set has already, under another name. A transaction keeps a list of them, one
// record each, until it is known which of these names go (Mover). Pure; lives as long as the run, so that its bytes are
// no format.
#pragma once

#include "session/sink_types.hpp"

namespace nb::session {

struct TakenFile {
  ExpectedFile file;  // what is to be made, and where; neither dropped nor with a basis
  hash::Digest digest;
  RelPath from;           // below the set's root
  fs::Stat state;         // of `from` when its content was checked: its links, and what fs::is_same_state looks at
  bool is_alike = false;  // its metadata are those wanted
};

Bytes encode(const TakenFile& taken);
// Errors are Errc::bad_set: the list has been damaged.
Result<TakenFile> decode_taken_file(ByteView record);

}  // namespace nb::session
