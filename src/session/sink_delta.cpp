// SPDX-License-Identifier: Apache-2.0
// Sink, part five: contents that come as what differs from a basis, the file that they replace.
#include "session/sink.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace nb::session {

namespace {

// From this size on a file that is cut off is worth going on with.
constexpr std::uint64_t k_resumable_bytes = std::uint64_t{1} << 20;
constexpr std::size_t k_most_halvings = 62;

// Of the content that is wanted; else it tells of one that the path had earlier.
bool is_record_of(const txn::StagedRecord& record, const wire::Entry& entry) {
  return !record.is_tree && record.size == entry.size && record.mtime == entry.meta.mtime;
}

// How many runs began the wanted content and came to no end with it.
unsigned times_begun(const std::vector<txn::StagedRecord>& records, const wire::Entry& entry) {
  std::set<std::uint64_t> slots;
  for (const txn::StagedRecord& record : records) {
    if (record.is_partial && is_record_of(record, entry)) slots.insert(record.slot);
  }
  return static_cast<unsigned>(std::min(slots.size(), k_most_halvings));
}

}  // namespace

// What interrupted runs have of that content: the longest. What the path had earlier may be of use, and may not: it
// counts less each time. What is of no use to any run goes.
Result<Sink::Begun> Sink::find_begun(const RelPath& path, const wire::Entry& entry) {
  NB_TRY_ASSIGN(std::vector<txn::StagedRecord> records, m_target.transaction->find_all_staged(path));
  const auto aside = m_begun.find(path);
  if (aside != m_begun.end()) records.push_back(aside->second);
  Begun begun;
  begun.times = times_begun(records, entry);
  std::uint64_t most = 0;
  std::set<std::uint64_t> slots;
  for (const txn::StagedRecord& record : records) {
    if (record.is_tree || !slots.insert(record.slot).second) continue;
    auto file = m_bases->offer_begun(path, record.slot);
    if (!file) continue;
    const std::uint64_t useful = std::min(file->stat.size, entry.size);
    const std::uint64_t worth = is_record_of(record, entry) ? useful : useful >> (1 + begun.times);
    if (worth > most) {
      std::swap(begun.file, file);
      most = worth;
    }
    if (file) drop_begun(*file);
  }
  return begun;
}

// What stays of it goes with the stage.
void Sink::drop_begun(const BasisFile& file) {
  static_cast<void>(m_target.transaction->slots().remove_file(txn::Transaction::slot_name(*file.slot)));
}

// A file of an adopted tree, which `record` is about, makes room for its successor. The log tells first: a run that
// dies now leaves it to the next one.
Status Sink::put_begun_aside(fs::Directory& directory, const std::string& name, const txn::StagedRecord& record) {
  const std::uint64_t slot = m_target.transaction->next_slot();
  NB_TRY_ASSIGN(txn::StagedRecord aside, log_partial(record.path, slot, record.size, record.mtime));
  m_begun.emplace(record.path, std::move(aside));
  return directory.rename(name, m_target.transaction->slots(), txn::Transaction::slot_name(slot),
                          fs::RenameMode::no_replace);
}

Status Sink::log_begun(const ExpectedFile& file) {
  if (m_incoming->size < k_resumable_bytes) return {};
  NB_TRY(log_partial(set_path(file.path), file.spot.slot, m_incoming->size, m_incoming->meta.mtime));
  return {};
}

// At once: whoever is killed now has told of it.
Result<txn::StagedRecord> Sink::log_partial(const RelPath& path, std::uint64_t slot, std::uint64_t size,
                                            fs::Timestamp mtime) {
  txn::StagedRecord record;
  record.path = path;
  record.slot = slot;
  record.is_partial = true;
  record.size = size;
  record.mtime = mtime;
  NB_TRY(m_target.transaction->log_staged(record));
  NB_TRY(m_target.transaction->flush_log());
  return record;
}

