// SPDX-License-Identifier: Apache-2.0
// StandardOutput: where the output of a command that runs at the set's host ends up on the user's side, wherever that
// host is. Bytes pass unchanged into files and pipes; on a terminal what could play with it is escaped, because another
// machine may have written it, and a file's content anybody.
#pragma once

#include <string>

#include "cli/outcome.hpp"
#include "cli/settings.hpp"
#include "session/command.hpp"

namespace nb::cli {

enum class OutputForm : std::uint8_t { text, json };

class StandardOutput final : public session::CommandOutput {
 public:
  // `outcome`, which outlives this, gets the last line and the problems; null: nobody asks.
  explicit StandardOutput(OutputForm form, Outcome* outcome = nullptr);

  Status write(std::string_view bytes) override;
  Status problem(const Error& error) override;
  Status notice(const std::string& text) override;
  // What is still held back. An error: not all of it could be written.
  Status finish();

 private:
  Status put(std::string_view bytes);
  const OutputForm m_form;
  const bool m_on_terminal;
  Outcome* const m_outcome;
  LastLine m_last;
  std::string m_line;  // the line that has not ended yet; only on a terminal
};

// What comes of a write that failed: nothing where the reader of a pipe has gone, who may have heard enough; else
// Errc::io.
Status output_failed(int sys_errno);
// `exit_code`, or that of Errc::io, which is then told, if all went well but for the output: a result that could not be
// put where it was to go is none. As above where that is a pipe.
int checked_output(int exit_code);

}  // namespace nb::cli
