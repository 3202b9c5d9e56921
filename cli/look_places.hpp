// SPDX-License-Identifier: Apache-2.0
// What commands at the host begin with: the set, to look at as it was then or to change what is kept of it.
#pragma once

#include <optional>

#include "cli/host_command.hpp"
#include "session/set_reader.hpp"
#include "session/set_writer.hpp"

namespace nb::cli {

// `when` is a WHEN (cli/when.hpp); none: latest.
Result<session::SetView> open_view(session::SetReader& reader, const std::optional<std::string>& when,
                                   const Clock& clock);

// Of a command that is about whole sets: Errc::usage where a path into one was named.
Status check_whole(const HostJob& job, const std::string& root_path, const RelPath& below);

// The whole set, held by its writer; the output hears of a wait for another one.
Result<session::SetWriter> open_to_write(const HostJob& job, session::CommandOutput& output, Clock& clock);

// What the user named is not there: a wrong path on the command line, as it is for every other command.
template <class T>
Result<T> named(Result<T> found) {
  if (!found && found.error().code == Errc::not_found) found.error().code = Errc::path;
  return found;
}

// Tells of each name that could not be read, and counts them.
class Problems {
 public:
  explicit Problems(session::CommandOutput& output) : m_output(output) {}
  Status tell(const Error& error);
  Status tell(const scan::Listed& listed);
  // The command's, if nothing ended it early: 0 or 23.
  [[nodiscard]] int exit_code() const;

 private:
  session::CommandOutput& m_output;
  std::uint64_t m_count = 0;
};

}  // namespace nb::cli
