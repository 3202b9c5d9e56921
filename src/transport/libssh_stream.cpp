// SPDX-License-Identifier: Apache-2.0
// The callers' half of LibsshStream, which only touches what the mutex guards, and the factory.
#include "transport/libssh_stream.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "transport/libssh_stream_impl.hpp"

namespace nb::transport {
namespace {

struct LoggedIn {
  SessionPtr session;
  ssh::Security allowed = ssh::Security::encrypted;  // what the second key exchange may come to
};

Result<LoggedIn> log_in(const LibsshOptions& options) {
  const LogScope log(options.on_log, options.verbosity);
  NB_TRY_ASSIGN(SessionPtr session, configure_session(options));
  NB_TRY(connect_session(session.get(), options));
  // Whatever a configuration file may have named: nobody logs in over `none`.
  NB_TRY(ssh::check_allowed(read_negotiated(session.get(), options), ssh::Security::encrypted));
  NB_TRY_ASSIGN(const ssh::HostKeyTrust trust, verify_host_key(session.get(), options));
  NB_TRY_ASSIGN(const ssh::Security allowed, request_switch(session.get(), options, trust));
  NB_TRY(authenticate(session.get(), options));
  return LoggedIn{std::move(session), allowed};
}

// The server ended the session when it was asked for `none`, or the other way of saying no: a new one does not ask.
Result<std::unique_ptr<LibsshByteStream>> open_encrypted(LibsshOptions options, const Error& refusal) {
  warn_of_security(options, "the server did not take it (" + refusal.context + "); connecting again, encrypted");
  options.security = ssh::Security::encrypted;
  return open_libssh_stream(std::move(options));
}

}  // namespace

void warn_of_security(const LibsshOptions& options, const std::string& what) {
  if (!options.on_warning) return;
  options.on_warning("--ssh-security=" + std::string(ssh::security_name(options.security)) + " for " +
                     options.host.name + ": " + what);
}

void LibsshStream::wake_owner() {
  if (std::exchange(m_sleeping, false)) signal_event_fd(m_wake.get());
}

Result<std::size_t> LibsshStream::read(std::span<std::byte> out, std::chrono::milliseconds inactivity) {
  Lock lock(m_mutex);
  const auto ready = [this] { return readable(); };
  if (inactivity <= std::chrono::milliseconds::zero()) {
    m_readable.wait(lock, ready);
  } else if (!m_readable.wait_for(lock, inactivity, ready)) {
    return fail(Errc::timeout, "read from " + m_address);
  }
  if (m_closed) return fail(Errc::connection_lost, "read from " + m_address);
  if (m_in.empty() && at_eof()) return std::size_t{0};
  if (m_in.empty()) return tl::make_unexpected(*m_failed);
  const ByteView region = m_in.filled_region();
  const std::size_t count = std::min(region.size(), out.size());
  lock.unlock();
  std::memcpy(out.data(), region.data(), count);
  lock.lock();
  m_in.consume(count);
  // Not for every piece: the owner would copy a few bytes each time.
  if (m_stalled && m_in.room() >= k_ring_bytes / 2) wake_owner();
  return count;
}

Status LibsshStream::write_state() const {
  if (m_closed) return fail(Errc::connection_lost, "write to " + m_address);
  if (m_failed) return tl::make_unexpected(*m_failed);
  if (m_remote_closed) return fail(Errc::connection_lost, "write to " + m_address + ": the remote program has ended");
  if (m_eof_wanted) return fail(Errc::internal, "write after finish_writing");
  return {};
}

// False when the peer has taken nothing, and said nothing, for too long.
bool LibsshStream::wait_until_writable(Lock& lock) {
  const auto ready = [this] { return writable(); };
  m_alive = std::chrono::steady_clock::now();
  while (true) {
    const Deadline deadline = deadline_after(m_options.write_inactivity, m_alive);
    if (!deadline) {
      m_writable.wait(lock, ready);
      return true;
    }
    if (m_writable.wait_until(lock, *deadline, ready)) return true;
    if (deadline == deadline_after(m_options.write_inactivity, m_alive)) return false;
  }
}

Status LibsshStream::write(ByteView data) {
  Lock lock(m_mutex);
  while (!data.empty()) {
    if (!wait_until_writable(lock)) return fail(Errc::timeout, "write to " + m_address);
    NB_TRY(write_state());
    const auto region = m_out.free_region();
    const std::size_t count = std::min(region.size(), data.size());
    lock.unlock();
    std::memcpy(region.data(), data.data(), count);
    lock.lock();
    m_out.commit(count);
    wake_owner();
    data = data.subspan(count);
  }
  return {};
}

Status LibsshStream::finish_writing() {
  const Lock lock(m_mutex);
  if (m_closed) return fail(Errc::connection_lost, "finish writing to " + m_address);
  if (m_failed) return tl::make_unexpected(*m_failed);
  m_eof_wanted = true;
  wake_owner();
  return {};
}

void LibsshStream::close_now() {
  const Lock lock(m_mutex);
  m_closed = true;
  // libssh's sends wait as long as the peer takes nothing.
  if (!m_owner_done) static_cast<void>(::shutdown(m_socket.get(), SHUT_RDWR));
  wake_owner();
  m_readable.notify_all();
  m_writable.notify_all();
}

PeerEnd LibsshStream::wait_end(std::chrono::milliseconds limit) {
  Lock lock(m_mutex);
  m_ended.wait_for(lock, limit, [this] { return m_owner_done; });
  PeerEnd end = m_end;
  end.stderr_tail = m_stderr.tail();
  return end;
}

std::string LibsshStream::describe() const { return "libssh " + m_address + " (" + ssh::describe(m_negotiated) + ")"; }

Result<std::unique_ptr<LibsshByteStream>> open_libssh_stream(LibsshOptions options) {
  NB_TRY_ASSIGN(LoggedIn logged_in, log_in(options));
  NB_TRY_ASSIGN(Fd wake, make_event_fd());
  auto stream = std::make_unique<LibsshStream>(options, std::move(logged_in.session), std::move(wake));
  const Status opened = stream->open_channel();
  const bool switched = logged_in.allowed != ssh::Security::encrypted;
  const bool refused = !opened && opened.error().code != Errc::connect_timeout;
  if (refused && switched) return open_encrypted(std::move(options), opened.error());
  NB_TRY(opened);
  NB_TRY(ssh::check_allowed(stream->negotiated(), logged_in.allowed));
  const std::string shortfall = ssh::shortfall(stream->negotiated(), logged_in.allowed);
  if (!shortfall.empty()) warn_of_security(options, shortfall);
  NB_TRY(stream->start());
  return stream;
}

}  // namespace nb::transport
