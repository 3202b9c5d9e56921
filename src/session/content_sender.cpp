// SPDX-License-Identifier: Apache-2.0
#include "session/content_sender.hpp"

#include <algorithm>

#include "base/failpoint.hpp"
#include "fs/metadata.hpp"
#include "hash/file_hasher.hpp"
#include "session/interrupt.hpp"
#include "session/signature_recorder.hpp"

namespace nb::session {
namespace {

constexpr int k_attempts = 3;  // of reading a file that keeps changing, after the one that takes it as listed

wire::FileOutcome outcome_of(Errc code) {
  if (code == Errc::vanished) return wire::FileOutcome::vanished;
  if (code == Errc::changed) return wire::FileOutcome::changed;
  return wire::FileOutcome::unreadable;
}

// Asks for one byte more than `expected`, to see a file grow. Where the first answer is what was expected there is no
// second: whether it has grown meanwhile is for the stat that follows to tell.
Result<std::size_t> read_small(fs::File& file, std::size_t expected, std::span<std::byte> out) {
  NB_TRY_ASSIGN(const std::size_t got, file.read_at(0, out));
  if (got == 0 || got >= expected) return got;
  NB_TRY_ASSIGN(const std::size_t rest, fs::read_fully(file, got, out.subspan(got)));
  return got + rest;
}

}  // namespace

// Attributes cannot have changed without the ctime: a file as it was listed needs no second look at them.
Result<ContentSender::Opened> ContentSender::open(const Listed& listed, Look look) {
  Opened out;
  NB_TRY_ASSIGN(out.file, m_tree.open_file(listed.directory, listed.origin, listed.entry.name));
  out.stat = listed.stat;
  if (look == Look::before_and_after) {
    NB_TRY_ASSIGN(out.stat, out.file->stat());
  }
  if (m_options.digests != nullptr) out.began = m_options.digests->begin(*out.file, out.stat);
  if (look == Look::after_reading) {
    out.meta = listed.entry.meta;
    return out;
  }
  if (out.stat.size > wire::k_max_file_bytes) return fail(Errc::unreadable, "", EFBIG);
  // The first of a group of hard links stands for all of it: another file of its name is none of theirs.
  const bool is_other = out.stat.inode != listed.stat.inode || out.stat.device != listed.stat.device;
  if (is_other && scan::HardLinks::is_member(listed.stat)) return fail(Errc::changed, "");
  out.newer = !fs::is_same_state(out.stat, listed.stat);
  if (!out.newer) {
    out.meta = listed.entry.meta;
    return out;
  }
  NB_TRY_ASSIGN(fs::Xattrs xattrs, out.file->xattrs());
  xattrs = scan::with_aside(std::move(xattrs), m_tree.beside(listed.origin), listed.directory.child(listed.entry.name),
                            out.stat.type);
  out.meta = scan::meant_under(m_options.view, out.stat, std::move(xattrs)).meta;
  static_cast<void>(scan::limit_attributes(out.meta));  // told when it was listed
  return out;
}

Status ContentSender::send(const wire::FileKey& key, const Listed& listed, const Basis* basis) {
  const RelPath path = listed.directory.child(listed.entry.name);
  m_begun = false;
  // Whoever gets it would take it for good.
  if (is_damaged(listed.stat)) return give_up(key, {Errc::damaged, 0, ""}, path);
  // A small file is read as what was listed: if it still is that afterwards, so it was before.
  const bool is_small = listed.stat.size <= m_options.small_file_bytes;
  for (int attempt = is_small ? 0 : 1; attempt <= k_attempts; ++attempt) {
    auto file = open(listed, attempt == 0 ? Look::after_reading : Look::before_and_after);
    if (!file) {
      Error error = file.error();
      if (error.code != Errc::changed) error.code = error.code == Errc::not_found ? Errc::vanished : Errc::unreadable;
      return give_up(key, std::move(error), path);
    }
    NB_TRY_ASSIGN(const Attempt outcome, try_once(key, *file, basis));
    if (outcome == Attempt::sent) return {};
    if (outcome == Attempt::unreadable) return give_up(key, m_trouble, path);
  }
  return give_up(key, {Errc::changed, 0, ""}, path);
}

// The file is still as it was opened: whoever verifies it next need not read it again.
void ContentSender::remember(const Opened& file, const hash::Digest& digest) {
  if (m_options.digests == nullptr) return;
  m_options.digests->record(*file.file, {file.stat, digest, file.began}, *m_options.secret);
}

// Once it has begun in pieces it goes on so, even if it has shrunk since.
Result<ContentSender::Attempt> ContentSender::try_once(const wire::FileKey& key, Opened& file, const Basis* basis) {
  NB_FAILPOINT("session.source.file_opened");
  if (basis != nullptr && file.stat.size > m_options.small_file_bytes) return send_delta(key, file, *basis);
  return file.stat.size <= m_options.small_file_bytes && !m_begun ? send_small(key, file) : send_large(key, file);
}

ContentSender::Attempt ContentSender::failed(const Error& error) {
  m_trouble = {Errc::unreadable, error.sys_errno, {}};
  return Attempt::unreadable;
}

Status ContentSender::give_up(const wire::FileKey& key, Error error, const RelPath& path) {
  error.context = path.str();
  m_reporter.problem(error);
  return m_connection.send(wire::FileEnd{key, outcome_of(error.code), static_cast<std::uint64_t>(error.sys_errno), {}});
}

Result<ContentSender::Attempt> ContentSender::send_small(const wire::FileKey& key, Opened& file) {
  const auto expected = static_cast<std::size_t>(file.stat.size);
  if (m_buffer.size() <= expected) m_buffer.resize(expected + 1);
  const auto have = read_small(*file.file, expected, std::span(m_buffer).first(expected + 1));
  if (!have) return failed(have.error());
  const auto after = file.file->stat();
  if (!after) return failed(after.error());
  if (*have != file.stat.size || !fs::is_same_state(file.stat, *after)) return Attempt::changed;
  const ByteView content = ByteView(m_buffer).first(*have);
  wire::SmallFile message{key, {}, hash::digest_of(content, *m_options.secret), content};
  remember(file, message.digest);
  if (file.newer) message.meta = file.meta;
  m_content_bytes += *have;
  NB_TRY(m_connection.send(message));
  return Attempt::sent;
}

// What came of reading a file to its end. Where the line is broken the error is not the file's.
Result<ContentSender::Attempt> ContentSender::outcome_of_reading(const Status& status, LineState line) {
  if (status) return Attempt::sent;
  if (line == LineState::broken) return tl::make_unexpected(status.error());
  return status.error().code == Errc::changed ? Attempt::changed : failed(status.error());
}

Status ContentSender::send_piece(std::uint64_t offset, ByteView bytes) {
  NB_TRY(m_connection.send(wire::Data{offset, bytes}));
  m_content_bytes += bytes.size();
  m_on_progress();
  NB_FAILPOINT("session.source.range_sent");
  return interrupt_requested() ? fail(Errc::interrupted, "") : Status{};
}

// The whole content, data and holes in turn.
Result<ContentSender::Attempt> ContentSender::send_pieces(Opened& file, hash::FileHasher& hasher) {
  auto line = LineState::good;
  const auto note = [&line](Status status) {
    if (!status) line = LineState::broken;
    return status;
  };
  const fs::ContentVisitor visitor{[&](fs::Extent hole) {
                                     hasher.update_zeros(hole.length);
                                     return note(m_connection.send(wire::Hole{hole.offset, hole.length}));
                                   },
                                   [&](std::uint64_t offset, ByteView bytes) {
                                     hasher.update(bytes);
                                     return note(send_piece(offset, bytes));
                                   }};
  m_buffer.resize(wire::k_max_data_bytes);
  const Status read = fs::read_through(*file.file, file.stat.size, m_buffer, visitor);
  return outcome_of_reading(read, line);
}

Result<ContentSender::Attempt> ContentSender::send_large(const wire::FileKey& key, Opened& file) {
  m_begun = true;
  NB_TRY(m_connection.send(wire::FileBegin{key, file.stat.size, file.meta}));
  file.file->expect_sequential_read();
  hash::FileHasher hasher(*m_options.secret);
  NB_TRY_ASSIGN(const Attempt outcome, send_pieces(file, hasher));
  if (outcome != Attempt::sent) return outcome;
  return end_content(key, file, hasher.finish());
}

// Everything has been read; if the file is still what it was, so is what was sent.
Result<ContentSender::Attempt> ContentSender::end_content(const wire::FileKey& key, const Opened& file,
                                                          const hash::Digest& digest) {
  const auto after = file.file->stat();
  if (!after) return failed(after.error());
  if (!fs::is_same_state(file.stat, *after)) return Attempt::changed;
  remember(file, digest);
  NB_TRY(m_connection.send(wire::FileEnd{key, wire::FileOutcome::complete, 0, digest}));
  return Attempt::sent;
}

// --- The digest alone -----------------------------------------------------------------------------------------------

// It may be sent right after, so it may stay in the page cache.
Result<std::optional<hash::Digest>> ContentSender::digest_of(const Listed& listed, Effort effort) {
  auto file = open(listed, Look::before_and_after);
  if (!file || file->newer || is_damaged(listed.stat)) return std::nullopt;
  if (m_options.digests != nullptr) {
    auto known = m_options.digests->find(*file->file, file->stat, *m_options.secret);
    if (known) return known;
  }
  if (effort == Effort::recall) return std::nullopt;
  const auto go_on = [this] {
    m_on_progress();
    return !m_options.go_on || m_options.go_on();
  };
  const auto digest = scan::cached_content_digest(*file->file, file->stat.size, *m_options.secret, go_on);
  if (!digest && digest.error().code == Errc::interrupted) return tl::make_unexpected(digest.error());
  if (!digest) return std::nullopt;
  const auto after = file->file->stat();
  if (!after || !fs::is_same_state(file->stat, *after)) return std::nullopt;
  remember(*file, *digest);
  return *digest;
}

namespace {

// Tells the errors of the connection, which end the run, from those of the file.
class Wire final : public delta::DeltaSink, public delta::BasisSignature {
 public:
  using Sent = std::function<void(std::uint64_t)>;
  Wire(Connection& connection, delta::BasisSignature& signature, Sent sent)
      : m_connection(connection), m_signature(signature), m_sent(std::move(sent)) {}

