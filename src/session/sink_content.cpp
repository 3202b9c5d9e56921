// SPDX-License-Identifier: Apache-2.0
// Sink, part four: contents arrive, are checked, and become staged files.
#include "session/sink.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/failpoint.hpp"
#include "session/interrupt.hpp"

namespace nb::session {
namespace {

// Of staged content, after which the log is written: what a crash makes us ask for again at most.
constexpr std::uint64_t k_logged_bytes = std::uint64_t{8} << 20;
// Of a hole or a copy, between two looks at whether the run is to end: each may be as long as a file can be.
constexpr std::uint64_t k_step_bytes = std::uint64_t{256} << 20;
// Writeback of a long file starts early, so that the one sync at the end finds little left to do.
constexpr std::uint64_t k_writeback_bytes = std::uint64_t{8} << 20;

}  // namespace

bool concerns_one_path(const Error& error) {
  // Names and sizes that this file system does not have.
  const int reason = error.sys_errno;
  const bool is_odd = error.code == Errc::io && (reason == EINVAL || reason == EILSEQ || reason == EFBIG);
  return is_odd || info(error.code).cls == ErrorClass::per_file || error.code == Errc::path ||
         error.code == Errc::unsupported;
}

std::string at_destination(const std::string& path, const Error& error) {
  const bool tells_why = error.sys_errno == 0 && (error.code == Errc::path || error.code == Errc::unsupported);
  return path + " at the destination" + (tells_why ? ": " + error.context : "");
}

// What the file system refuses for one name is that name's problem; the rest goes on.
Status Sink::per_file(Status status, const RelPath& path) {
  if (status || !concerns_one_path(status.error())) return status;
  Error error = status.error();
  error.context = at_destination(path.str(), error);
  m_reporter.problem(error);
  return {};
}

Status Sink::per_file(Status status, ExpectedFile& file) {
  if (!status) uncount(file);
  return per_file(std::move(status), file.path);
}

// The plan counted it; nothing came of it.
void Sink::uncount(const std::optional<txn::Ident>& replaced) {
  --(replaced ? m_result.files_changed : m_result.files_new);
}

void Sink::uncount(ExpectedFile& file) {
  if (std::exchange(file.counted, false)) uncount(file.replaced);
}

// The same of a file that was made here: what there is of it goes, or it would enter with its directory.
Status Sink::per_file_made(Status status, ExpectedFile& file) {
  NB_TRY(per_file(status, file));
  return status ? Status{} : remove_made(file.spot);
}

Status Sink::remove_made(const Spot& spot) {
  NB_TRY_ASSIGN(fs::Directory * dir, m_stager->directory(spot));
  return dir->remove_file(Stager::name_of(spot));
}

Result<ExpectedFile*> Sink::expected(const wire::FileKey& key) {
  const auto it = m_expected.find(key);
  if (it == m_expected.end()) return fail(Errc::protocol, "content that was not asked for");
  if (it->second.digest_asked) return fail(Errc::protocol, "content of a file whose digest was asked for");
  return &it->second;
}

// The file is settled, for better or worse; its want no longer counts.
Status Sink::settled(const wire::FileKey& key) {
  m_asked.erase(key);
  const auto it = m_expected.find(key);
  const bool owes = it != m_expected.end() && it->second.owes_basis_done;
  if (it != m_expected.end()) {
    if (it->second.rides) --m_riding;
    m_expected.erase(it);
  }
  return owes ? m_connection.send(wire::BasisDone{key}) : Status{};
}

Status Sink::pump_wants() {
  while (!m_to_ask.empty()) {
    if (const auto* done = std::get_if<wire::DirectoryDone>(&m_to_ask.front())) {
      NB_TRY(m_connection.send(*done));
      const auto unfinished = m_unfinished.find(done->id);
      m_unfinished_bytes -= unfinished->second;
      m_unfinished.erase(unfinished);
    } else {
      if (m_asked.size() >= m_options.want_credit) return {};
      const auto& want = std::get<wire::Want>(m_to_ask.front());
      NB_TRY(m_connection.send(want));
      m_asked.insert(want.file);
    }
    m_to_ask.pop_front();
  }
  return {};
}

// --- Small files ----------------------------------------------------------------------------------------------------

Status Sink::on_small_file(const wire::SmallFile& message) {
  NB_TRY_ASSIGN(ExpectedFile * file, expected(message.file));
  if (m_incoming) return fail(Errc::protocol, "small file in the middle of another");
  if (!message.meta && message.bytes.size() != file->size) return fail(Errc::protocol, "small file: wrong size");
  if (hash::digest_of(message.bytes, *m_options.secret) != message.digest) {
    return fail(Errc::protocol, "small file: content does not fit its digest");
  }
  m_result.content_bytes += message.bytes.size();
  if (file->dropped) return settled(message.file);
  const fs::Metadata& meta = message.meta ? *message.meta : file->meta;
  auto place = m_stager->place(file->spot);
  if (place) {
    m_writers->put({*file, *std::move(place), message.digest, meta, Bytes(message.bytes.begin(), message.bytes.end())});
  } else {
    NB_TRY(per_file(tl::make_unexpected(place.error()), *file));
  }
  NB_TRY(take_written());
  const std::uint64_t written = message.bytes.size() + 4096;
  NB_TRY(settled(message.file));
  return watch_space(written);
}

Status Sink::take_written() {
  for (WrittenFile& written : m_writers->take()) {
    ExpectedFile& file = written.job.file;
    Status done = written.status ? finish_written(written) : written.status;
    NB_TRY(written.handle ? per_file_made(std::move(done), file) : per_file(std::move(done), file));
  }
  return {};
}

Status Sink::finish_written(WrittenFile& written) {
  const SmallFileJob& job = written.job;
  if (!written.node) {
    NB_TRY_ASSIGN(written.node, m_stager->settle_file(job.file.spot, *written.handle, job.meta, job.file.path.str()));
  } else {
    m_stager->keep_nothing_beside(job.file.path);
  }
  written.node->ident.size = written.size;
  return staged(job.file, *written.node, job.digest, job.meta, written.size);
}

// Until it returns, files that have come may be incomplete or not in the log.
Status Sink::finish_writing() {
  if (!m_writers) return {};
  m_writers->wait();
  return take_written();
}

Status Sink::watch_space(std::uint64_t written) {
  m_written_since_check += written;
  if (m_written_since_check < m_stager->check_bytes()) return {};
  m_written_since_check = 0;
  return m_stager->check_space();
}

// A complete file: into the log, and into the journal unless its directory is new.
Status Sink::staged(const ExpectedFile& file, const StagedNode& node, const hash::Digest& digest,
                    const fs::Metadata& meta, std::uint64_t size) {
  const RelPath path = set_path(file.path);
  if (file.shared) m_shared.put(file.path, file.spot);
  txn::StagedRecord record;
  record.path = path;
  record.slot = file.spot.slot;
  record.size = size;
  record.mtime = meta.mtime;
  record.digest = digest;
  record.inode = node.ident.inode;
  record.born = node.born;
  NB_TRY(m_target.transaction->log_staged(record));
  m_staged_since_flush += size;
  if (m_staged_since_flush >= k_logged_bytes) {
    m_staged_since_flush = 0;
    NB_TRY(m_target.transaction->flush_log());
  }
  if (size > hash::k_block_bytes) m_bases->stage(path, node.ident, size, digest);
  return file.in_live ? add_place(file.path, file.spot, node, file.replaced) : Status{};
}

// What is staged at `spot` takes the live name `path`. Where that is a directory's now, nothing is below it any more.
Status Sink::add_place(const RelPath& path, const Spot& spot, const StagedNode& node,
                       const std::optional<txn::Ident>& replaced) {
  if (replaced && replaced->type == fs::FileType::directory) m_beside->remove_below(path);
  return enter(path, txn::Place{set_path(path), spot.slot, node.ident, replaced});
}

// --- Files in pieces ------------------------------------------------------------------------------------------------

Status Sink::on_file_begin(const wire::FileBegin& message) {
  NB_TRY_ASSIGN(ExpectedFile * file, expected(message.file));
  if (m_incoming && m_incoming->key != message.file) return fail(Errc::protocol, "file begun in the middle of another");
  if (message.kind == wire::ContentKind::delta && !file->basis) return fail(Errc::protocol, "delta without a basis");
  if (m_incoming) NB_TRY(drop_incoming(*file));
  m_incoming.emplace();
  m_incoming->key = message.file;
  m_incoming->size = message.size;
  m_incoming->meta = message.meta;
  m_incoming->kind = message.kind;
  if (file->dropped) return {};
  auto handle = m_stager->create_file(file->spot, message.meta);
  if (!handle) return per_file(tl::make_unexpected(handle.error()), *file);
  m_incoming->file = std::move(*handle);
  begin_content(*file);
  NB_TRY(log_begun(*file));
  return m_stager->check_space();
}

Status Sink::on_data(const wire::Data& message) {
  if (!m_incoming) return fail(Errc::protocol, "data without a file");
  Incoming& in = *m_incoming;
  NB_FAILPOINT("session.sink.data");
  m_result.content_bytes += message.bytes.size();
  if (in.kind == wire::ContentKind::delta) {
    return in.applier ? apply(in.applier->data(message.offset, message.bytes), message.bytes.size()) : Status{};
  }
  if (message.offset != in.at || message.bytes.size() > in.size - in.at) {
    return fail(Errc::protocol, "data: wrong offset");
  }
  in.at += message.bytes.size();
  return in.file ? write_incoming(message) : Status{};
}

Status Sink::write_incoming(const wire::Data& message) {
  Incoming& in = *m_incoming;
  NB_TRY(in.builder->update(message.bytes));
  const Status written = in.file->write_at(message.offset, message.bytes);
  if (!written) return refuse_incoming(written);
  in.since_writeback += message.bytes.size();
  if (in.since_writeback >= k_writeback_bytes) {
    in.file->start_writeback({in.at - in.since_writeback, in.since_writeback});
    in.since_writeback = 0;
  }
  return watch_space(message.bytes.size());
}

// This file system does not take it; the rest of the content is received, and dropped.
Status Sink::refuse_incoming(Status status) {
  ExpectedFile& file = m_expected.at(m_incoming->key);
  NB_TRY(per_file(std::move(status), file));
  m_incoming->applier.reset();
  m_incoming->file.reset();
  return remove_made(file.spot);
}

Status Sink::in_steps(std::uint64_t length, const std::function<Status(std::uint64_t, std::uint64_t)>& step) {
  for (std::uint64_t done = 0; done < length; done += k_step_bytes) {
    if (interrupt_requested()) return fail(Errc::interrupted, "");
    NB_TRY(step(done, std::min(length - done, k_step_bytes)));
  }
  return {};
}

Status Sink::on_hole(const wire::Hole& message) {
  if (!m_incoming) return fail(Errc::protocol, "hole without a file");
  Incoming& in = *m_incoming;
  if (in.kind == wire::ContentKind::delta) {
    return in_steps(message.length, [&](std::uint64_t done, std::uint64_t length) {
      return in.applier ? apply(in.applier->hole(message.offset + done, length), 0) : Status{};
    });
  }
  if (message.offset != in.at || message.length > in.size - in.at) return fail(Errc::protocol, "hole: wrong offset");
  in.at += message.length;
  if (!in.file) return {};
  // Before anything is hashed: the file system may not have files of that size.
  const Status grown = in.file->set_size(in.at);
  if (!grown) return refuse_incoming(grown);
  return in_steps(message.length,
                  [&in](std::uint64_t, std::uint64_t length) { return in.builder->update_zeros(length); });
}

Status Sink::on_file_end(const wire::FileEnd& message) {
  NB_TRY_ASSIGN(ExpectedFile * file, expected(message.file));
  if (m_incoming && m_incoming->key != message.file) return fail(Errc::protocol, "file end: another file");
  if (message.outcome != wire::FileOutcome::complete) {
    // The source has said why. What is here of it stays as it was.
    uncount(*file);
    if (m_incoming) NB_TRY(drop_incoming(*file));
    return settled(message.file);
  }
  const bool is_short =
      m_incoming && m_incoming->kind == wire::ContentKind::whole && m_incoming->at != m_incoming->size;
  if (!m_incoming || is_short) return fail(Errc::protocol, "file end: content is missing");
  if (m_incoming->file) {
    const auto good = content_is_good(message.digest);
    if (good && !*good) return want_whole(*file);
    NB_TRY(per_file_made(good ? finish_incoming(*file, message.digest) : tl::make_unexpected(good.error()), *file));
  }
  m_incoming.reset();
  return settled(message.file);
}

// Whether what was made is what the source has. A delta may miss it without anybody's fault, a whole content may not.
Result<bool> Sink::content_is_good(const hash::Digest& digest) {
  Incoming& in = *m_incoming;
  if (in.kind == wire::ContentKind::delta) {
    if (!in.applier) return false;
    NB_TRY_ASSIGN(const hash::Digest made, in.applier->finish());
    return made == digest && BasisStore::is_unchanged(*m_expected.at(in.key).basis, *in.basis);
  }
  NB_TRY_ASSIGN(const hash::Digest made, in.builder->finish());
  if (made != digest) return fail(Errc::protocol, "file end: content does not fit its digest");
  return true;
}

Status Sink::finish_incoming(const ExpectedFile& file, const hash::Digest& digest) {
  Incoming& in = *m_incoming;
  NB_TRY(in.file->set_size(in.size));
  NB_TRY_ASSIGN(StagedNode node, m_stager->finish_file(file.spot, *in.file, in.meta, file.path.str()));
  node.ident.size = in.size;
  NB_TRY(staged(file, node, digest, in.meta, in.size));
  if (!file.basis || !file.basis->slot) return {};
  NB_TRY(m_target.transaction->flush_log());  // or a run that dies now would have neither
  drop_begun(*file.basis);
  return {};
}

Status Sink::drop_incoming(const ExpectedFile& file) {
  const bool made = m_incoming->file != nullptr;
  m_incoming.reset();
  return made ? remove_made(file.spot) : Status{};
}

}  // namespace nb::session
