// SPDX-License-Identifier: Apache-2.0
#include "base/result.hpp"

#include <cerrno>
#include <system_error>

namespace nb {

namespace {

// Codes that stand for many things: the context of such an error is a whole sentence, and the table's words behind it
// would only come after what it advises.
bool says_all(const Error& error) {
  if (error.sys_errno != 0 || error.context.empty()) return false;
  switch (error.code) {
    case Errc::usage:
    case Errc::path:
    case Errc::unsupported:
    case Errc::read_only:
    case Errc::insecure:
    case Errc::max_delete:
    case Errc::hook_failed: return true;
    default: return false;
  }
}

}  // namespace

std::string Error::message() const {
  if (says_all(*this)) return context;
  std::string line = context;
  if (!line.empty()) line += ": ";
  // The errno's own words are the more exact ones; the table's would only repeat them for plain I/O.
  if (sys_errno != 0) {
    line += std::generic_category().message(sys_errno);
  } else {
    line += info(code).text;
  }
  return line;
}

tl::unexpected<Error> fail(Errc code, std::string context, int sys_errno) {
  return tl::make_unexpected(Error{code, sys_errno, std::move(context)});
}

tl::unexpected<Error> fail_errno(std::string context) { return fail_errno(std::move(context), errno); }

tl::unexpected<Error> fail_errno(std::string context, int sys_errno) {
  return fail(errc_from_errno(sys_errno), std::move(context), sys_errno);
}

tl::unexpected<Error> wrap(Error error, std::string_view what) {
  error.context.insert(0, std::string(what) + ": ");
  return tl::make_unexpected(std::move(error));
}

}  // namespace nb
