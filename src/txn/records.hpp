// SPDX-License-Identifier: Apache-2.0
// What a file set keeps on disk, as values with their encodings (docs/formats.md has the grammar, tests/golden the
// bytes): format, head, lock note, journal operations and stage records. Pure; used by the rest of txn/ and fuzzed.
#pragma once

#include <array>
#include <compare>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/bytes.hpp"
#include "base/rel_path.hpp"
#include "fs/stat.hpp"
#include "hash/digest.hpp"

namespace nb::txn {

using Uuid = std::array<std::byte, 16>;
using TxId = std::array<std::byte, 16>;

std::string id_text(const std::array<std::byte, 16>& id);  // 32 hex digits

enum class Lifetime : std::uint8_t {
  permanent,  // made by init or the first push
  ephemeral,  // a pull or a plain copy: the control directory goes when the transaction is finished
};

// .nbackup/format: text. Says that this is a file set, once for all.
struct SetFormat {
  std::uint64_t version = 1;
  Uuid uuid{};
  Lifetime lifetime = Lifetime::permanent;
};

inline constexpr std::size_t k_max_recent = 64;

// .nbackup/head: text with a check line. Replaced as a whole by each commit.
struct Head {
  std::uint64_t generation = 0;
  TxId transaction{};        // the last one; zero before the first
  std::int64_t time_ns = 0;  // wall clock of its commit, since 1970
  std::vector<TxId> recent;  // newest first, the last k_max_recent that committed
};

// .nbackup/lock: who holds the writer's lock. Information for people and for taking over from one's own ghost; the
// lock itself is the kernel's.
struct LockNote {
  std::string client;  // user@host
  TxId token{};        // the transaction
  std::uint64_t pid = 0;
  std::uint64_t pid_start = 0;  // start time of the process, field 22 of /proc/PID/stat: tells a reused pid
  std::string boot_id;
  std::int64_t since_ns = 0;
};

// How an operation knows the file it means.
struct Ident {
  fs::FileType type = fs::FileType::regular;
  std::uint64_t inode = 0;  // 0: any; numbers do not last there
  std::uint64_t size = 0;   // regular files
  fs::Timestamp mtime;      // regular files
  friend bool operator==(const Ident&, const Ident&) = default;
};
Ident ident_of(const fs::Stat& stat);
// An inode among all that are there now.
struct InodeId {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  friend auto operator<=>(const InodeId&, const InodeId&) = default;
};
inline InodeId inode_id(const fs::Stat& stat) { return {stat.device, stat.inode}; }
// A key for tables of many paths; two paths may share one.
std::uint64_t hash_of(const RelPath& path);

// The journal's operations. Numbers on disk: never renumber.

// A live directory that this process may not write to gets its mode widened for the time of the apply.
struct OpenUp {
  RelPath path;
  Ident directory;
  std::uint32_t old_mode = 0;
  std::uint32_t new_mode = 0;
};

// new/<slot> becomes `path`; what is there goes to old/<slot>.
struct Place {
  RelPath path;
  std::uint64_t slot = 0;
  Ident staged;
  std::optional<Ident> replaced;
};

// `path`, with everything below it, goes to old/<slot>.
struct Remove {
  RelPath path;
  std::uint64_t slot = 0;
  Ident removed;
};

// Metadata of a live file or directory (after the operations above, for those they bring in), literal values.
struct SetMetadata {
  RelPath path;
  Ident target;
  fs::Metadata before;
  fs::Metadata after;
};

using JournalOp = std::variant<OpenUp, Place, Remove, SetMetadata>;

// What a run did, as its session counted it: for people, nothing depends on it.
struct RunAccount {
  std::string client;         // user@host
  std::uint64_t created = 0;  // files and directories
  std::uint64_t changed = 0;  // contents or metadata
  std::uint64_t deleted = 0;
  std::uint64_t new_bytes = 0;  // file content that came with it
  friend bool operator==(const RunAccount&, const RunAccount&) = default;
};

struct JournalHeader {
  TxId transaction{};
  Uuid set{};
  std::uint64_t generation = 0;  // the one this journal makes
  std::int64_t time_ns = 0;
  bool keeps_history = false;  // what it replaces and removes goes to history/<generation>
  RunAccount account;
};

// A live file, of which the time alone is set: nothing is staged.
inline constexpr std::uint64_t k_no_slot = 0;

// One line of the stage's log: resume data.
struct StagedRecord {
  RelPath path;                    // below the set's root
  std::uint64_t slot = k_no_slot;  // of the file, or of the tree that holds it
  bool is_tree = false;            // a new directory staged whole under new/<slot>
  std::uint64_t size = 0;
  fs::Timestamp mtime;  // of the source as staged
  hash::Digest digest;
  bool is_partial = false;  // a file that was begun: what is there may resemble what it was to be; no digest
  // Of a complete file, as fs::Stat has them: it keeps both wherever it goes.
  std::uint64_t inode = 0;
  fs::Timestamp born;
};

Bytes encode(const SetFormat& format);
Bytes encode(const Head& head);
Bytes encode(const LockNote& note);
Bytes encode(const JournalHeader& header);
Bytes encode(const JournalOp& op);
Bytes encode(const StagedRecord& record);

// Errors are Errc::bad_set.
Result<SetFormat> decode_format(ByteView data);
Result<Head> decode_head(ByteView data);
Result<LockNote> decode_lock_note(ByteView data);
Result<JournalHeader> decode_journal_header(ByteView data);
Result<JournalOp> decode_journal_op(ByteView data);
Result<StagedRecord> decode_staged_record(ByteView data);

// Parts as all of these have them, for other lists that a set keeps.
void put(ByteWriter& out, const fs::Timestamp& time);
void put(ByteWriter& out, const Ident& ident);
void put(ByteWriter& out, const fs::Metadata& metadata);
Result<fs::Timestamp> get_time(ByteReader& in);
Result<Ident> get_ident(ByteReader& in);
Result<fs::FileType> get_type(ByteReader& in);
Result<bool> get_flag(ByteReader& in);
Result<fs::Metadata> get_metadata(ByteReader& in);
// A path outside the control directory; get_entry_path: not the root.
Result<RelPath> get_path(ByteReader& in);
Result<RelPath> get_entry_path(ByteReader& in);
// A line of text that cannot break out of its line or play with a terminal.
std::string one_line(std::string_view text);

}  // namespace nb::txn
