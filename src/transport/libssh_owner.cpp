// SPDX-License-Identifier: Apache-2.0
// The half of LibsshStream that calls libssh: starting the command, the callbacks, and the owner thread's loop.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "transport/libssh_stream_impl.hpp"

namespace nb::transport {
namespace {

// One call's worth: large enough for full packets, small enough that reading is not kept waiting.
constexpr std::size_t k_write_piece_bytes = 256 << 10;

void set_window(ssh_channel channel, std::chrono::nanoseconds round_trip) {
#ifdef LIBSSH_CHANNEL_WINDOW_MAX
  static_assert(k_smallest_window == LIBSSH_CHANNEL_WINDOW && k_largest_window == LIBSSH_CHANNEL_WINDOW_MAX);
  // One that cannot be set is no failure of the run, and a broken connection shows in what comes next.
  static_cast<void>(ssh_channel_set_window(channel, channel_window_for(round_trip)));
#else
  static_cast<void>(channel);
  static_cast<void>(round_trip);
#endif
}

}  // namespace

std::uint32_t channel_window_for(std::chrono::nanoseconds round_trip) {
  constexpr std::int64_t k_bytes_per_millisecond = 400'000;
  constexpr std::int64_t k_most_milliseconds = k_largest_window / k_bytes_per_millisecond;
  if (round_trip > std::chrono::milliseconds(k_most_milliseconds)) return k_largest_window;
  const std::int64_t bytes = round_trip.count() * k_bytes_per_millisecond / 1'000'000;
  return std::max(static_cast<std::uint32_t>(bytes), k_smallest_window);
}

LibsshStream::LibsshStream(LibsshOptions options, SessionPtr session, Fd wake)
    : m_options(std::move(options)),
      m_session(std::move(session)),
      m_wake(std::move(wake)),
      m_socket(::fcntl(ssh_get_fd(m_session.get()), F_DUPFD_CLOEXEC, 0)),
      m_address(host_and_port(m_session.get(), m_options)),
      m_stderr(m_options.on_stderr) {}

LibsshStream::~LibsshStream() {
  close_now();
  if (m_owner.joinable()) m_owner.join();
  // Where start() failed nobody has done it, and libssh may still call back into our members.
  close_session();
}

// ---- callbacks, on whichever thread is inside libssh -------------------------------------------------------------

std::size_t LibsshStream::take(ByteView data) {
  std::size_t taken = 0;
  Lock lock(m_mutex);
  while (taken < data.size()) {
    const auto region = m_in.free_region();
    if (region.empty()) break;
    const std::size_t count = std::min(region.size(), data.size() - taken);
    lock.unlock();
    std::memcpy(region.data(), data.data() + taken, count);
    lock.lock();
    m_in.commit(count);
    taken += count;
  }
  m_stalled = taken < data.size();
  if (taken > 0) m_alive = std::chrono::steady_clock::now();
  m_readable.notify_one();
  return taken;
}

int LibsshStream::on_data(ssh_session, ssh_channel, void* data, std::uint32_t size, int is_stderr, void* self) {
  auto* stream = static_cast<LibsshStream*>(self);
  const ByteView view(static_cast<const std::byte*>(data), size);
  if (is_stderr != 0) {
    stream->m_stderr.append(view);
    return static_cast<int>(size);
  }
  return stream->m_draining ? 0 : static_cast<int>(stream->take(view));
}

void LibsshStream::mark_remote(bool LibsshStream::*flag) {
  const Lock lock(m_mutex);
  this->*flag = true;
  m_readable.notify_all();
  m_writable.notify_all();
}

void LibsshStream::on_eof(ssh_session, ssh_channel, void* self) {
  static_cast<LibsshStream*>(self)->mark_remote(&LibsshStream::m_remote_eof);
}

void LibsshStream::on_close(ssh_session, ssh_channel, void* self) {
  auto* stream = static_cast<LibsshStream*>(self);
  stream->mark_remote(&LibsshStream::m_remote_closed);
  stream->mark_remote(&LibsshStream::m_remote_eof);
}

void LibsshStream::on_exit_status(ssh_session, ssh_channel, int status, void* self) {
  auto* stream = static_cast<LibsshStream*>(self);
  const Lock lock(stream->m_mutex);
  stream->m_end.exit_status = status;
}

void LibsshStream::on_exit_signal(ssh_session, ssh_channel, const char* signal, int, const char*, const char*,
                                  void* self) {
  auto* stream = static_cast<LibsshStream*>(self);
  const Lock lock(stream->m_mutex);
  stream->m_end.signal_name = signal != nullptr && *signal != '\0' ? signal : "?";
}

int LibsshStream::on_wake(int fd, int, void*) {
  std::uint64_t count = 0;
  // Non-blocking; a failure means that it was not readable after all.
  static_cast<void>(!::read(fd, &count, sizeof count));
  return 0;
}

void LibsshStream::install_callbacks() {
  m_callbacks.userdata = this;
  m_callbacks.channel_data_function = on_data;
  m_callbacks.channel_eof_function = on_eof;
  m_callbacks.channel_close_function = on_close;
  m_callbacks.channel_exit_status_function = on_exit_status;
  m_callbacks.channel_exit_signal_function = on_exit_signal;
  ssh_callbacks_init(&m_callbacks);
}

// ---- opening ------------------------------------------------------------------------------------------------------

// To a question of the session, which still waits for its answers.
Status LibsshStream::check_answer(int rc, const std::string& what) {
  if (rc == SSH_OK) return {};
  if (rc == SSH_AGAIN) return fail(Errc::connect_timeout, what + ": no answer");
  return session_error(m_session.get(), Errc::connect, what);
}

Status LibsshStream::open_channel() {
  const LogScope log(m_options.on_log, m_options.verbosity);
  m_channel.reset(ssh_channel_new(m_session.get()));
  m_event.reset(ssh_event_new());
  if (!m_channel || !m_event) return fail(Errc::internal, "no memory for an ssh channel");
  install_callbacks();
  const auto asked = std::chrono::steady_clock::now();
  if (ssh_set_channel_callbacks(m_channel.get(), &m_callbacks) != SSH_OK) {
    return session_error(m_session.get(), Errc::internal, "open a channel on " + m_address);
  }
  NB_TRY(check_answer(ssh_channel_open_session(m_channel.get()), "open a channel on " + m_address));
  m_round_trip = std::chrono::steady_clock::now() - asked;
  // libssh holds the request back until a key exchange has ended: the answer came under the new keys.
  m_negotiated = read_negotiated(m_session.get(), m_options);
  return {};
}

Status LibsshStream::start() {
  const LogScope log(m_options.on_log, m_options.verbosity);
  const auto asked = std::chrono::steady_clock::now();
  NB_TRY(check_answer(ssh_channel_request_exec(m_channel.get(), m_options.command.c_str()),
                      "run a command on " + m_address));
  // Each answer took a round trip and what the server had to do: the faster one is nearer to the truth.
  m_round_trip = std::min<std::chrono::nanoseconds>(m_round_trip, std::chrono::steady_clock::now() - asked);
  set_window(m_channel.get(), m_round_trip);
  ssh_set_blocking(m_session.get(), 0);
  if (ssh_event_add_fd(m_event.get(), m_wake.get(), POLLIN, on_wake, this) != SSH_OK ||
      ssh_event_add_session(m_event.get(), m_session.get()) != SSH_OK) {
    return session_error(m_session.get(), Errc::internal, "ssh event loop");
  }
  m_owner = std::thread([this] { own(); });
  return {};
}

// ---- the owner thread ---------------------------------------------------------------------------------------------

void LibsshStream::own() {
  {
    const LogScope log(m_options.on_log, m_options.verbosity);
    run_loop();
    close_session();
  }
  m_stderr.finish();
  const Lock lock(m_mutex);
  m_owner_done = true;
  m_socket.reset();
  const bool cut_off = !m_remote_closed || m_stalled;  // what libssh had left went with the session
  if (cut_off && !m_failed) m_failed = Error{Errc::connection_lost, 0, m_address};
  m_readable.notify_all();
  m_writable.notify_all();
  m_ended.notify_all();
}

// Says goodbye (without waiting) and closes the socket; does nothing the second time.
void LibsshStream::close_session() {
  // ssh_event_free() alone would leak what ssh_event_add_fd() made.
  if (m_event) static_cast<void>(ssh_event_remove_fd(m_event.get(), m_wake.get()));
  m_event.reset();
  m_channel.reset();
  m_session.reset();
}

void LibsshStream::run_loop() {
  while (!finished()) {
    const bool busy = pump_out() == Pumped::something || send_eof_if_wanted() == Pumped::something;
    const bool fed = pump_in() == Pumped::something;
    if (broken()) return fail_session("connection to " + m_address);
    const int timeout = busy || fed ? 0 : sleep_time();
    const int rc = ssh_event_dopoll(m_event.get(), timeout);
    m_blocked = false;
    {
      const Lock lock(m_mutex);
      m_sleeping = false;
    }
    if (rc == SSH_ERROR) return fail_session("connection to " + m_address);
  }
}

// libssh leaves "connected" set after a protocol error, and "error" unset after a disconnect.
bool LibsshStream::broken() const {
  if (ssh_is_connected(m_session.get()) == 0) return true;
  return (ssh_get_status(m_session.get()) & (SSH_CLOSED | SSH_CLOSED_ERROR)) != 0;
}

bool LibsshStream::finished() {
  const Lock lock(m_mutex);
  return m_closed || (m_remote_closed && !m_stalled);
}

// 0 when there is work already, else "for ever", having told the callers that they must wake us.
int LibsshStream::sleep_time() {
  const Lock lock(m_mutex);
  const bool wants_out = !m_out.empty() || (m_eof_wanted && !m_eof_sent);
  const bool can_write = wants_out && !m_blocked && !m_remote_closed;
  const bool can_read = m_stalled && m_in.room() > 0;
  m_sleeping = !m_closed && !can_write && !can_read;
  return m_sleeping ? -1 : 0;
}

void LibsshStream::fail_session(const std::string& what) {
  auto error = session_error(m_session.get(), Errc::connection_lost, what);
  const Lock lock(m_mutex);
  // After the remote program's end the connection may go as it likes.
  if (!m_remote_closed && !m_failed) m_failed = std::move(error).value();
}

LibsshStream::Pumped LibsshStream::pump_out() {
  ByteView region;
  {
    const Lock lock(m_mutex);
    if (m_remote_closed || m_blocked) return Pumped::nothing;
    region = m_out.filled_region();
  }
  if (region.empty()) return Pumped::nothing;
  region = region.first(std::min(region.size(), k_write_piece_bytes));
  const int written = ssh_channel_write(m_channel.get(), region.data(), static_cast<std::uint32_t>(region.size()));
  if (written <= 0) {
    // Nothing: the window is shut or keys are being exchanged. Negative: the loop sees what became of the session, or
    // the close callback has told already.
    m_blocked = true;
    return Pumped::nothing;
  }
  const Lock lock(m_mutex);
  m_out.consume(static_cast<std::size_t>(written));
  m_writable.notify_one();
  return Pumped::something;
}

LibsshStream::Pumped LibsshStream::send_eof_if_wanted() {
  {
    const Lock lock(m_mutex);
    if (!m_eof_wanted || !m_out.empty() || m_remote_closed) return Pumped::nothing;
  }
  if (m_eof_sent) return Pumped::nothing;
  m_eof_sent = true;
  // A failure is one of the session, which the loop notices.
  static_cast<void>(ssh_channel_send_eof(m_channel.get()));
  return Pumped::something;
}

// Takes what the callback had to leave in libssh's buffer, once there is room again.
LibsshStream::Pumped LibsshStream::pump_in() {
  Lock lock(m_mutex);
  if (!m_stalled) return Pumped::nothing;
  Pumped result = Pumped::nothing;
  while (m_stalled) {
    const auto region = m_in.free_region();
    if (region.empty()) break;
    lock.unlock();
    m_draining = true;
    const int got =
        ssh_channel_read_nonblocking(m_channel.get(), region.data(), static_cast<std::uint32_t>(region.size()), 0);
    m_draining = false;
    lock.lock();
    if (got > 0) {
      m_in.commit(static_cast<std::size_t>(got));
      m_alive = std::chrono::steady_clock::now();
      result = Pumped::something;
    } else {
      m_stalled = false;  // 0: the buffer is empty; negative: end of file behind it, or an error that the loop sees
    }
    m_readable.notify_one();
  }
  return result;
}

}  // namespace nb::transport
