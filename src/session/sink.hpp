// SPDX-License-Identifier: Apache-2.0
// Sink: the side that owns the file set written to. Walks its own tree in step with the source's announcements, asks
// for what differs, stages it, and commits. One thread does everything but writing small files (SmallFileWriters), and
// never waits for the peer except in receive(), so that it cannot deadlock with the source (docs/protocol.md, "Flow").
// In a dry run and a verification the same walk only reports.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "session/asked_names.hpp"
#include "session/deletion.hpp"
#include "session/job.hpp"
#include "session/known_damage.hpp"
#include "session/mover.hpp"
#include "session/name_check.hpp"
#include "session/pending_links.hpp"
#include "session/remembered_bare.hpp"
#include "session/sink_types.hpp"
#include "session/small_file_writers.hpp"

namespace nb::session {

struct SinkTarget {
  fs::Directory* root = nullptr;        // of the set, or of what is compared; none: nothing is there (dry run)
  RelPath base;                         // the transfer's root below it; made where it is missing, not its parent
  std::optional<std::string> new_name;  // of the single file
  txn::FileSet* set = nullptr;          // where there is one
  txn::Transaction* transaction = nullptr;
};

struct SinkOptions {
  SinkMode mode = SinkMode::commit;
  Direction direction = Direction::received;
  std::uint64_t flags = 0;  // wire::OpenFlag
  std::int64_t max_delete = k_usual_max_delete;
  bool always_limits_deletion = false;  // the set's, or the usual one, holds whatever max_delete allows
  std::chrono::seconds wait_readers{60};
  std::string client;  // user@host, for the account of the generation
  const filter::Rules* rules = nullptr;
  const hash::Secret* secret = nullptr;
  scan::DigestMemory* digests = nullptr;         // of what is here; not asked in a verification, which reads it all
  scan::BareMemory* bare = nullptr;              // of what is here; none: a set that lasts has its own
  std::uint64_t want_credit = 4096;              // the source's
  std::uint64_t inline_limit_bytes = 64 * 1024;  // the source's
  std::uint64_t listing_credit_bytes = std::uint64_t{4} << 20;  // ours: bounds the directories that are unfinished here
  // Where the source is not to be trusted (a pull): the only names that may come at the root. None: any, and the
  // root's own content.
  std::optional<AskedNames> root_names;
};

class Sink {
 public:
  // `clock` outlives the sink.
  Sink(Connection& connection, SinkTarget target, SinkOptions options, Reporter& reporter, Clock& clock);

  // Of the source, once it has told; for reports.
  [[nodiscard]] const std::optional<wire::ScanEnd>& scan_end() const { return m_scan_end; }

  // Runs to the commit (or the end of the comparison) and sends the result. An error is the caller's to tell.
  Result<wire::RunResult> run();

 private:
  // --- sink.cpp: messages and the end
  Status step();
  Status take(const wire::RawMessage& message);
  template <class Message, class Argument>
  Status decode(const wire::RawMessage& message, Status (Sink::*work)(Argument));
  template <class Message>
  Status on_report(const Message& message);
  Status on_phase(const wire::Phase& message);
  Status on_scan_end(const wire::ScanEnd& message);
  [[nodiscard]] bool is_complete() const;
  Result<wire::RunResult> finish();
  [[nodiscard]] std::uint64_t deletions() const { return m_deletion ? m_deletion->entries() : 0; }
  struct DeletionLimit {
    std::uint64_t count = 0;
    std::string_view whose;  // "of the set's policy"
  };
  [[nodiscard]] Result<DeletionLimit> usual_deletions() const;
  [[nodiscard]] Result<DeletionLimit> most_deletions() const;
  [[nodiscard]] Status check_deletions() const;
  void tell_conflicts(const std::vector<RelPath>& paths);
  Status commit();
  void report_progress();
  void settle_damage();

