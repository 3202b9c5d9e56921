// SPDX-License-Identifier: Apache-2.0
#include "cli/standard_stream.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "base/fd.hpp"
#include "transport/fd_stream.hpp"

namespace nb::cli {
namespace {

Result<Fd> take_away(int descriptor, int replacement) {
  Fd taken(::fcntl(descriptor, F_DUPFD_CLOEXEC, 3));
  if (!taken.valid()) return fail_errno("duplicate a descriptor");
  if (::dup2(replacement, descriptor) < 0) return fail_errno("replace a descriptor");
  return taken;
}

}  // namespace

Result<std::unique_ptr<transport::ByteStream>> take_standard_stream(std::chrono::milliseconds write_inactivity) {
  const Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!null.valid()) return fail_errno("open /dev/null");
  NB_TRY_ASSIGN(Fd in, take_away(STDIN_FILENO, null.get()));
  NB_TRY_ASSIGN(Fd out, take_away(STDOUT_FILENO, STDERR_FILENO));
  transport::FdStreamOptions options;
  options.write_inactivity = write_inactivity;
  options.description = "standard input and output";
  return transport::open_fd_stream(std::move(in), std::move(out), std::move(options));
}

}  // namespace nb::cli
