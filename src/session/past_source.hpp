// SPDX-License-Identifier: Apache-2.0
// What a pull reads from that asks for an earlier state of a file set (wire::Open::at): used by serve.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "session/source_setup.hpp"
#include "wire/messages.hpp"

namespace nb::session {

// Opens the sources, as they were at `at`, with the set that they all lie in held for as long as this lives. Of each
// the set is found by set_path.hpp, and the rest is looked up by past_lookup.hpp; trailing slashes mean what they mean
// for live sources. One that is missing is among the tree's problems, unless all are. Errc::usage: the generation is not
// kept; Errc::path: a source lies in no file set, or they lie in several.
Result<SourceSetup> set_up_past_source(const std::vector<std::string>& sources, const wire::Moment& at,
                                       const SourceReader& reader, Clock& clock);

}  // namespace nb::session
