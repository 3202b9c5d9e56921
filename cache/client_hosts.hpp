// SPDX-License-Identifier: Apache-2.0
// ClientHosts: what this client knows of the hosts that it has reached: their processors, by which the next
// connection's algorithms are ordered, what the last one came to, and the order that `bench --save` measured. Losing it
// costs the order of one connection, and measuring again. `cache clear` takes it away.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "cache/client_store.hpp"
#include "ssh/algorithms.hpp"
#include "ssh/security.hpp"

namespace nb::cache {

struct KnownHost {
  std::uint64_t cpu_flags = 0;                // CpuFlag bits, as it said itself
  std::optional<ssh::Negotiated> negotiated;  // unset where a program made the connection that does not tell
  WallTime met{};                             // the last time
};

// A host is a text that names one in one way (cli/endpoints.hpp makes it). Any thread may call.
class ClientHosts {
 public:
  explicit ClientHosts(std::shared_ptr<Store> store) : m_store(std::move(store)) {}

  std::optional<KnownHost> find(const std::string& host);
  // Replaces what was known.
  void record(const std::string& host, const KnownHost& known);

  // What bench --save measured: ciphers and MACs, fastest first. Empty lists where there is nothing.
  ssh::AlgorithmLists measured_order(const std::string& host);
  // Replaces it; record() leaves it alone.
  void save_order(const std::string& host, const ssh::AlgorithmLists& order, WallTime measured);

 private:
  std::shared_ptr<Store> m_store;
};

}  // namespace nb::cache
