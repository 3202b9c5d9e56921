// SPDX-License-Identifier: Apache-2.0
// SignatureMemory: the block signatures of what this client last sent, so that a basis that the other side still has
// need not be described by it. A signature is kept in pieces, which the caller cuts; this class does not look into
// them. While a content is being sent its digest is not known yet: its pieces are put under a key of their own, and
// settled under that of the content at the end. What was never settled goes like any signature that nobody uses.
//
// Lives in the client's store; its loss costs time only, and nothing here fails. Writing is done in batches, each one
// transaction. Any thread may call.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>

#include "base/clock.hpp"
#include "cache/client_store.hpp"
#include "hash/digest.hpp"

namespace nb::cache {

inline constexpr std::uint64_t k_default_signature_bytes = std::uint64_t{512} << 20;
inline constexpr std::size_t k_max_piece_bytes = std::size_t{16} << 20;

struct SignatureKey {
  hash::Digest content;
  std::uint64_t secret = 0;  // hash::Secret::id() of the set; the signature holds under no other
  friend auto operator<=>(const SignatureKey&, const SignatureKey&) = default;
};

class SignatureMemory {
 public:
  // Keeps at most `limit_bytes` of pieces: whole signatures go, those first that were used longest ago. `clock`
  // outlives the memory.
  SignatureMemory(std::shared_ptr<Store> store, Clock& clock, std::uint64_t limit_bytes = k_default_signature_bytes);
  // Writes what is left.
  ~SignatureMemory();
  SignatureMemory(const SignatureMemory&) = delete;
  SignatureMemory& operator=(const SignatureMemory&) = delete;

  // Of one signature: a longer one would take the place of all others.
  [[nodiscard]] std::uint64_t most_bytes() const { return m_limit_bytes / 2; }
  // Pieces over k_max_piece_bytes are not kept. Replaces a piece of that index.
  void put_piece(const SignatureKey& key, std::uint32_t index, Bytes data);
  // All that was put under `from` belongs to `to` from now on, and nothing else does.
  void settle(const SignatureKey& from, const SignatureKey& to);
  void forget(const SignatureKey& key);
  // The piece as it was put, or nothing.
  std::optional<Bytes> piece(const SignatureKey& key, std::uint32_t index);
  // Writes what was put so far.
  void flush();

 private:
  using Pieces = std::map<std::uint32_t, Bytes>;
  void write_pending();
  void trim(Connection& connection);

  std::shared_ptr<Store> m_store;
  Clock& m_clock;
  std::uint64_t m_limit_bytes;
  std::mutex m_mutex;                        // guards what follows
  std::map<SignatureKey, Pieces> m_pending;  // not written yet
  std::size_t m_pending_bytes = 0;
  std::set<SignatureKey> m_used;  // in this run: their time of use is up to date
};

}  // namespace nb::cache
