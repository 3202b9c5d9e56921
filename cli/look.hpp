// SPDX-License-Identifier: Apache-2.0
// The commands that look at a file set and its earlier generations, as they run where it lies (host_command.hpp), and
// the lines they write. Names are always escaped, as everywhere in the output; with --json each line is an object.
#pragma once

#include "cli/host_command.hpp"
#include "txn/generation.hpp"

namespace nb::cli {

Result<int> run_generations(const HostJob& job, session::CommandOutput& output, Clock& clock);
Result<int> run_ls(const HostJob& job, session::CommandOutput& output, Clock& clock);
// Writes a regular file; holes as zeros.
Result<int> run_cat(const HostJob& job, session::CommandOutput& output, Clock& clock);
Result<int> run_diff(const HostJob& job, session::CommandOutput& output, Clock& clock);

// A heading and a line a generation, oldest first; in a terminal of `columns` what does not fit is cut off the client's
// name (0: nothing is).
std::string generations_table(const std::vector<txn::Generation>& generations, std::size_t columns);
// Of a directory that could not be looked at, mode, owner and time are not known.
enum class Attributes : std::uint8_t { known, unknown };
// "-rw-r--r--  1000:1000        12,345  2026-11-30 02:10  ": what `ls -l` shows before the name; question marks where
// that is not known.
std::string long_prefix(const wire::Entry& entry, Attributes attributes = Attributes::known);

}  // namespace nb::cli
