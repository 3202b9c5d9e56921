// SPDX-License-Identifier: Apache-2.0
// Source, part two: wants, and the signatures of what the sink has. The first piece of a signature is asked for as soon
// as its want is met, and the want is parked until it has come: other files go on meanwhile, so that many small deltas
// do not wait for a round trip each.
#include <algorithm>

#include "session/interrupt.hpp"
#include "session/source.hpp"

namespace nb::session {
namespace {

// What signatures may take here, asked for and not yet used.
constexpr std::uint64_t k_signature_credit_bytes = std::uint64_t{16} << 20;
constexpr std::uint64_t k_most_bytes_of_a_block = 96;

std::uint64_t piece_bytes_at_most(std::uint64_t basis_size, std::uint64_t piece) {
  const std::uint64_t blocks = delta::blocks_in(basis_size) - piece * delta::k_piece_blocks;
  return 64 + std::min(blocks, delta::k_piece_blocks) * k_most_bytes_of_a_block;
}

}  // namespace

// The signature of one basis, as the sink tells it; the piece after the one that is used is asked for in time.
class Source::RemoteSignature final : public delta::BasisSignature {
 public:
  // `want` has a basis.
  RemoteSignature(Source& source, const wire::Want& want, const delta::BlockSigner& signer)
      : m_source(source), m_want(want), m_size(want.basis->size), m_signer(signer) {}

  Result<std::shared_ptr<const delta::SignaturePiece>> piece(std::uint64_t index) override {
    NB_TRY(m_source.obtain_signature(m_want, index));
    if (index + 1 < delta::pieces_in(m_size)) NB_TRY(m_source.obtain_signature(m_want, index + 1));
    NB_TRY_ASSIGN(const Bytes blob, m_source.wait_for_signature(m_want.file, index));
    if (blob.empty()) return std::shared_ptr<const delta::SignaturePiece>();
    NB_TRY_ASSIGN(auto decoded, delta::SignaturePiece::decode(blob, index, m_size, m_signer, Errc::protocol));
    return std::make_shared<const delta::SignaturePiece>(std::move(decoded));
  }

