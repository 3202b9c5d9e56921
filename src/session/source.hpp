// SPDX-License-Identifier: Apache-2.0
// Source: the side that owns the tree read from. Streams the directories' digests in protocol order, answers what the
// sink asks for, and waits for its result. One main thread reads and sends; a second one receives, and never blocks on
// anything the peer must drain: what it collects is bounded by the credits (docs/protocol.md, "Flow").
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
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
  enum class Work : std::uint8_t { reply, done, want, scan, end_scan, finished };

  // Receiving thread.
  void receive_all();
  Status take(const wire::RawMessage& message);
  Status take_want(const wire::Want& want);
  void stop_with(Status status);

  // Main thread.
  Result<Work> next_work();
  Status do_work(Work work);
  Status scan_next();
  Result<SourceListing> read(const SourceDirectory& directory, std::uint64_t& flags);
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
  Status serve_want();
  Status end_scan();
  void forget_if_done(std::uint64_t id);
  void count(const SourceListing& listing);
  void report_progress();

  Connection& m_connection;
  SourceTree& m_tree;
  Reporter& m_reporter;
  SourceOptions m_options;
  scan::Lister m_lister;
  ContentSender m_sender;
  hash::FileHasher m_plan;
  SourceOutcome m_outcome;

  std::vector<SourceDirectory> m_walk;  // still to be read, the next one last
  std::uint64_t m_next_id = 0;
  std::optional<RelPath> m_all_below;   // everything below it is taken whole
  std::atomic<bool> m_scan_ended{false};

  std::mutex m_mutex;  // guards what follows
  std::condition_variable m_wake;
  std::map<std::uint64_t, Pending> m_pending;
  std::uint64_t m_pending_bytes = 0;
  std::uint64_t m_next_reply = 0;
  std::deque<wire::DirectoryReply> m_replies;
  std::deque<std::uint64_t> m_done;     // directories that the sink needs no more of
  std::deque<wire::Want> m_wants;
  std::optional<Status> m_end;          // set when the result or an error arrived

  std::thread m_receiver;
  std::chrono::steady_clock::time_point m_last_progress{};
};

}  // namespace nb::session
