// SPDX-License-Identifier: Apache-2.0
#include "session/content_sender.hpp"

#include <algorithm>

#include "base/failpoint.hpp"
#include "hash/file_hasher.hpp"

namespace nb::session {
namespace {

constexpr int k_attempts = 3;

// Reading errors are the file's, sending errors the connection's; one Error carries both through the same functions.
bool is_file_error(const Error& error) {
  return info(error.code).cls == ErrorClass::per_file || error.code == Errc::io;
}

wire::FileOutcome outcome_of(Errc code) {
  if (code == Errc::vanished) return wire::FileOutcome::vanished;
  if (code == Errc::changed) return wire::FileOutcome::changed;
  return wire::FileOutcome::unreadable;
}

}  // namespace

// Attributes cannot have changed without the ctime: a file as it was listed needs no second look at them.
Result<ContentSender::Opened> ContentSender::open(const Listed& listed) {
  Opened out;
  NB_TRY_ASSIGN(out.file, m_tree.open_file(listed.directory, listed.origin, listed.entry.name));
  if (m_options.digests != nullptr) out.began = m_options.digests->now();
  NB_TRY_ASSIGN(out.stat, out.file->stat());
  out.newer = !fs::is_same_state(out.stat, listed.stat);
  if (!out.newer) {
    out.meta = listed.entry.meta;
    return out;
  }
  NB_TRY_ASSIGN(fs::Xattrs xattrs, out.file->xattrs());
  out.meta = scan::meant_under(m_options.view, out.stat, std::move(xattrs)).meta;
  return out;
}

Status ContentSender::send(const wire::FileKey& key, const Listed& listed) {
  const RelPath path = listed.directory.child(listed.entry.name);
  for (int attempt = 0; attempt < k_attempts; ++attempt) {
    auto file = open(listed);
    if (!file) {
      Error error = file.error();
      error.code = error.code == Errc::not_found ? Errc::vanished : Errc::unreadable;
      return give_up(key, std::move(error), path);
    }
    const auto sent = try_once(key, *file);
    if (!sent && !is_file_error(sent.error())) return tl::make_unexpected(sent.error());
    if (!sent) {
      Error error = sent.error();
      error.code = Errc::unreadable;
      return give_up(key, std::move(error), path);
    }
    if (*sent == Attempt::sent) return {};
  }
  return give_up(key, {Errc::changed, 0, ""}, path);
}

// The file is still as it was opened: whoever verifies it next need not read it again.
void ContentSender::remember(const Opened& file, const hash::Digest& digest) {
  if (m_options.digests == nullptr) return;
  m_options.digests->record(*file.file, {file.stat, digest, file.began}, *m_options.secret);
}

Result<ContentSender::Attempt> ContentSender::try_once(const wire::FileKey& key, Opened& file) {
  NB_FAILPOINT("session.source.file_opened");
  return file.stat.size <= m_options.small_file_bytes ? send_small(key, file) : send_large(key, file);
}

Status ContentSender::give_up(const wire::FileKey& key, Error error, const RelPath& path) {
  error.context = path.str();
  m_reporter.problem(error);
  return m_connection.send(
      wire::FileEnd{key, outcome_of(error.code), static_cast<std::uint64_t>(error.sys_errno), {}});
}

Result<ContentSender::Attempt> ContentSender::send_small(const wire::FileKey& key, Opened& file) {
  // One byte more than expected, to see it grow.
  m_buffer.resize(static_cast<std::size_t>(file.stat.size) + 1);
  std::size_t have = 0;
  while (have < m_buffer.size()) {
    NB_TRY_ASSIGN(const std::size_t got, file.file->read_at(have, std::span(m_buffer).subspan(have)));
    if (got == 0) break;
    have += got;
  }
  NB_TRY_ASSIGN(const fs::Stat after, file.file->stat());
  if (have != file.stat.size || !fs::is_same_state(file.stat, after)) return Attempt::changed;
  const ByteView content = ByteView(m_buffer).first(have);
  wire::SmallFile message{key, {}, hash::digest_of(content, *m_options.secret), content};
  remember(file, message.digest);
  if (file.newer) message.meta = file.meta;
  m_content_bytes += have;
  NB_TRY(m_connection.send(message));
  return Attempt::sent;
}

Status ContentSender::send_range(fs::File& file, std::uint64_t from, std::uint64_t to, hash::FileHasher& hasher) {
  m_buffer.resize(wire::k_max_data_bytes);
  while (from < to) {
    const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(to - from, m_buffer.size()));
    NB_TRY_ASSIGN(const std::size_t got, file.read_at(from, std::span(m_buffer).first(want)));
    if (got == 0) return fail(Errc::changed, "");
    const ByteView piece = ByteView(m_buffer).first(got);
    hasher.update(piece);
    NB_TRY(m_connection.send(wire::Data{from, piece}));
    from += got;
    m_content_bytes += got;
  }
  return {};
}

Result<ContentSender::Attempt> ContentSender::send_large(const wire::FileKey& key, Opened& file) {
  const std::uint64_t size = file.stat.size;
  NB_TRY(m_connection.send(wire::FileBegin{key, size, file.meta}));
  file.file->expect_sequential_read();
  hash::FileHasher hasher(*m_options.secret);
  std::uint64_t at = 0;
  while (at < size) {
    NB_TRY_ASSIGN(const auto data, file.file->next_data(at));
    const std::uint64_t start = data ? std::min(data->offset, size) : size;
    const std::uint64_t end = data ? std::min(size, start + data->length) : size;
    if (start > at) {
      hasher.update_zeros(start - at);
      NB_TRY(m_connection.send(wire::Hole{at, start - at}));
    }
    const Status sent = send_range(*file.file, start, end, hasher);
    if (!sent && sent.error().code == Errc::changed) return Attempt::changed;
    NB_TRY(sent);
    at = end;
    NB_FAILPOINT("session.source.range_sent");
  }
  NB_TRY_ASSIGN(const fs::Stat after, file.file->stat());
  if (!fs::is_same_state(file.stat, after)) return Attempt::changed;
  const hash::Digest digest = hasher.finish();
  remember(file, digest);
  NB_TRY(m_connection.send(wire::FileEnd{key, wire::FileOutcome::complete, 0, digest}));
  return Attempt::sent;
}

}  // namespace nb::session