  // --- sink_directory.cpp: announcements
  struct Ancestor {
    std::uint64_t id = 0;
    RelPath path;
    Location location;
    std::string last_child;
    std::optional<std::vector<std::string>> directories;  // of its listing, once that is known
  };
  Status on_directory(const wire::DirectoryMessage& message);
  Status check_order(const wire::DirectoryMessage& message);
  Status check_listed(const std::string& name);
  void charge(std::uint64_t id, std::uint64_t bytes);
  [[nodiscard]] Status check_credit() const;
  [[nodiscard]] Status check_riding() const;
  Status check_root(const wire::DirectoryMessage& message) const;
  Status check_asked_for(const std::string& name, fs::FileType type) const;
  Status locate(const wire::DirectoryMessage& message, SinkDirectory& directory);
  Status locate_live(SinkDirectory& directory);
  Status locate_in_place_of(SinkDirectory& directory, const fs::Stat& present);
  Status locate_new(SinkDirectory& directory, const std::optional<fs::Stat>& replaced);
  Status locate_in_tree(SinkDirectory& directory);
  enum class Leftover : std::uint8_t { none, possible };
  Status adopt_or_make(SinkDirectory& directory, const Spot& spot, Leftover leftover);
  Status give_up(SinkDirectory& directory, Error error);
  Status guard_empty_source(const wire::DirectoryMessage& message, const SinkDirectory& directory) const;
  Status guard_nested(const RelPath& in_set) const;
  Result<bool> reply_to(const wire::DirectoryMessage& message, SinkDirectory& directory);
  Result<bool> compare_digest(const wire::DirectoryMessage& message, SinkDirectory& directory);
  Result<scan::Listed> list_present(const SinkDirectory& directory);
  void spoil_damaged(scan::Listed& listed) const;
  Result<fs::Directory*> live(const RelPath& path) { return live_in_set(set_path(path)); }
  Result<fs::Directory*> live_in_set(const RelPath& path);

  // --- sink_links.cpp: hard links
  Status make_links();
  Status make_link(const PendingLink& link);
  Result<bool> is_here_already(const PendingLink& link);

  // --- sink_root.cpp: a root inside of the set
  Status locate_root(SinkDirectory& directory);
  Status stage_root(SinkDirectory& directory, const fs::Directory& parent);
  Status end_bystanders();
  Status end_bystander(const RelPath& in_set, fs::Timestamp now);

  // --- sink_listing.cpp: comparison
  Status on_listing(wire::Listing message);
  Status check_children(SinkDirectory& directory);
  Status begin_listing(SinkDirectory& directory, const wire::Listing& message);
  Status on_entry(SinkDirectory& directory, wire::Entry entry, bool shared);
  Result<std::optional<PresentEntry>> present(SinkDirectory& directory, const std::string& name);
  Status on_missing(SinkDirectory& directory, const wire::Entry& entry, bool shared);
  Status on_new(SinkDirectory& directory, const wire::Entry& entry, bool shared);
  Status on_present(SinkDirectory& directory, const wire::Entry& entry, bool shared, const PresentEntry& present);
  Status on_changed(SinkDirectory& directory, const wire::Entry& entry, bool shared, fs::FileType type,
                    const fs::Stat& stat, const Difference& difference);
  Status on_metadata(SinkDirectory& directory, const wire::Entry& entry, const PresentEntry& present);
  Status log_time(const wire::Entry& entry, const RelPath& path, const fs::Stat& now, fs::Timestamp mtime);
  void remember_content(const RelPath& path, const fs::Stat& now, fs::Timestamp mtime);
  Result<std::optional<std::string>> what_keeps(const Deletion::Doomed& doomed);
  Status replace_directory(SinkDirectory& directory, const wire::Entry& entry, bool shared,
                           const PresentEntry& present);
  Result<std::optional<fs::Stat>> unread(const SinkDirectory& directory, const std::string& name);
  Result<std::optional<fs::Stat>> here_itself(const SinkDirectory& directory, const std::string& name);
  Result<bool> is_hidden(const SinkDirectory& directory, const std::string& name);
  Status refuse_hidden(const SinkDirectory& directory, const wire::Entry& entry, bool shared);
  bool rides_along(const SinkDirectory& directory, const wire::Entry& entry) const;
  Status drop_entry(SinkDirectory& directory, const wire::Entry& entry, bool shared);

  // --- sink_stage.cpp: what is new or changed
  Status stage(SinkDirectory& directory, const wire::Entry& entry, bool shared, const fs::Stat* present);
  Result<bool> may_stage(SinkDirectory& directory, const wire::Entry& entry, const fs::Stat* present);
  Status stage_anew(SinkDirectory& directory, const wire::Entry& entry, const fs::Stat* present, ExpectedFile file);
  Result<bool> stage_resumed(const wire::Entry& entry, const ExpectedFile& file);
  Result<std::optional<txn::StagedRecord>> find_whole(const ExpectedFile& file);
  Result<bool> take_staged(const ExpectedFile& file, const txn::StagedRecord& record);
  Result<std::optional<hash::Digest>> read_staged(fs::File& file, std::uint64_t size);
  Result<bool> keep_adopted(SinkDirectory& directory, const wire::Entry& entry, bool shared, const PresentEntry& here);
  Result<bool> is_as_staged(fs::Directory& parent, const wire::Entry& entry, const txn::StagedRecord& record);
  Status expect_content(SinkDirectory& directory, const wire::Entry& entry, ExpectedFile file);
  RelPath stand_in(const RelPath& leader, const RelPath& path);

