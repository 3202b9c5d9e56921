// SPDX-License-Identifier: Apache-2.0
#include "cli/standard_output.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/text.hpp"
#include "cli/json_events.hpp"
#include "cli/terminal.hpp"

namespace nb::cli {
namespace {

constexpr std::size_t k_longest_line = std::size_t{64} << 10;  // a file without line ends does not wait for one

}  // namespace

StandardOutput::StandardOutput(OutputForm form, Outcome* outcome)
    : m_form(form), m_on_terminal(::isatty(STDOUT_FILENO) == 1), m_outcome(outcome) {}

Status StandardOutput::put(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size()) return {};
  return output_failed(errno);
}

Status StandardOutput::write(std::string_view bytes) {
  if (m_outcome != nullptr) m_last.add(bytes);
  if (!m_on_terminal) return put(bytes);
  // Whole lines, so that no character is cut in two.
  m_line += bytes;
  const std::size_t end = m_line.rfind('\n');
  if (end == std::string::npos && m_line.size() < k_longest_line) return {};
  const std::size_t ready = end == std::string::npos ? m_line.size() : end + 1;
  const Status done = put(escape_controls(std::string_view(m_line).substr(0, ready)));
  m_line.erase(0, ready);
  return done;
}

Status StandardOutput::problem(const Error& error) {
  if (m_outcome != nullptr) m_outcome->add_problem(error);
  NB_TRY(finish());
  if (m_form == OutputForm::json) NB_TRY(put(json_problem(error) + "\n"));
  print_error(error);
  return {};
}

Status StandardOutput::notice(const std::string& text) {
  NB_TRY(finish());
  print_message(escape(text));
  return {};
}

Status StandardOutput::finish() {
  if (m_outcome != nullptr) m_outcome->summary = m_last.text();
  NB_TRY(put(escape_controls(std::exchange(m_line, {}))));
  return std::fflush(stdout) == 0 ? Status() : output_failed(errno);
}

// Not by the code for errno: its advice is for the set.
Status output_failed(int sys_errno) {
  return sys_errno == EPIPE ? Status() : fail(Errc::io, "standard output", sys_errno);
}

int checked_output(int exit_code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_code;
  struct stat out {};
  const bool has_reader = ::fstat(STDOUT_FILENO, &out) == 0 && (S_ISFIFO(out.st_mode) || S_ISSOCK(out.st_mode));
  if (exit_code != 0 || has_reader) return exit_code;
  print_message("standard output: cannot be written");
  return info(Errc::io).exit_code;
}

}  // namespace nb::cli
