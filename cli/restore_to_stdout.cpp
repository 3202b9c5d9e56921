// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "base/fd.hpp"
#include "cli/outcome.hpp"
#include "cli/restore.hpp"
#include "cli/scratch_directory.hpp"
#include "cli/standard_output.hpp"
#include "cli/transfer.hpp"

namespace nb::cli {
namespace {

constexpr std::size_t k_copy_bytes = std::size_t{256} << 10;

Status check_settings(const Settings& settings) {
  if (settings.arguments.size() != 2) return fail(Errc::usage, "only one file at a time goes to standard output");
  const bool talks = settings.json || settings.stats || settings.itemize || settings.verbosity > 0 ||
                     settings.has(wire::k_flag_dry_run);
  if (!talks) return {};
  return fail(Errc::usage, "standard output is the file's: not with -n, -v, -i, --stats or --json");
}

Status copy_to_stdout(const std::string& path, const std::string& shown) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  // No symlink is followed, and a socket cannot be opened.
  const bool is_refused = !file.valid() && errno != ELOOP && errno != ENXIO;
  if (is_refused) return fail_errno("open " + shown);
  struct stat stat {};
  const bool regular = file.valid() && ::fstat(file.get(), &stat) == 0 && S_ISREG(stat.st_mode);
  if (!regular) return fail(Errc::path, shown + " is no regular file, which is all that standard output takes");
  std::vector<std::byte> buffer(k_copy_bytes);
  while (true) {
    const auto count = read_full(file.get(), buffer);
    if (!count) return fail_errno("read " + path, count.error().sys_errno);
    const Status written = write_full(STDOUT_FILENO, std::span(buffer).first(*count));
    if (!written) return output_failed(written.error().sys_errno);
    if (*count < buffer.size()) return {};
  }
}

// Standard output takes no metadata: the file has arrived whole.
bool only_lost_metadata(const Outcome& outcome) {
  return outcome.error.empty() && outcome.problems != 0 && outcome.problems == outcome.losses;
}

}  // namespace

int restore_to_stdout(const Settings& settings, Clock& clock) {
  const Status fits = check_settings(settings);
  if (!fits) return report_early_error(settings, fits.error());
  const auto scratch = ScratchDirectory::make("restore");
  if (!scratch) return report_early_error(settings, scratch.error());
  const std::string file = scratch->path() + "/file";
  Settings to_file = settings;
  to_file.arguments.back() = file;
  to_file.quiet = true;
  Outcome own;
  if (to_file.outcome == nullptr) to_file.outcome = &own;
  const int exit_code = restore_to_tree(to_file, RestoreShape::one_file, clock);
  if (exit_code != 0 && !only_lost_metadata(*to_file.outcome)) return exit_code;
  const Status copied = copy_to_stdout(file, settings.arguments.front());
  return copied ? exit_code : report_early_error(settings, copied.error());
}

}  // namespace nb::cli