  // --- sink_extras.cpp: what is here beyond the source's, and the directory itself
  void note_listing(const SinkDirectory& directory);
  bool is_same_but_extras(const wire::DirectoryMessage& message, SinkDirectory& directory);
  Status remove_known_extras(SinkDirectory& directory);
  Status remove_extra(SinkDirectory& directory, std::size_t index);
  Status remove_live(SinkDirectory& directory, const std::string& name, const fs::Stat& stat);
  Result<bool> open_up(SinkDirectory& directory);
  Result<bool> open_up_path(const RelPath& path);
  Result<bool> open_up_in_set(const RelPath& path);
  Status end_listing(SinkDirectory& directory);
  Status end_live_directory(SinkDirectory& directory);

  // --- sink_moves.cpp: contents that the set has already
  bool takes_all();
  wire::ReplyKind reply_for_new(const wire::DirectoryMessage& message, SinkDirectory& directory);
  Location given_up(const Location& location);
  void skip(SinkDirectory& directory);
  [[nodiscard]] bool is_skipped(const RelPath& path) const;
  void add_to_digest(SinkDirectory& directory, std::vector<wire::Entry>& entries) const;
  Result<bool> take_listed(const SinkDirectory& directory, const wire::Entry& entry, const ExpectedFile& file);
  Result<bool> asks_for_digest(const SinkDirectory& directory, const wire::Entry& entry, const ExpectedFile& file,
                               const fs::Stat* present);
  Result<bool> take_known(const ExpectedFile& file, const hash::Digest& digest);
  Status on_file_digest(const wire::FileDigest& message);
  static wire::Want want_for(const wire::FileKey& key, const ExpectedFile& file);
  Status settle_moves();

  // --- sink_names.cpp: names that are the same here
  enum class Announced : std::uint8_t { entry, directory };
  bool goes_whole(const RelPath& path);
  bool waits_for(const RelPath& path, const std::string& other, Announced announced);
  void refuse_name(const RelPath& path, const std::string& other);
  Result<bool> takes_name(const RelPath& path);
  Status locate_beside(SinkDirectory& directory, const std::string& other);
  Status enter(const RelPath& path, const txn::Place& op);
  Status place(const RelPath& path, const txn::Place& op);
  Status enter_end(const RelPath& path, const txn::SetMetadata& op);
  Status note_removed(const SinkDirectory& directory, const RelPath& path);
  Status settle_waiting();

  // --- sink_content.cpp: files
  Status on_small_file(const wire::SmallFile& message);
  Status take_written();
  Status finish_written(WrittenFile& written);
  Status finish_writing();
  Status on_file_begin(const wire::FileBegin& message);
  Status on_data(const wire::Data& message);
  // Hands `length` on piece by piece, as what is done of it and the next length. Ends early where the run is to end.
  static Status in_steps(std::uint64_t length, const std::function<Status(std::uint64_t, std::uint64_t)>& step);
  Status on_hole(const wire::Hole& message);
  Status on_file_end(const wire::FileEnd& message);
  Status add_place(const RelPath& path, const Spot& spot, const StagedNode& node,
                   const std::optional<txn::Ident>& replaced);
  Status finish_incoming(const ExpectedFile& expected, const hash::Digest& digest);
  Status drop_incoming(const ExpectedFile& expected);
  Status write_incoming(const wire::Data& message);
  Status refuse_incoming(Status status);
  Status watch_space(std::uint64_t written);
  Result<bool> content_is_good(const hash::Digest& digest);

  // --- sink_delta.cpp: contents that come as what differs from a basis
  Status offer_basis(const wire::Entry& entry, const fs::Stat* present, ExpectedFile& file);
  struct Begun {
    std::optional<BasisFile> file;
    unsigned times = 0;  // that the wanted content was begun and came to no end
  };
  Result<Begun> find_begun(const RelPath& path, const wire::Entry& entry);
  void drop_begun(const BasisFile& file);
  Status put_begun_aside(fs::Directory& directory, const std::string& name, const txn::StagedRecord& record);
  Status log_begun(const ExpectedFile& file);
  Result<txn::StagedRecord> log_partial(const RelPath& path, std::uint64_t slot, std::uint64_t size,
                                        fs::Timestamp mtime);
  Status on_signature_request(const wire::SignatureRequest& message);
  void begin_content(const ExpectedFile& file);
  Status on_copy(const wire::Copy& message);
  Status apply(Status status, std::uint64_t bytes);
  Status want_whole(ExpectedFile& file);
  Status staged(const ExpectedFile& file, const StagedNode& node, const hash::Digest& digest, const fs::Metadata& meta,
                std::uint64_t size);
  Result<ExpectedFile*> expected(const wire::FileKey& key);
  Status settled(const wire::FileKey& key);
  Status per_file(Status status, const RelPath& path);
  Status per_file(Status status, ExpectedFile& file);
  void uncount(ExpectedFile& file);
  void uncount(const std::optional<txn::Ident>& replaced);
  Status per_file_made(Status status, ExpectedFile& file);
  Status remove_made(const Spot& spot);
  Status pump_wants();

