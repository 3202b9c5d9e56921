// SPDX-License-Identifier: Apache-2.0
// What ls, cat and diff begin with: the moment that was asked for, and the set's tree as it was then.
#pragma once

#include <optional>

#include "cli/host_command.hpp"
#include "session/set_reader.hpp"

namespace nb::cli {

// `when` is a WHEN (cli/when.hpp); none: latest.
Result<session::SetView> open_view(session::SetReader& reader, const std::optional<std::string>& when,
                                   const Clock& clock);

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
