// SPDX-License-Identifier: Apache-2.0
// ScratchDirectory: a directory of our own for as long as it lives. Used by what restores to look at it, and not to keep.
#pragma once

#include <string>

#include "base/result.hpp"

namespace nb::cli {

class ScratchDirectory {
 public:
  // In the first of temporary_places() that can be written to and lies in no file set, where a restore would be a
  // commit. `purpose` becomes part of its name.
  static Result<ScratchDirectory> make(const std::string& purpose);
  ScratchDirectory(ScratchDirectory&& other) noexcept;
  ScratchDirectory& operator=(ScratchDirectory&&) = delete;
  ScratchDirectory(const ScratchDirectory&) = delete;
  ~ScratchDirectory();  // removes it with all that is in it, whatever its modes

  [[nodiscard]] const std::string& path() const { return m_path; }

 private:
  explicit ScratchDirectory(std::string path) : m_path(std::move(path)) {}
  std::string m_path;  // absolute; empty: nothing to remove
};

}  // namespace nb::cli
