// SPDX-License-Identifier: Apache-2.0
#include "cli/scratch_directory.hpp"

#include <stdlib.h>
#include <unistd.h>

#include <utility>

#include "base/fd.hpp"
#include "fs/metadata.hpp"
#include "fs/posix_directory.hpp"
#include "txn/locate.hpp"

namespace nb::cli {
namespace {

bool lies_in_set(const std::string& path) {
  const auto located = txn::locate_set(path, std::nullopt);
  return !located || located->is_set;
}

void remove(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const auto parent = fs::open_user_directory(path.substr(0, slash + 1));
  if (parent) static_cast<void>(fs::remove_tree(**parent, path.substr(slash + 1)));
}

}  // namespace

Result<ScratchDirectory> ScratchDirectory::make(const std::string& purpose) {
  for (const std::string& place : temporary_places()) {
    std::string path = place + "/nbackup-" + purpose + "-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) continue;
    if (!lies_in_set(path)) return ScratchDirectory(std::move(path));
    ::rmdir(path.c_str());
  }
  return fail(Errc::path, "no place for temporary files: set TMPDIR to a directory outside of file sets");
}

ScratchDirectory::ScratchDirectory(ScratchDirectory&& other) noexcept : m_path(std::exchange(other.m_path, {})) {}

ScratchDirectory::~ScratchDirectory() {
  if (!m_path.empty()) remove(m_path);
}

}  // namespace nb::cli
