// SPDX-License-Identifier: Apache-2.0
// scrub as it runs where the file set lies (host_command.hpp), and the lines it writes.
#pragma once

#include "cli/host_command.hpp"
#include "session/scrub.hpp"

namespace nb::cli {

Result<int> run_scrub(const HostJob& job, session::CommandOutput& output, Clock& clock);

// "data/x", or "data/x in generation 5". Escaped.
std::string shown_place(const std::optional<std::uint64_t>& generation, const RelPath& path);
// "damaged  data/x: content changed, bytes 65536-131071", without a line end.
std::string damaged_line(const txn::Damaged& file, std::string_view reason);
// What a scrub came to, without a line end.
std::string scrubbed_line(const std::string& root_path, const session::ScrubReport& report);

}  // namespace nb::cli
