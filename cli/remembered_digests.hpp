// SPDX-License-Identifier: Apache-2.0
// RememberedDigests: the client's hash cache in the form that a run asks for. Finds out which file system a file is on,
// once for each.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "cache/hash_cache.hpp"
#include "scan/digest_memory.hpp"

namespace nb::cli {

enum class Belief : std::uint8_t {
  stored,   // what is known of an unchanged file holds
  nothing,  // everything is read; what is found out is recorded all the same
};

// Any thread may call.
class RememberedDigests final : public scan::DigestMemory {
 public:
  // `clock` outlives this.
  RememberedDigests(std::shared_ptr<cache::Store> store, Belief belief, Clock& clock)
      : m_clock(clock), m_belief(belief), m_store(store), m_cache(std::move(store), clock) {}
  // Writes what was recorded and looks after the store.
  ~RememberedDigests() override;
  RememberedDigests(const RememberedDigests&) = delete;
  RememberedDigests& operator=(const RememberedDigests&) = delete;

  [[nodiscard]] WallTime begin(const fs::Node& file, const fs::Stat& stat) override;
  std::optional<hash::Digest> find(const fs::Node& near, const fs::Stat& stat, const hash::Secret& secret) override;
  void record(const fs::Node& near, const Reading& reading, const hash::Secret& secret) override;

 private:
  // Nothing for a file system where stat data promise nothing, and for a file mounted over a name in `near`.
  std::optional<std::string> file_system(const fs::Node& near, const fs::Stat& stat);
  std::optional<cache::DigestKey> key_of(const fs::Node& near, const fs::Stat& stat, const hash::Secret& secret);

  Clock& m_clock;
  const Belief m_belief;
  std::shared_ptr<cache::Store> m_store;
  cache::HashCache m_cache;
  std::mutex m_mutex;
  std::map<std::uint64_t, std::optional<std::string>> m_file_systems;  // by device number, which holds for one run
};

}  // namespace nb::cli
