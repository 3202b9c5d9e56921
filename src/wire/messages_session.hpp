// SPDX-License-Identifier: Apache-2.0
// Messages that begin and end a session: Hello, Open, Opened, Query, QueryReply, KeepAlive, Goodbye. Included by
// messages.hpp. Hello, Open and Opened are lists of tagged fields, so that later versions can add some.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "wire/limits.hpp"
#include "wire/message_type.hpp"

namespace nb::wire {

// Bits of Hello::features: what its sender understands. On the wire: never renumber.
enum Feature : std::uint64_t {
  k_feature_zstd = 1 << 0,           // frames may be compressed
  k_feature_large_windows = 1 << 1,  // with windows up to 32 MiB
  k_feature_commands = 1 << 2,       // a server: Command
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
  std::uint64_t inactivity_ms = 0;         // a silence of the line that I take for its end; 0: none
};

enum class Operation : std::uint8_t { push = 1, pull = 2 };

// Bits of Open::flags. On the wire: never renumber.
enum OpenFlag : std::uint64_t {
  k_flag_dry_run = 1 << 0,
  k_flag_verify = 1 << 1,    // compare contents, change nothing
  k_flag_checksum = 1 << 2,  // -c: contents decide, not size and time
  k_flag_delete = 1 << 3,
  k_flag_itemize = 1 << 4,  // the sink sends Item for each change
  k_flag_one_file_system = 1 << 5,
  k_flag_allow_empty = 1 << 6,  // lifts the empty-source guard
  k_flag_new_set = 1 << 7,      // lifts the set-missing guard
  // 1 << 8 is free
  k_flag_single_file = 1 << 9,    // the only source is not a directory: its name may be changed
  k_flag_implied_root = 1 << 10,  // the sources are named entries of the destination, not its whole content
  k_flag_whole_file = 1 << 11,    // no deltas
  k_flag_paranoid = 1 << 12,      // a basis is read, whatever is remembered of it
  k_flag_no_history = 1 << 13,    // push: the generation before is not kept
};

// What a past tree is named by. On the wire: never renumber.
enum class MomentKind : std::uint8_t {
  latest = 1,      // the live tree
  generation = 2,  // by its number
  time = 3,        // the newest that was committed by then, in ns since 1970
};

// Which state of a file set is meant.
struct Moment {
  MomentKind kind = MomentKind::latest;
  std::uint64_t value = 0;  // of latest: 0
  friend bool operator==(const Moment&, const Moment&) = default;
};

// In a source of a pull that has `at`: what is before the first of these is a place in the file set that is meant, and
// what is behind it a path in that set.
inline constexpr std::string_view k_path_in_set = "/./";

// The client asks for one run. Names of sources and the destination are the remote side's path strings: they are
// resolved there, inside --root.
struct Open {
  static constexpr auto k_type = MessageType::open;
  Operation operation = Operation::push;
  Id transaction{};    // chosen by the client; the same again after a lost connection
  std::string client;  // user@host of the client, for the lock file
  std::uint64_t flags = 0;
  std::string destination;                // push: directory or file name at the remote side
  std::vector<std::string> sources;       // pull: paths at the remote side
  std::vector<std::string> filter_rules;  // "- pattern" or "+ pattern", in order
  std::int64_t max_delete = -2;           // -1: no limit, -2: the set's, or the usual
  std::uint64_t wait_seconds = 0;         // for the writer's lock
  std::uint64_t wait_readers_seconds = 0;
  std::optional<Id> expected_set;  // the set this client knows there
  std::uint64_t compression = 0;   // what the server sends: codec::encode()
  std::vector<std::byte> secret;   // push: offered to a new set; pull: of the client's set
  std::optional<Moment> at;        // pull: the sources lie in a file set, and this is what it was like
};

// The answer when the run can begin.
struct Opened {
  static constexpr auto k_type = MessageType::opened;
  std::optional<Id> set;          // push: the set's UUID
  std::uint64_t generation = 0;   // of that set; where Open has `at`, the one that is read
  std::vector<std::byte> secret;  // the key of all digests of this run
  std::uint64_t flags = 0;        // pull: k_flag_implied_root and k_flag_single_file as found
  bool resumes = false;           // an interrupted run left a stage that is used again
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

}  // namespace nb::wire
