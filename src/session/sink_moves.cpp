// SPDX-License-Identifier: Apache-2.0
// Sink, part six: contents that the set has already under other names (Mover).
#include "session/sink.hpp"

namespace nb::session {

// Where no directory was ever noted there is nothing that could have been renamed: what lies below a new directory is
// taken without a further question.
bool Sink::takes_all() { return !m_mover || !m_bases->knows_listings(); }

// What is asked of the source about a directory that is new here.
wire::ReplyKind Sink::reply_for_new(const wire::DirectoryMessage& message, SinkDirectory& directory) {
  const bool adopted = directory.location.adopted;
  // What an interrupted run has staged is kept where its content is what the source has now.
  if (takes_all()) return adopted ? wire::ReplyKind::list_digests : wire::ReplyKind::all;
  if (message.entries > 0 && message.flags == 0) {
    directory.moved_from = m_mover->find_directory(message.digest);
  }
  if (directory.moved_from) return wire::ReplyKind::list_digests;
  return adopted ? wire::ReplyKind::list_digests : wire::ReplyKind::here;
}

// Of what cannot be made here. Only a source that was told to send all below does so.
Location Sink::given_up(const Location& location) {
  Location at = location.given_up();
  at.dropped = at.dropped && takes_all();
  return at;
}

void Sink::skip(SinkDirectory& directory) {
  directory.location = given_up(directory.location);
  m_skipped.insert(directory.path);
}

// The digests that were asked for are not part of what was announced.
void Sink::add_to_digest(SinkDirectory& directory, std::vector<wire::Entry>& entries) const {
  const bool is_plain = directory.reply != wire::ReplyKind::list_digests || has(wire::k_flag_checksum);
  if (is_plain) return scan::add_to_listing_digest(*directory.listing, entries);
  std::vector<std::optional<hash::Digest>> contents(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) std::swap(contents[i], entries[i].content);
  scan::add_to_listing_digest(*directory.listing, entries);
  for (std::size_t i = 0; i < entries.size(); ++i) std::swap(contents[i], entries[i].content);
}

// Whether the set has the content of `entry`, as far as its digest came with the listing.
Result<bool> Sink::take_listed(const SinkDirectory& directory, const wire::Entry& entry, const ExpectedFile& file) {
  if (!m_mover || entry.type != fs::FileType::regular || entry.link_to || !entry.content) return false;
  const RelPath path = set_path(file.path);
  bool taken = false;
  if (directory.moved_from) {
    NB_TRY_ASSIGN(taken, m_mover->take_from(directory.moved_from->child(entry.name), file, path, *entry.content));
  }
  if (!taken && entry.size > hash::k_block_bytes) {
    NB_TRY_ASSIGN(taken, m_mover->take(file, path, *entry.content));
  }
  if (taken && file.shared) m_shared.put(file.path, std::nullopt);
  return taken;
}

// Large files only: small ones are not worth the way there and back. Of what an interrupted run has begun the rest is
// wanted, unless it is all there.
Result<bool> Sink::asks_for_digest(const SinkDirectory& directory, const wire::Entry& entry, const ExpectedFile& file,
                                   const fs::Stat* present) {
  if (entry.type != fs::FileType::regular || entry.link_to || entry.content) return false;
  if (entry.size <= hash::k_block_bytes || rides_along(directory, entry)) return false;
  if (file.basis && file.basis->slot) {
    NB_TRY_ASSIGN(const auto whole, find_whole(file));
    return whole.has_value();
  }
  return m_mover && m_mover->may_have(set_path(file.path), entry, present);
}

// Whether the set has that content: in the stage of an interrupted run, or under another name.
Result<bool> Sink::take_known(const ExpectedFile& file, const hash::Digest& digest) {
  NB_TRY_ASSIGN(const auto whole, find_whole(file));
  if (whole && whole->digest == digest) {
    NB_TRY_ASSIGN(const bool taken, take_staged(file, *whole));
    if (taken) return true;
  }
  return m_mover ? m_mover->take(file, set_path(file.path), digest) : Result<bool>(false);
}

Status Sink::on_file_digest(const wire::FileDigest& message) {
  const auto it = m_expected.find(message.file);
  const bool was_asked = it != m_expected.end() && it->second.digest_asked && m_asked.erase(message.file) != 0;
  if (!was_asked) return fail(Errc::protocol, "file digest: not asked for");
  ExpectedFile& file = it->second;
  file.digest_asked = false;
  if (message.digest) {
    NB_TRY_ASSIGN(const bool taken, take_known(file, *message.digest));
    if (taken) {
      file.owes_basis_done = true;
      return settled(message.file);
    }
  }
  m_to_ask.emplace_back(want_for(message.file, file));
  return {};
}

wire::Want Sink::want_for(const wire::FileKey& key, const ExpectedFile& file) {
  wire::Want want;
  want.file = key;
  want.digest_first = file.digest_asked;
  if (file.basis && !file.digest_asked) want.basis = wire::Basis{file.basis->stat.size, file.basis->digest};
  return want;
}

// The plan has ended: what was taken comes into the stage.
Status Sink::settle_moves() {
  if (!m_mover) return {};
  NB_TRY(m_mover->settle(
      m_target.base,
      [this](const TakenFile& taken, const StagedNode& node) {
        return staged(taken.file, node, taken.digest, taken.file.meta, taken.file.size);
      },
      [this](Error error, ExpectedFile& file) { return per_file(tl::make_unexpected(std::move(error)), file); }));
  m_result.files_moved = m_mover->files();
  m_result.moved_bytes = m_mover->bytes();
  return {};
}

}  // namespace nb::session
