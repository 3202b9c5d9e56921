// SPDX-License-Identifier: Apache-2.0
// MemoryStream: a ByteStream that reads from what a test gives it and keeps what is written.
#pragma once

#include <algorithm>

#include "transport/byte_stream.hpp"

namespace nb::test {

class MemoryStream final : public transport::ByteStream {
 public:
  explicit MemoryStream(ByteView input) : m_input(input.begin(), input.end()) {}

  Result<std::size_t> read(std::span<std::byte> out, std::chrono::milliseconds) override {
    const std::size_t count = std::min(out.size(), m_input.size() - m_at);
    std::copy_n(m_input.begin() + static_cast<std::ptrdiff_t>(m_at), count, out.begin());
    m_at += count;
    return count;
  }
  Status write(ByteView data) override {
    written.insert(written.end(), data.begin(), data.end());
    return {};
  }
  Status finish_writing() override { return {}; }
  void close_now() override {}
  transport::PeerEnd wait_end(std::chrono::milliseconds) override { return {}; }
  [[nodiscard]] std::string describe() const override { return "memory"; }

  Bytes written;

 private:
  Bytes m_input;
  std::size_t m_at = 0;
};

}  // namespace nb::test
