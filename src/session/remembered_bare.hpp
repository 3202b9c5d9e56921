// SPDX-License-Identifier: Apache-2.0
// RememberedBare: the table of bare directories (cache/bare_directories.hpp) in the form that a listing asks for. Finds
// out which file system a directory is on, once for each, and records nothing that may change once more without showing
// it. The client has one on its own memory, the sink of a push one on the set's manifest.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "cache/bare_directories.hpp"
#include "scan/bare_memory.hpp"

namespace nb::session {

// One thread at a time.
class RememberedBare final : public scan::BareMemory {
 public:
  // Called at the first question; never null.
  using Open = std::function<std::shared_ptr<cache::Store>()>;
  // `clock` outlives this.
  RememberedBare(Open open, Clock& clock) : m_open(std::move(open)), m_clock(clock) {}

  [[nodiscard]] WallTime now() const override { return m_clock.wall(); }
  bool is_bare(const fs::Directory& directory, const fs::Stat& stat, const hash::Digest& files) override;
  void record(const fs::Directory& directory, const Finding& finding) override;

 private:
  std::optional<cache::BareKey> key_of(const fs::Directory& directory, const fs::Stat& stat);
  cache::BareDirectories& rows();

  Open m_open;
  Clock& m_clock;
  std::optional<cache::BareDirectories> m_rows;
  std::map<std::uint64_t, std::optional<std::string>> m_file_systems;  // by device number, which holds for one run
};

}  // namespace nb::session