 private:
  Source& m_source;
  wire::Want m_want;
  std::uint64_t m_size;
  const delta::BlockSigner& m_signer;
};

// With m_mutex held.
bool Source::needs_signature(const wire::Want& want) const {
  return want.basis && !m_signatures.contains({want.file, 0});
}

bool Source::may_serve_want() const {
  if (m_wants.empty()) return false;
  return !needs_signature(m_wants.front()) || m_requested.empty() || m_signature_bytes < k_signature_credit_bytes;
}

// A piece that this client remembers of what it sent: there at once, as if the sink had told it. What does not decode
// is as good as forgotten.
void Source::recall_signature(const wire::Want& want, std::uint64_t piece) {
  if (m_options.signatures == nullptr || !want.basis->digest) return;
  const cache::SignatureKey content{*want.basis->digest, m_options.lister.secret->id()};
  auto blob = m_options.signatures->piece(content, static_cast<std::uint32_t>(piece));
  if (!blob || !delta::SignaturePiece::decode(*blob, piece, want.basis->size, m_signer, Errc::io)) return;
  const std::lock_guard lock(m_mutex);
  m_signature_bytes += blob->size();
  m_signatures.emplace(SignatureKey{want.file, piece}, std::move(*blob));
}

Status Source::request_signature(const wire::Want& want, std::uint64_t piece) {
  {
    const std::lock_guard lock(m_mutex);
    const std::uint64_t bytes = piece_bytes_at_most(want.basis->size, piece);
    m_requested.emplace(SignatureKey{want.file, piece}, bytes);
    m_signature_bytes += bytes;
  }
  return m_connection.send(wire::SignatureRequest{want.file, piece});
}

bool Source::has_signature(const wire::FileKey& key, std::uint64_t piece) {
  const std::lock_guard lock(m_mutex);
  const SignatureKey id{key, piece};
  return m_requested.contains(id) || m_signatures.contains(id);
}

// From memory, else from the sink: it is here or on its way afterwards.
Status Source::obtain_signature(const wire::Want& want, std::uint64_t piece) {
  if (has_signature(want.file, piece)) return {};
  recall_signature(want, piece);
  return has_signature(want.file, piece) ? Status{} : request_signature(want, piece);
}

// The piece is taken out: what is needed again is asked for again.
Result<Bytes> Source::wait_for_signature(const wire::FileKey& key, std::uint64_t piece) {
  const SignatureKey id{key, piece};
  NB_TRY(m_connection.flush());
  std::unique_lock lock(m_mutex);
  m_wake.wait(lock, [&] { return m_end || m_signatures.contains(id); });
  const auto found = m_signatures.find(id);
  if (found == m_signatures.end())
    return *m_end ? fail(Errc::protocol, "a result before the end of the plan") : tl::make_unexpected(m_end->error());
  Bytes blob = std::move(found->second);
  m_signature_bytes -= blob.size();
  m_signatures.erase(found);
  return blob;
}

Status Source::serve_want() {
  wire::Want want;
  Pending* pending = nullptr;
  bool parked = false;
  {
    const std::lock_guard lock(m_mutex);
    want = m_wants.front();
    m_wants.pop_front();
    pending = &m_pending.at(want.file.directory);
  }
  if (want.basis && !has_signature(want.file, 0)) recall_signature(want, 0);
  {
    const std::lock_guard lock(m_mutex);
    parked = needs_signature(want);
    if (parked) {
      m_parked.emplace(want.file, want);
    } else if (want.basis) {
      m_exchanges[want.file] = Exchange::delta_sent;
      m_sending_delta = want.file;
    } else if (want.digest_first) {
      m_exchanges[want.file] = Exchange::digest_told;
    }
  }
  if (want.digest_first) return tell_digest(want.file, *pending);
  if (parked) return request_signature(want, 0);
  const auto listed = listed_file(*pending, static_cast<std::size_t>(want.file.index));
  if (want.basis) {
    RemoteSignature signature(*this, want, m_signer);
    const ContentSender::Basis basis{want.basis->size, signature};
    NB_TRY(m_sender.send(want.file, listed, &basis));
    forget_signatures(want.file);
    return {};  // the sink has the last word
  }
  NB_TRY(m_sender.send(want.file, listed, nullptr));
  const std::lock_guard lock(m_mutex);
  --pending->open_wants;
  forget_if_done(want.file.directory);
  return {};
}

// Whatever is wrong with the file is told when the next want for it is served. The sink has the last word.
Status Source::tell_digest(const wire::FileKey& key, const Pending& pending) {
  wire::FileDigest message{key, {}};
  const auto listed = listed_file(pending, static_cast<std::size_t>(key.index));
  NB_TRY_ASSIGN(message.digest, m_sender.digest_of(listed, ContentSender::Effort::read));
  return m_connection.send(message);
}

// Pieces that came and were not used; those still on their way are dropped when they come.
void Source::forget_signatures(const wire::FileKey& key) {
  const std::lock_guard lock(m_mutex);
  m_sending_delta.reset();
  const auto from = m_signatures.lower_bound({key, 0});
  auto to = from;
  while (to != m_signatures.end() && to->first.first == key) m_signature_bytes -= (to++)->second.size();
  m_signatures.erase(from, to);
}

void Source::finish_next_basis() {
  const std::lock_guard lock(m_mutex);
  const wire::FileKey key = m_basis_done.front();
  m_basis_done.pop_front();
  --m_pending.at(key.directory).open_wants;
  forget_if_done(key.directory);
}

// --- Receiving thread -------------------------------------------------------------------------------------------

Status Source::take_signature(const wire::Signature& signature) {
  const std::lock_guard lock(m_mutex);
  const SignatureKey id{signature.file, signature.piece};
  const auto requested = m_requested.find(id);
  if (requested == m_requested.end()) return fail(Errc::protocol, "signature: not asked for");
  if (signature.blob.size() > requested->second) return fail(Errc::protocol, "signature: more than was asked for");
  m_signature_bytes -= requested->second;
  m_requested.erase(requested);
  const auto parked = m_parked.find(signature.file);
  const bool is_late = parked == m_parked.end() && m_sending_delta != signature.file;
  if (!is_late) {
    m_signature_bytes += signature.blob.size();
    m_signatures.emplace(id, Bytes(signature.blob.begin(), signature.blob.end()));
  }
  if (parked != m_parked.end() && signature.piece == 0) {
    m_wants.push_front(parked->second);
    m_parked.erase(parked);
  }
  m_wake.notify_all();
  return {};
}

Status Source::take_basis_done(const wire::BasisDone& done) {
  const std::lock_guard lock(m_mutex);
  const auto it = m_exchanges.find(done.file);
  const bool is_told =
      it != m_exchanges.end() && (it->second == Exchange::delta_sent || it->second == Exchange::digest_told);
  if (!is_told) return fail(Errc::protocol, "basis done: no such delta");
  m_exchanges.erase(it);
  m_basis_done.push_back(done.file);
  m_wake.notify_all();
  return {};
}

}  // namespace nb::session