  [[nodiscard]] RelPath set_path(const RelPath& path) const;
  void item(std::string change, const RelPath& path, std::string detail = {});
  Deletion::Visit deletion_items();
  void differs() { ++m_result.differences; }
  // Whether the set remembers what this run finds out.
  [[nodiscard]] bool lasts() const { return commits() && m_target.set->format().lifetime == txn::Lifetime::permanent; }
  [[nodiscard]] scan::Compare compares() const;
  // What differs between what the source has and what is here, as it is read here.
  [[nodiscard]] Difference compare(const wire::Entry& wanted, const wire::Entry& present) const;
  [[nodiscard]] Difference compare(const fs::Metadata& wanted, const fs::Metadata& present) const;
  [[nodiscard]] bool is_read_otherwise(const fs::Metadata& wanted) const;
  scan::ListerOptions lister_options(Clock& clock);
  [[nodiscard]] KeptBeside* beside() { return m_beside ? &*m_beside : nullptr; }
  [[nodiscard]] bool is_too_long(const RelPath& path) const;
  [[nodiscard]] bool commits() const { return m_options.mode == SinkMode::commit; }
  [[nodiscard]] bool has(wire::OpenFlag flag) const { return (m_options.flags & flag) != 0; }

  Connection& m_connection;
  SinkTarget m_target;
  SinkOptions m_options;
  Reporter& m_reporter;
  Clock& m_clock;
  KnownDamage m_damage;                  // where a scrub has found some
  std::optional<RememberedBare> m_bare;  // in m_bases, unless it came with the options
  scan::Lister m_lister;
  // Without rules: what an interrupted run staged and this one excludes must go. Contents are read when they count.
  scan::Lister m_stage_lister;
  std::optional<KeptBeside> m_beside;  // of the set, where it lasts
  std::optional<Stager> m_stager;      // commit mode
  std::optional<Deletion> m_deletion;
  std::optional<NameCheck> m_names;   // where there is a tree
  std::optional<BasisStore> m_bases;  // commit mode
  std::optional<Mover> m_mover;       // commit mode, where something is remembered
  hash::FileHasher m_plan;
  wire::RunResult m_result;

  std::uint64_t m_next_id = 0;
  std::uint64_t m_entries = 0;       // announced
  std::uint64_t m_live_entries = 0;  // met in the present generation
  std::vector<Ancestor> m_ancestors;
  std::map<std::uint64_t, SinkDirectory> m_open;
  std::map<wire::FileKey, ExpectedFile> m_expected;
  std::deque<std::variant<wire::Want, wire::DirectoryDone>> m_to_ask;
  // Directories that the source must keep for us, and what each takes of the listing credit at the least.
  std::map<std::uint64_t, std::uint64_t> m_unfinished;
  std::uint64_t m_unfinished_bytes = 0;
  std::uint64_t m_riding = 0;       // of m_expected: what comes with its listing
  std::set<wire::FileKey> m_asked;  // wanted and not yet answered
  std::optional<Incoming> m_incoming;
  LeaderSpots m_shared;  // first members of link groups that are staged in this run
  // First members that could not be planned, and who stands in for them.
  std::map<RelPath, std::optional<RelPath>> m_stand_ins;
  std::set<RelPath> m_skipped;  // directories that cannot be made or read here; what is below them does not come
  PendingLinks m_links;
  // Files of an adopted tree that made room for their successors, now in slots of their own.
  std::map<RelPath, txn::StagedRecord> m_begun;
  std::map<RelPath, WaitingName> m_waiting;
  std::set<RelPath> m_removed;               // where names may be the same: what goes
  std::set<RelPath> m_kept_names;            // what stays although it is an extra
  std::set<RelPath> m_bystanders;            // in the set: directories that are not transferred, and whose names change
  std::span<const wire::Entry> m_following;  // behind the entry at hand, in its message
  std::map<RelPath, bool> m_closed;  // live directories of the set that are closed to us: could they be opened up?
  std::optional<wire::ScanEnd> m_scan_end;
  std::unique_ptr<fs::Directory> m_live;        // the live directory used last
  RelPath m_live_path;                          // in the set
  std::optional<fs::Metadata> m_root_metadata;  // of a new root that is only implied
  std::uint64_t m_written_since_check = 0;
  std::uint64_t m_staged_since_flush = 0;
  std::chrono::steady_clock::time_point m_last_progress{};
  std::optional<SmallFileWriters> m_writers;  // commit mode; last, so that it goes first
};

}  // namespace nb::session
