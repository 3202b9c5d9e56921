// SPDX-License-Identifier: Apache-2.0
// Result<T>: how every function that can fail says so. No exceptions of our own; a library's are caught where it
// is wrapped. NB_TRY unwraps or returns the error; Error::context grows from the inside out ("write: data/x").
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

#include "base/errc.hpp"

namespace nb {

struct Error {
  Errc code = Errc::internal;
  int sys_errno = 0;    // 0 where no system call failed
  std::string context;  // operation and file, for a person: "open data/x"; raw bytes, escaped only when printed

  // One line: context, what the table says, and strerror where there is an errno.
  [[nodiscard]] std::string message() const;
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

// An Error in the form that converts to any Result<T>.
[[nodiscard]] tl::unexpected<Error> fail(Errc code, std::string context, int sys_errno = 0);
// From errno as it stands now, coded by errc_from_errno.
[[nodiscard]] tl::unexpected<Error> fail_errno(std::string context);
[[nodiscard]] tl::unexpected<Error> fail_errno(std::string context, int sys_errno);
// The same error with "what: " put before its context.
[[nodiscard]] tl::unexpected<Error> wrap(Error error, std::string_view what);

}  // namespace nb

#define NB_CONCAT_INNER(a, b) a##b
#define NB_CONCAT(a, b) NB_CONCAT_INNER(a, b)

// NB_TRY(expr): returns the error of a Result out of the enclosing function; the value is dropped.
#define NB_TRY(expr)                                                                  \
  do {                                                                                \
    auto&& nb_try_result = (expr);                                                    \
    if (!nb_try_result) return tl::make_unexpected(std::move(nb_try_result).error()); \
  } while (0)

// NB_TRY_ASSIGN(auto x, expr): binds the value or returns the error.
#define NB_TRY_ASSIGN(decl, expr) NB_TRY_ASSIGN_IMPL(NB_CONCAT(nb_try_, __LINE__), decl, expr)
#define NB_TRY_ASSIGN_IMPL(tmp, decl, expr)                     \
  auto tmp = (expr);                                            \
  if (!tmp) return tl::make_unexpected(std::move(tmp).error()); \
  decl = std::move(tmp).value()
