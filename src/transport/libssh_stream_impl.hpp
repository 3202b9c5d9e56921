// SPDX-License-Identifier: Apache-2.0
// LibsshStream, the class behind open_libssh_stream(): the thread that owns an SSH session, and the two rings between
// it and the callers. libssh_owner.cpp has the owner's half, libssh_stream.cpp the callers'.
//
// Rules: libssh is only called by the opening thread until start() has returned, and by the owner thread after that.
// The mutex guards everything under "shared"; it is never held across a call into libssh, nor while data is copied.
// libssh's data callback takes what the ring has room for and leaves the rest in libssh's channel buffer (m_stalled);
// libssh then grants the peer no more window than that buffer leaves, so memory stays bounded on both sides.
#pragma once

#include <libssh/callbacks.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "transport/byte_ring.hpp"
#include "transport/libssh_session.hpp"
#include "transport/poll_wait.hpp"
#include "transport/stderr_keeper.hpp"

namespace nb::transport {

inline constexpr std::size_t k_ring_bytes = 4 << 20;

// How much the server may send before it is read: what `round_trip` needs for 400 MB/s, within these bounds. More than
// that only fills the server's memory, which OpenSSH pays for dearly (docs/decisions.md).
inline constexpr std::uint32_t k_smallest_window = 2 << 20;
inline constexpr std::uint32_t k_largest_window = 16 << 20;
std::uint32_t channel_window_for(std::chrono::nanoseconds round_trip);

struct ChannelDeleter {
  void operator()(ssh_channel channel) const { ssh_channel_free(channel); }
};
struct EventDeleter {
  void operator()(ssh_event event) const { ssh_event_free(event); }
};

class LibsshStream final : public LibsshByteStream {
 public:
  LibsshStream(LibsshOptions options, SessionPtr session, Fd wake);
  ~LibsshStream() override;
  LibsshStream(const LibsshStream&) = delete;
  LibsshStream& operator=(const LibsshStream&) = delete;

  // Opens the channel, with which a change to `none` that was requested takes place: negotiated() is known then.
  Status open_channel();
  // Runs the command and starts the owner thread.
  Status start();

  Result<std::size_t> read(std::span<std::byte> out, std::chrono::milliseconds inactivity) override;
  Status write(ByteView data) override;
  Status finish_writing() override;
  void close_now() override;
  PeerEnd wait_end(std::chrono::milliseconds limit) override;
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] const ssh::Negotiated& negotiated() const override { return m_negotiated; }

 private:
  using Lock = std::unique_lock<std::mutex>;
  enum class Pumped : std::uint8_t { nothing, something };

  Status check_answer(int rc, const std::string& what);

  // Callers' side; all with the lock held.
  [[nodiscard]] bool at_eof() const { return m_remote_eof && !m_stalled && m_in.empty(); }
  [[nodiscard]] bool readable() const { return !m_in.empty() || m_closed || m_failed || at_eof(); }
  [[nodiscard]] bool writable() const { return m_out.room() > 0 || m_closed || m_failed || m_remote_closed; }
  [[nodiscard]] Status write_state() const;
  bool wait_until_writable(Lock& lock);
  void wake_owner();

  // Owner's side.
  void own();
  void run_loop();
  void close_session();
  Pumped pump_out();
  Pumped pump_in();
  Pumped send_eof_if_wanted();
  int sleep_time();
  bool finished();
  [[nodiscard]] bool broken() const;
  void fail_session(const std::string& what);
  std::size_t take(ByteView data);
  void mark_remote(bool LibsshStream::*flag);

  void install_callbacks();
  static int on_data(ssh_session, ssh_channel, void* data, std::uint32_t size, int is_stderr, void* self);
  static void on_eof(ssh_session, ssh_channel, void* self);
  static void on_close(ssh_session, ssh_channel, void* self);
  static void on_exit_status(ssh_session, ssh_channel, int status, void* self);
  static void on_exit_signal(ssh_session, ssh_channel, const char* signal, int core, const char* message,
                             const char* language, void* self);
  static int on_wake(int fd, int events, void* self);

  const LibsshOptions m_options;
  SessionPtr m_session;
  std::unique_ptr<ssh_channel_struct, ChannelDeleter> m_channel;  // freed before the session
  std::unique_ptr<ssh_event_struct, EventDeleter> m_event;
  ssh_channel_callbacks_struct m_callbacks{};
  Fd m_wake;
  Fd m_socket;  // the session's own, a second time: to end what the owner is doing inside of libssh
  ssh::Negotiated m_negotiated;
  std::string m_address;
  std::chrono::nanoseconds m_round_trip{0};  // at most: of the fastest answer so far
  StderrKeeper m_stderr;
  bool m_draining = false;  // owner only: pump_in() reads by itself, the callback leaves data alone
  bool m_blocked = false;   // owner only: libssh takes nothing until the session has an event
  bool m_eof_sent = false;  // owner only

  // Shared, guarded by m_mutex.
  mutable std::mutex m_mutex;
  std::condition_variable m_readable;
  std::condition_variable m_writable;
  std::condition_variable m_ended;
  ByteRing m_in{k_ring_bytes};
  ByteRing m_out{k_ring_bytes};
  bool m_sleeping = false;  // the owner waits for descriptors only: whoever makes work for it wakes it
  bool m_stalled = false;   // libssh's buffer holds data that m_in had no room for
  bool m_eof_wanted = false;
  bool m_closed = false;  // close_now()
  bool m_remote_eof = false;
  bool m_remote_closed = false;
  std::chrono::steady_clock::time_point m_alive;  // when the peer last said something, or a wait of write() began
  bool m_owner_done = false;
  std::optional<Error> m_failed;
  PeerEnd m_end;

  std::thread m_owner;
};

}  // namespace nb::transport
