// SPDX-License-Identifier: Apache-2.0
// Every message of the protocol as a plain value with its encoding. docs/protocol.md says who sends what when; the
// golden files in tests/golden fix the bytes. Decoding checks all limits and every name: what comes out is safe to use.
// Hello, Open, Opened and RunResult are lists of tagged fields, so that later versions can add some.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/rel_path.hpp"
#include "fs/stat.hpp"
#include "hash/digest.hpp"
#include "wire/limits.hpp"

namespace nb::wire {

// On the wire: never renumber. 30-39 are kept for later.
enum class MessageType : std::uint8_t {
  hello = 1,
  open = 2,
  opened = 3,
  error = 4,
  problem = 5,
  directory = 6,
  directory_reply = 7,
  listing = 8,
  directory_done = 9,
  want = 10,
  file_begin = 11,
  data = 12,
  hole = 13,
  file_end = 14,
  small_file = 15,
  scan_end = 16,
  item = 17,
  phase = 18,
  result = 19,
  keep_alive = 20,
  query = 21,
  query_reply = 22,
  goodbye = 23,
  signature_request = 24,
  signature = 25,
  copy = 26,
  basis_done = 27,
  file_digest = 28,
  notice = 29,
};

using Id = std::array<std::byte, 16>;  // a UUID or a transaction id, random

// Bits of Hello::features: what its sender understands. On the wire: never renumber.
enum Feature : std::uint64_t {
  k_feature_zstd = 1 << 0,           // frames may be compressed
  k_feature_large_windows = 1 << 1,  // with windows up to 32 MiB
};

// First message of each side.
struct Hello {
  static constexpr auto k_type = MessageType::hello;
  std::uint64_t version_min = k_version_min;
  std::uint64_t version_max = k_version_max;
  std::uint64_t features = 0;              // Feature bits; unknown ones are ignored
  std::string software;                    // "nbackup 0.1.0", for messages only
  std::uint64_t cpu_flags = 0;             // CpuFlag bits (base/cpu.hpp); unknown ones are ignored
  std::uint64_t listing_credit_bytes = 0;  // listings that may await my answer
  std::uint64_t want_credit = 0;           // wants that may be open at me
  std::uint64_t inline_limit_bytes = 0;    // of a source: files up to this ride with a listing that is taken whole
};

enum class Operation : std::uint8_t { push = 1, pull = 2 };

// Bits of Open::flags. On the wire: never renumber.
enum OpenFlag : std::uint64_t {
  k_flag_dry_run = 1 << 0,
  k_flag_verify = 1 << 1,         // compare contents, change nothing
  k_flag_checksum = 1 << 2,       // -c: contents decide, not size and time
  k_flag_delete = 1 << 3,
  k_flag_itemize = 1 << 4,        // the sink sends Item for each change
  k_flag_one_file_system = 1 << 5,
  k_flag_allow_empty = 1 << 6,    // lifts the empty-source guard
  k_flag_new_set = 1 << 7,        // lifts the set-missing guard
  // 1 << 8 is free
  k_flag_single_file = 1 << 9,    // the only source is not a directory: its name may be changed
  k_flag_implied_root = 1 << 10,  // the sources are named entries of the destination, not its whole content
  k_flag_whole_file = 1 << 11,    // no deltas
  k_flag_paranoid = 1 << 12,      // a basis is read, whatever is remembered of it
};

// The client asks for one run. Names of sources and the destination are the remote side's path strings: they are
// resolved there, inside --root.
struct Open {
  static constexpr auto k_type = MessageType::open;
  Operation operation = Operation::push;
  Id transaction{};                      // chosen by the client; the same again after a lost connection
  std::string client;                    // user@host of the client, for the lock file
  std::uint64_t flags = 0;
  std::string destination;               // push: directory or file name at the remote side
  std::string single_name;               // push with k_flag_single_file: its name
  std::vector<std::string> sources;      // pull: paths at the remote side
  std::vector<std::string> filter_rules; // "- pattern" or "+ pattern", in order
  std::int64_t max_delete = -2;          // -1: no limit, -2: the default rule
  std::uint64_t wait_seconds = 0;        // for the writer's lock
  std::uint64_t wait_readers_seconds = 0;
  std::optional<Id> expected_set;        // the set this client knows there
  std::uint64_t compression = 0;         // what the server sends: codec::encode()
  std::vector<std::byte> secret;         // push: offered to a new set; pull: of the client's set
};

// The answer when the run can begin.
struct Opened {
  static constexpr auto k_type = MessageType::opened;
  std::optional<Id> set;                 // push: the set's UUID
  std::uint64_t generation = 0;
  std::vector<std::byte> secret;         // the key of all digests of this run
  std::uint64_t flags = 0;               // pull: k_flag_implied_root and k_flag_single_file as found
  std::string single_name;               // pull with k_flag_single_file: its name
  bool resumes = false;                  // an interrupted run left a stage that is used again
};

// Ends the session.
struct ErrorMessage {
  static constexpr auto k_type = MessageType::error;
  Errc code = Errc::internal;
  std::uint64_t sys_errno = 0;
  std::string context;
};

// One path could not be handled; the run goes on. For the other side's report.
struct Problem {
  static constexpr auto k_type = MessageType::problem;
  Errc code = Errc::io;
  std::uint64_t sys_errno = 0;
  std::string context;  // operation and path
};

enum DirectoryFlag : std::uint64_t {
  k_directory_implied = 1 << 0,    // no metadata of its own, and nothing in it is ever deleted
  k_directory_partial = 1 << 1,    // could not be read whole: nothing in it is deleted
  k_directory_foreign = 1 << 2,    // a mount point not entered (-x): nothing below it is touched
  k_directory_empty_source = 1 << 3,  // one of the sources begins here and shows nothing: is it mounted?
};

// Source to sink, in protocol order (docs/protocol.md): a directory and the digest of its listing.
struct DirectoryMessage {
  static constexpr auto k_type = MessageType::directory;
  std::uint64_t id = 0;  // 0, 1, 2, ... in the order sent
  RelPath path;          // below the transfer's root; ids and paths are checked for order by the sink
  std::uint64_t flags = 0;
  std::uint64_t entries = 0;
  hash::Digest digest;   // of its encoded listing
};

enum class ReplyKind : std::uint8_t {
  same = 1,  // nothing to send
  list = 2,  // send the listing; wants will follow
  all = 3,   // nothing is there: send listing and small files, and the same for everything below
  list_digests = 4,  // as list, with the digest of each regular file that is small or whose digest is known
  here = 5,  // send listing and small files; what is below gets replies of its own
};

struct DirectoryReply {
  static constexpr auto k_type = MessageType::directory_reply;
  std::uint64_t id = 0;
  ReplyKind kind = ReplyKind::same;
};

// One name of a listing. A subdirectory's metadata travels with its own listing, so only its name and type are here.
struct Entry {
  std::string name;
  fs::FileType type = fs::FileType::regular;
  fs::Metadata meta;                    // not for directories
  std::uint64_t size = 0;               // regular files
  fs::DeviceNumber node;                // device files
  std::string target;                   // symlinks
  std::optional<RelPath> link_to;       // hard links: the first member in protocol order; absent for that one itself
  std::optional<hash::Digest> content;  // regular files, where contents are compared or their digests asked for
  friend bool operator==(const Entry&, const Entry&) = default;
};

void encode_metadata(ByteWriter& out, const fs::Metadata& meta);
Result<fs::Metadata> decode_metadata(ByteReader& in);
void encode_entry(ByteWriter& out, const Entry& entry);
Result<Entry> decode_entry(ByteReader& in);

// A listing, in one or more parts. The digest of DirectoryMessage covers encode_metadata (or one zero byte for an
// implied directory) followed by encode_entry of each entry, in order; where the reply was `list_digests`, without the
// digests that were asked for.
struct Listing {
  static constexpr auto k_type = MessageType::listing;
  std::uint64_t id = 0;
  bool last = true;
  std::optional<fs::Metadata> own;  // in the first part, unless the directory is implied
  // Names strictly rising, over all parts. A part is full once its entries, encoded, take k_max_listing_part_bytes or
  // there are k_max_listing_part_entries of them.
  std::vector<Entry> entries;
  // Rising indices into `entries` of those that have several names and are the first of these: the sink remembers where
  // they went. Not in the digest, as a name outside the tree changes it.
  std::vector<std::uint64_t> shared;
};

// Sink to source: all wants of this directory have been sent; its listing can be forgotten once they are served.
struct DirectoryDone {
  static constexpr auto k_type = MessageType::directory_done;
  std::uint64_t id = 0;
};

struct FileKey {
  std::uint64_t directory = 0;  // its id
  std::uint64_t index = 0;      // of the entry in its listing
  friend auto operator<=>(const FileKey&, const FileKey&) = default;
};

// What the sink has of a wanted file: the source may describe the new content against it, and ask for its signature.
struct Basis {
  std::uint64_t size = 0;
  std::optional<hash::Digest> digest;  // of its content, where the sink knows it: the source may remember its blocks
  friend bool operator==(const Basis&, const Basis&) = default;
};

struct Want {
  static constexpr auto k_type = MessageType::want;
  FileKey file;
  std::uint64_t offset = 0;  // first byte wanted; always 0 in version 1
  std::optional<Basis> basis = {};
  // The sink may have the content under another name: FileDigest, please, and no content yet. Then without a basis.
  bool digest_first = false;
};

// Source to sink, the answer to a Want with digest_first. BasisDone says that the sink has the content; otherwise a
// second Want for the same file comes.
struct FileDigest {
  static constexpr auto k_type = MessageType::file_digest;
  FileKey file;
  std::optional<hash::Digest> digest;  // none: it cannot be read as it was listed; the answer to the next Want tells
};

// Source to sink, before the content of a wanted file. `size` and `meta` are those of the file as opened, which may be
// newer than its listing. Sent again for the same file if it changed while it was read: what came before is void.
enum class ContentKind : std::uint8_t {
  whole = 1,  // data and holes
  delta = 2,  // copies from the basis of the Want too
};

struct FileBegin {
  static constexpr auto k_type = MessageType::file_begin;
  FileKey file;
  std::uint64_t size = 0;
  fs::Metadata meta;
  ContentKind kind = ContentKind::whole;
};

// Content of the file begun last, raw, in rising order of offsets.
struct Data {
  static constexpr auto k_type = MessageType::data;
  std::uint64_t offset = 0;
  ByteView bytes;  // into the received frame
};

struct Hole {
  static constexpr auto k_type = MessageType::hole;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

// Content of the file begun last that its basis has too.
struct Copy {
  static constexpr auto k_type = MessageType::copy;
  std::uint64_t offset = 0;
  std::uint64_t basis_offset = 0;
  std::uint64_t length = 0;
};

// Source to sink: a piece of the signature of this file's basis, please. One Signature answers it.
struct SignatureRequest {
  static constexpr auto k_type = MessageType::signature_request;
  FileKey file;
  std::uint64_t piece = 0;
};

// `blob` is a delta::SignaturePiece (docs/formats.md) of the file's basis; empty if the basis cannot be read any more.
struct Signature {
  static constexpr auto k_type = MessageType::signature;
  FileKey file;
  std::uint64_t piece = 0;
  ByteView blob;  // into the received frame
};

// Sink to source: the delta of this file was good, or its digest was enough; its listing may be forgotten. Where a delta
// was not good, another Want without a basis comes for the same file, and its answer is the whole content.
struct BasisDone {
  static constexpr auto k_type = MessageType::basis_done;
  FileKey file;
};

enum class FileOutcome : std::uint8_t {
  complete = 1,
  changed = 2,     // still changing after several tries
  vanished = 3,
  unreadable = 4,  // with an errno
};

struct FileEnd {
  static constexpr auto k_type = MessageType::file_end;
  FileKey file;
  FileOutcome outcome = FileOutcome::complete;
  std::uint64_t sys_errno = 0;
  hash::Digest digest;  // of the whole content, when complete
};

// A whole small file in one message: where everything is taken, and for wants of small files.
struct SmallFile {
  static constexpr auto k_type = MessageType::small_file;
  FileKey file;
  std::optional<fs::Metadata> meta;  // only if newer than the listing
  hash::Digest digest;
  ByteView bytes;  // into the received frame
};

struct ScanEnd {
  static constexpr auto k_type = MessageType::scan_end;
  std::uint64_t directories = 0;
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;   // size of all regular files
  hash::Digest plan;         // digest over the digests of all DirectoryMessages, in order
};

// Sink to source, where asked for: one change, as rsync's itemized output shows it.
struct Item {
  static constexpr auto k_type = MessageType::item;
  std::string change;  // rsync's 11 characters, or "*deleting"
  RelPath path;
  std::string detail;  // " -> target" and the like
};

// What a person who watches may want to know; nothing went wrong.
struct Notice {
  static constexpr auto k_type = MessageType::notice;
  std::string text;
};

enum class PhaseKind : std::uint8_t { compare = 1, transfer = 2, sync = 3, commit = 4, cleanup = 5 };

struct Phase {
  static constexpr auto k_type = MessageType::phase;
  PhaseKind kind = PhaseKind::compare;
};

// The sink's account of the run.
struct RunResult {
  static constexpr auto k_type = MessageType::result;
  bool committed = false;            // false: nothing changed, a dry run or a verification
  std::uint64_t generation = 0;
  std::uint64_t files_new = 0;       // entries of any type
  std::uint64_t files_changed = 0;
  std::uint64_t metadata_changed = 0;
  std::uint64_t deleted = 0;
  std::uint64_t differences = 0;     // verify
  std::uint64_t content_bytes = 0;   // received as file content
  std::uint64_t resumed_bytes = 0;   // taken from an interrupted stage
  std::uint64_t kept_aside = 0;      // entries whose metadata is kept in an attribute instead of set
  std::uint64_t problems = 0;        // per-file errors that the sink knows of, its own and the source's
  std::uint64_t moved_bytes = 0;     // of files whose content the set had already
  std::uint64_t files_moved = 0;
  bool durability_unsure = false;    // committed where the file system does not tell whether a sync succeeded
};

struct KeepAlive {
  static constexpr auto k_type = MessageType::keep_alive;
};

// After a lost connection: what became of this transaction?
struct Query {
  static constexpr auto k_type = MessageType::query;
  Id transaction{};
  std::string destination;
};

struct QueryReply {
  static constexpr auto k_type = MessageType::query_reply;
  bool committed = false;
  std::uint64_t generation = 0;
};

struct Goodbye {
  static constexpr auto k_type = MessageType::goodbye;
};

// Errc::usage if the rules, sources and names of `open` break a limit, so that the peer would refuse them. They come
// from the user: check before the message is added to a frame, which asserts that it fits.
Status check_open(const Open& open);

// encode_message appends the body; texts meant for people are cut at their limit. decode_message checks that the body
// is used up; views in its result point into `body`. Both are instantiated for every type above (messages_*.cpp).
template <class Message>
void encode_message(ByteWriter& out, const Message& message);
template <class Message>
Result<Message> decode_message(ByteView body);

}  // namespace nb::wire