  Status data(std::uint64_t offset, ByteView bytes) override {
    m_sent(bytes.size());
    return note(interrupt_requested() ? fail(Errc::interrupted, "") : m_connection.send(wire::Data{offset, bytes}));
  }
  Status copy(std::uint64_t offset, std::uint64_t basis_offset, std::uint64_t length) override {
    m_sent(0);
    return note(interrupt_requested() ? fail(Errc::interrupted, "")
                                      : m_connection.send(wire::Copy{offset, basis_offset, length}));
  }
  Status hole(std::uint64_t offset, std::uint64_t length) override {
    return note(m_connection.send(wire::Hole{offset, length}));
  }
  Result<std::shared_ptr<const delta::SignaturePiece>> piece(std::uint64_t index) override {
    auto found = m_signature.piece(index);
    m_broken |= !found;
    return found;
  }
  [[nodiscard]] bool broken() const { return m_broken; }

 private:
  Status note(Status status) {
    m_broken |= !status;
    return status;
  }
  Connection& m_connection;
  delta::BasisSignature& m_signature;
  Sent m_sent;
  bool m_broken = false;
};

}  // namespace

Result<ContentSender::Attempt> ContentSender::send_delta(const wire::FileKey& key, Opened& file, const Basis& basis) {
  m_begun = true;
  NB_TRY(m_connection.send(wire::FileBegin{key, file.stat.size, file.meta, wire::ContentKind::delta}));
  file.file->expect_sequential_read();
  Wire line(m_connection, basis.signature, [this](std::uint64_t bytes) {
    m_content_bytes += bytes;
    m_on_progress();
  });
  // What has changed once will change again: the next delta needs no description of this content.
  SignatureRecorder recorder(m_options.signatures, *m_options.secret, file.stat.size);
  delta::SignatureBuilder builder(*m_options.signer, recorder.taker());
  delta::MatcherOptions options;
  options.size = file.stat.size;
  options.basis_size = basis.size;
  options.max_data_bytes = wire::k_max_data_bytes;
  delta::Matcher matcher(*file.file, line, line, builder, *m_options.signer, options);
  const auto matched = matcher.run();
  NB_TRY_ASSIGN(const Attempt read, outcome_of_reading(matched ? Status{} : tl::make_unexpected(matched.error()),
                                                       line.broken() ? LineState::broken : LineState::good));
  if (read != Attempt::sent) return read;
  NB_TRY_ASSIGN(const hash::Digest digest, builder.finish());
  NB_TRY_ASSIGN(const Attempt outcome, end_content(key, file, digest));
  if (outcome == Attempt::sent) recorder.keep(digest);
  return outcome;
}

}  // namespace nb::session