// Small files are not worth a question; they ride whole.
Status Sink::offer_basis(const wire::Entry& entry, const fs::Stat* present, ExpectedFile& file) {
  if (entry.type != fs::FileType::regular || entry.size <= hash::k_block_bytes) return {};
  const bool resembles = present != nullptr && present->type == fs::FileType::regular &&
                         present->size > hash::k_block_bytes && !has(wire::k_flag_whole_file) &&
                         !m_damage.has(*present);
  NB_TRY_ASSIGN(Begun begun, find_begun(set_path(file.path), entry));
  // Little of what was begun is worth less than all of the old file; but one that resembles nothing after all must not
  // make every run begin anew.
  const auto useful = [&entry](const fs::Stat& stat) { return std::min(stat.size, entry.size); };
  const bool is_better =
      resembles && (!begun.file || useful(begun.file->stat) < useful(*present) >> std::max(begun.times, 1U));
  file.basis = is_better ? m_bases->offer(set_path(file.path), *present) : std::move(begun.file);
  file.owes_basis_done = file.basis.has_value();
  return {};
}

Status Sink::on_signature_request(const wire::SignatureRequest& message) {
  NB_TRY_ASSIGN(const ExpectedFile* file, expected(message.file));
  if (!file->basis || !m_asked.contains(message.file)) return fail(Errc::protocol, "signature request: no basis");
  if (message.piece >= delta::pieces_in(file->basis->stat.size)) {
    return fail(Errc::protocol, "signature request: no such piece");
  }
  const Bytes blob = m_bases->piece(*file->basis, message.piece);
  NB_TRY(m_connection.send(wire::Signature{message.file, message.piece, blob}));
  return m_connection.flush();
}

// Hashes what comes, keeps its signature where there will be a next time, and opens the basis of a delta.
void Sink::begin_content(const ExpectedFile& file) {
  Incoming& in = *m_incoming;
  delta::SignatureBuilder::PieceTaker taker;
  if (m_bases->remembers()) {
    const RelPath in_set = set_path(file.path);
    m_bases->begin_file(in_set);
    taker = [this, path = in_set, size = in.size](const delta::SignaturePiece& piece) -> Status {
      m_bases->stage_piece(path, piece, size);
      return {};
    };
  }
  in.builder = std::make_unique<delta::SignatureBuilder>(m_bases->signer(), std::move(taker));
  if (in.kind != wire::ContentKind::delta) return;
  in.basis = m_bases->open(*file.basis);
  if (!in.basis) return;  // void: the whole is wanted when it has ended
  delta::ApplierOptions options{in.basis.get(), file.basis->stat.size, in.size, {}};
  options.trusted = [this, basis = *file.basis](std::uint64_t block) { return m_bases->trusted(basis, block); };
  in.applier = std::make_unique<delta::Applier>(*in.file, *in.builder, std::move(options));
}

Status Sink::on_copy(const wire::Copy& message) {
  if (!m_incoming || m_incoming->kind != wire::ContentKind::delta) return fail(Errc::protocol, "copy without a delta");
  if (!m_incoming->applier) return {};
  if (m_expected.at(m_incoming->key).basis->slot) m_result.resumed_bytes += message.length;
  return in_steps(message.length, [&](std::uint64_t done, std::uint64_t length) {
    if (!m_incoming->applier) return Status{};
    return apply(m_incoming->applier->copy(message.offset + done, message.basis_offset + done, length), length);
  });
}

// What a step of the delta came to. A basis that has become shorter, or cannot be read, makes the rest of it void.
Status Sink::apply(Status status, std::uint64_t bytes) {
  if (status) return watch_space(bytes);
  if (status.error().code == Errc::protocol) return status;
  if (status.error().code != Errc::changed) return refuse_incoming(std::move(status));
  m_incoming->applier.reset();
  return {};
}

Status Sink::want_whole(ExpectedFile& file) {
  const wire::FileKey key = m_incoming->key;
  NB_TRY(drop_incoming(file));
  file.basis.reset();
  file.owes_basis_done = false;
  m_asked.erase(key);
  m_to_ask.emplace_back(want_for(key, file));
  return {};
}

}  // namespace nb::session
