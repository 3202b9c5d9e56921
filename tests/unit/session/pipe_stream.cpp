// SPDX-License-Identifier: Apache-2.0
#include "unit/session/pipe_stream.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>

namespace nb::test {
namespace {

// One direction.
class Channel {
 public:
  Channel(std::size_t capacity, std::uint64_t cut_after) : m_capacity(capacity), m_left(cut_after) {}

  Status write(ByteView data) {
    while (!data.empty()) {
      std::unique_lock lock(m_mutex);
      m_changed.wait(lock, [this] { return m_broken || m_bytes.size() < m_capacity; });
      if (m_broken) return fail(Errc::connection_lost, "write");
      const std::size_t room = std::min(data.size(), m_capacity - m_bytes.size());
      const auto take = static_cast<std::size_t>(std::min<std::uint64_t>(room, m_left));
      m_bytes.insert(m_bytes.end(), data.begin(), data.begin() + static_cast<std::ptrdiff_t>(take));
      m_left -= take;
      data = data.subspan(take);
      if (take < room) m_broken_after_drain = true;
      m_changed.notify_all();
      if (m_broken_after_drain) return fail(Errc::connection_lost, "write");
    }
    return {};
  }

  Result<std::size_t> read(std::span<std::byte> out, std::chrono::milliseconds inactivity) {
    std::unique_lock lock(m_mutex);
    const auto ready = [this] { return m_broken || m_broken_after_drain || m_ended || !m_bytes.empty(); };
    if (inactivity.count() == 0) {
      m_changed.wait(lock, ready);
    } else if (!m_changed.wait_for(lock, inactivity, ready)) {
      return fail(Errc::timeout, "read");
    }
    if (m_broken) return fail(Errc::connection_lost, "read");
    if (m_bytes.empty()) {
      if (m_broken_after_drain) return fail(Errc::connection_lost, "read");
      return std::size_t{0};
    }
    const std::size_t take = std::min(out.size(), m_bytes.size());
    std::copy_n(m_bytes.begin(), take, out.begin());
    m_bytes.erase(m_bytes.begin(), m_bytes.begin() + static_cast<std::ptrdiff_t>(take));
    m_changed.notify_all();
    return take;
  }

  void end() {
    const std::lock_guard lock(m_mutex);
    m_ended = true;
    m_changed.notify_all();
  }

  void breaks() {
    const std::lock_guard lock(m_mutex);
    m_broken = true;
    m_changed.notify_all();
  }

 private:
  const std::size_t m_capacity;
  std::mutex m_mutex;
  std::condition_variable m_changed;
  std::deque<std::byte> m_bytes;
  std::uint64_t m_left;
  bool m_ended = false;
  bool m_broken = false;
  bool m_broken_after_drain = false;
};

class PipeStream final : public transport::ByteStream {
 public:
  PipeStream(std::shared_ptr<Channel> in, std::shared_ptr<Channel> out) : m_in(std::move(in)), m_out(std::move(out)) {}
  ~PipeStream() override { close_both(); }

  Result<std::size_t> read(std::span<std::byte> out, std::chrono::milliseconds inactivity) override {
    return m_in->read(out, inactivity);
  }
  Status write(ByteView data) override {
    const Status written = m_out->write(data);
    // A cut takes both directions.
    if (!written) m_in->breaks();
    return written;
  }
  Status finish_writing() override {
    m_out->end();
    return {};
  }
  void close_now() override { close_both(); }
  transport::PeerEnd wait_end(std::chrono::milliseconds) override { return {}; }
  [[nodiscard]] std::string describe() const override { return "test pipe"; }

 private:
  void close_both() {
    m_in->breaks();
    m_out->breaks();
  }
  std::shared_ptr<Channel> m_in;
  std::shared_ptr<Channel> m_out;
};

}  // namespace

StreamPair make_pipe(PipeOptions options) {
  auto there = std::make_shared<Channel>(options.buffer_bytes, options.cut_after_bytes);
  auto back = std::make_shared<Channel>(options.buffer_bytes, options.cut_back_after_bytes);
  return {std::make_unique<PipeStream>(back, there), std::make_unique<PipeStream>(there, back)};
}

}  // namespace nb::test
