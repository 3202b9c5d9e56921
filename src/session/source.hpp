// SPDX-License-Identifier: Apache-2.0
// Source: the side that owns the tree read from. Streams the directories' digests in protocol order, answers what the
// sink asks for, and waits for its result. One main thread reads and sends; a second one receives, and never blocks on
// anything the peer must drain: what it collects is bounded by the credits (docs/protocol.md, "Flow").
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "session/connection.hpp"
#include "session/content_sender.hpp"
#include "session/job.hpp"
#include "session/reporter.hpp"
#include "session/source_tree.hpp"

namespace nb::session {

struct SourceOptions {
  scan::ListerOptions lister;
  bool one_file_system = false;
  Limits limits;
  cache::SignatureMemory* signatures = nullptr;  // of what was sent before; outlives the source
  const KnownDamage* damage = nullptr;           // what is not sent; outlives the source
  std::function<Status()> last_check = {};       // of the sources, at the end of the scan; its error ends the run
};

struct SourceOutcome {
  std::optional<wire::RunResult> result;
  Counts counts;
  std::vector<std::string> mounts;
  bool plan_ended = false;  // the sink may have committed, even if its answer was lost
};

class Source {
 public:
  Source(Connection& connection, SourceTree& tree, Reporter& reporter, SourceOptions options);
  ~Source();

  // Runs to the sink's result. On an error outcome() tells how far it came. `tree` and the rest outlive the call.
  Status run();
  [[nodiscard]] const SourceOutcome& outcome() const { return m_outcome; }

 private:
  // A listing that the sink may still ask for.
  struct Pending {
    SourceDirectory directory;
    SourceListing listing;
    std::uint64_t encoded_bytes = 0;
    std::uint64_t open_wants = 0;
    std::set<std::uint64_t> wanted;  // indices
    bool sent = false;
    bool done = false;
  };
  enum class Work : std::uint8_t { reply, done, basis_done, want, scan, end_scan, finished };
  // A file on which the sink has the last word: it asked for the digest alone, or for a delta.
  enum class Exchange : std::uint8_t { digest_asked, digest_told, delta_asked, delta_sent };
  class RemoteSignature;

  using SignatureKey = std::pair<wire::FileKey, std::uint64_t>;

  // Receiving thread.
  void receive_all();
  Status take(const wire::RawMessage& message);
  template <class Message>
  Status decode(const wire::RawMessage& message, Status (Source::*work)(const Message&));
  template <class Message>
  Status take_report(const Message& message);
  Status take_reply(const wire::DirectoryReply& reply);
  Status take_done(const wire::DirectoryDone& done);
  Status take_result(const wire::RunResult& result);
  Status take_want(const wire::Want& want);
  bool is_next(const wire::Want& want) const;
  void stop_with(Status status);
  Status take_signature(const wire::Signature& signature);
  Status take_basis_done(const wire::BasisDone& done);

  // Main thread.
  Result<Work> next_work();
  bool goes_on();
  Status do_all();
  Status do_work(Work work);
  Status scan_next();
  Result<SourceListing> read(const SourceDirectory& directory, std::uint64_t& flags);
  Result<SourceListing> pass(const SourceDirectory& directory);
  void push_children(const SourceDirectory& directory, const SourceListing& listing, std::uint64_t parent_device);
  Status announce(const SourceDirectory& directory, SourceListing listing, std::uint64_t flags);
  Status answer_next_reply();
  Status answer_reply(wire::DirectoryReply reply);
  void finish_next_done();
  bool may_scan() const;
  Status shut_down(Status status);
  Status send_listing(std::uint64_t id, Pending& pending);
  static ContentSender::Listed listed_file(const Pending& pending, std::size_t index);
  Status send_small_files(std::uint64_t id, Pending& pending);
  Status add_digests(Pending& pending);
  Status serve_want();
  Status tell_digest(const wire::FileKey& key, const Pending& pending);
  Status obtain_signature(const wire::Want& want, std::uint64_t piece);
  Status request_signature(const wire::Want& want, std::uint64_t piece);
  void recall_signature(const wire::Want& want, std::uint64_t piece);
  bool has_signature(const wire::FileKey& key, std::uint64_t piece);
  Result<Bytes> wait_for_signature(const wire::FileKey& key, std::uint64_t piece);
  bool may_serve_want() const;
  bool needs_signature(const wire::Want& want) const;
  void finish_next_basis();
  void forget_signatures(const wire::FileKey& key);
  Status end_scan();
  void forget_if_done(std::uint64_t id);
  void count(const SourceListing& listing);
  void report_progress();

  Connection& m_connection;
  SourceTree& m_tree;
  Reporter& m_reporter;
  SourceOptions m_options;
  scan::Lister m_lister;
  delta::BlockSigner m_signer;
  ContentSender m_sender;
  hash::FileHasher m_plan;
  SourceOutcome m_outcome;

  std::vector<SourceDirectory> m_walk;  // still to be read, the next one last
  std::uint64_t m_next_id = 0;
  std::uint64_t m_names_since_flush = 0;
  std::optional<RelPath> m_all_below;  // everything below it is taken whole
  std::atomic<bool> m_scan_ended{false};

  std::mutex m_mutex;  // guards what follows
  std::condition_variable m_wake;
  std::map<std::uint64_t, Pending> m_pending;
  std::uint64_t m_pending_bytes = 0;
  std::uint64_t m_next_reply = 0;
  std::deque<wire::DirectoryReply> m_replies;
  std::deque<std::uint64_t> m_done;  // directories that the sink needs no more of
  std::deque<wire::Want> m_wants;
  std::map<wire::FileKey, Exchange> m_exchanges;
  std::map<wire::FileKey, wire::Want> m_parked;       // until the first piece of their signature is here
  std::map<SignatureKey, std::uint64_t> m_requested;  // pieces asked for, and the bytes they may take
  std::map<SignatureKey, Bytes> m_signatures;         // pieces that have come
  std::uint64_t m_signature_bytes = 0;                // of both
  std::optional<wire::FileKey> m_sending_delta;
  std::deque<wire::FileKey> m_basis_done;
  std::optional<Status> m_end;  // set when the result or an error arrived

  std::thread m_receiver;
  std::chrono::steady_clock::time_point m_last_progress{};
};

}  // namespace nb::session
