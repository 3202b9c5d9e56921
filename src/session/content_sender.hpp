// SPDX-License-Identifier: Apache-2.0
// ContentSender: reads one file and sends it, noticing whatever happens to the file meanwhile. A file that changes
// while it is read is sent again from the start, a few times; what is never sent as complete is a mix. Used by Source.
// Errors returned are the connection's; what is wrong with a file is an outcome, and goes to the reporter.
#pragma once

#include <functional>
#include <optional>

#include "base/go_on.hpp"
#include "cache/signature_memory.hpp"
#include "delta/matcher.hpp"
#include "hash/file_hasher.hpp"
#include "session/connection.hpp"
#include "session/known_damage.hpp"
#include "session/reporter.hpp"
#include "session/source_tree.hpp"

namespace nb::session {

struct SenderOptions {
  std::uint64_t small_file_bytes = 64 * 1024;  // up to this, one message carries the whole file
  scan::MetadataView view = scan::MetadataView::plain;
  const hash::Secret* secret = nullptr;
  scan::DigestMemory* digests = nullptr;         // told what was sent; outlives the sender
  cache::SignatureMemory* signatures = nullptr;  // told what was sent as a delta; outlives the sender
  const delta::BlockSigner* signer = nullptr;    // of the secret; outlives the sender
  const KnownDamage* damage = nullptr;           // what is not sent; outlives the sender
  GoOn go_on = {};                               // while a file is hashed; none: always
};

class ContentSender {
 public:
  // `on_progress` is called every now and then while a file is sent.
  ContentSender(Connection& connection, SourceTree& tree, Reporter& reporter, SenderOptions options,
                std::function<void()> on_progress)
      : m_connection(connection),
        m_tree(tree),
        m_reporter(reporter),
        m_options(options),
        m_on_progress(std::move(on_progress)) {}

  struct Listed {
    const RelPath& directory;
    std::uint16_t origin = 0;
    const wire::Entry& entry;
    const fs::Stat& stat;  // when it was listed
  };
  // What the sink has of the file: a large one is sent as what differs from it.
  struct Basis {
    std::uint64_t size = 0;
    delta::BasisSignature& signature;
  };
  // Sends the content of a file, or why there is none. Errors are the connection's; the file's go to the reporter.
  // `basis` may be null.
  Status send(const wire::FileKey& key, const Listed& listed, const Basis* basis);
  enum class Effort : std::uint8_t {
    recall,  // only what is remembered
    read,    // the whole file, if need be
  };
  // The digest of the file as it was listed; nothing if it has changed since, or cannot be read.
  Result<std::optional<hash::Digest>> digest_of(const Listed& listed, Effort effort);
  [[nodiscard]] std::uint64_t content_bytes() const { return m_content_bytes; }

 private:
  enum class Attempt : std::uint8_t { sent, changed, unreadable };  // unreadable: m_trouble says why
  struct Opened {
    std::unique_ptr<fs::File> file;
    fs::Stat stat;
    fs::Metadata meta;
    bool newer = false;  // than the listing
    WallTime began{};    // before anything of it was read
  };
  enum class Look : std::uint8_t { after_reading, before_and_after };
  Result<Opened> open(const Listed& listed, Look look);
  [[nodiscard]] bool is_damaged(const fs::Stat& stat) const {
    return m_options.damage != nullptr && m_options.damage->has(stat);
  }
  Result<Attempt> try_once(const wire::FileKey& key, Opened& file, const Basis* basis);
  Result<Attempt> send_delta(const wire::FileKey& key, Opened& file, const Basis& basis);
  Result<Attempt> end_content(const wire::FileKey& key, const Opened& file, const hash::Digest& digest);
  Attempt failed(const Error& error);
  enum class LineState : std::uint8_t { good, broken };  // broken, or the run is to end
  Result<Attempt> outcome_of_reading(const Status& status, LineState line);
  Result<Attempt> send_small(const wire::FileKey& key, Opened& file);
  Result<Attempt> send_large(const wire::FileKey& key, Opened& file);
  Result<Attempt> send_pieces(Opened& file, hash::FileHasher& hasher);
  Status send_piece(std::uint64_t offset, ByteView bytes);
  void remember(const Opened& file, const hash::Digest& digest);
  Status give_up(const wire::FileKey& key, Error error, const RelPath& path);

  Connection& m_connection;
  SourceTree& m_tree;
  Reporter& m_reporter;
  SenderOptions m_options;
  std::function<void()> m_on_progress;
  bool m_begun = false;  // the sink has been told of the file as one in pieces
  Error m_trouble{Errc::unreadable, 0, {}};
  Bytes m_buffer;
  std::uint64_t m_content_bytes = 0;
};

}  // namespace nb::session
