// SPDX-License-Identifier: Apache-2.0
// ByteRing: a bounded byte queue for one producer and one consumer. It does not lock: the owner guards every call with
// its own mutex, but may copy into free_region() and out of filled_region() without it, because only the producer
// changes the one and only the consumer the other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>

#include "base/bytes.hpp"

namespace nb::transport {

class ByteRing {
 public:
  explicit ByteRing(std::size_t capacity)
      : m_data(std::make_unique_for_overwrite<std::byte[]>(capacity)), m_capacity(capacity) {}

  [[nodiscard]] std::size_t size() const { return m_size; }
  [[nodiscard]] std::size_t room() const { return m_capacity - m_size; }
  [[nodiscard]] bool empty() const { return m_size == 0; }

  // The largest contiguous piece that can be written to; empty only when the ring is full.
  [[nodiscard]] std::span<std::byte> free_region() {
    const std::size_t tail = (m_head + m_size) % m_capacity;
    return {m_data.get() + tail, std::min(room(), m_capacity - tail)};
  }
  // The first `count` bytes of free_region() are filled now.
  void commit(std::size_t count) { m_size += count; }

  // The oldest bytes, as far as they are contiguous; empty only when the ring is.
  [[nodiscard]] ByteView filled_region() const {
    return {m_data.get() + m_head, std::min(m_size, m_capacity - m_head)};
  }
  // Drops the first `count` bytes of filled_region().
  void consume(std::size_t count) {
    m_head = (m_head + count) % m_capacity;
    m_size -= count;
  }

 private:
  std::unique_ptr<std::byte[]> m_data;
  std::size_t m_capacity;
  std::size_t m_head = 0;
  std::size_t m_size = 0;
};

}  // namespace nb::transport
