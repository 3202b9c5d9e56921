// SPDX-License-Identifier: Apache-2.0
// What one run is asked to do, and what it reports: plain values between cli/ and session/.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cache/signature_memory.hpp"
#include "codec/compression.hpp"
#include "scan/bare_memory.hpp"
#include "scan/digest_memory.hpp"
#include "scan/own_files.hpp"
#include "wire/messages.hpp"

namespace nb::session {

// What this side grants the other (sent in hello): all that can queue here is bounded by these.
struct Limits {
  std::uint64_t listing_credit_bytes = std::uint64_t{4} << 20;  // listings that may await an answer
  std::uint64_t want_credit = 4096;                             // wants that may be open at the source
  std::uint64_t inline_limit_bytes = 64 * 1024;                 // files up to this ride with their listing
};

inline constexpr std::int64_t k_no_max_delete = -1;     // any number of entries may go
inline constexpr std::int64_t k_usual_max_delete = -2;  // as the set's policy says, else 50 % of the entries or 1,000

struct Options {
  std::uint64_t flags = 0;  // wire::OpenFlag bits that the user can set
  std::int64_t max_delete = k_usual_max_delete;
  std::vector<std::string> filter_rules;  // as filter::Rules::encoded() gives them
  std::chrono::seconds inactivity{0};     // --timeout; 0: none
  std::chrono::seconds wait{0};           // --wait for the writer's lock
  std::chrono::seconds wait_readers{60};  // --wait-readers
  codec::Compression compression;         // of what either side sends
};

// A push has local sources and a remote destination, a pull the other way round. Paths are as the user wrote them: a
// trailing slash on a source means its content. Relative remote paths start at the remote home (or --root).
struct Job {
  wire::Operation operation = wire::Operation::push;
  std::vector<std::string> sources;
  std::string destination;
  std::string client;  // user@host, for the lock note
  Options options;
  std::optional<wire::Moment> at;            // the sources lie in a file set, which is read as it was then
  std::optional<std::string> stay_within;    // push with `at`: as SourceReader has it
  bool single_file_only = false;             // pull: a directory, or what a pattern finds, is Errc::path
  std::optional<wire::Id> expected_set;      // push: the set this client knows at that destination
  std::vector<std::string> expected_mounts;  // push: absolute paths that were mount points last time, as `mounts` told
  bool allow_unmounted = false;              // lifts that guard
  Limits limits;
  std::function<void(const wire::Hello&)> on_hello = {};  // told what the other end says of itself, each time
  // Push: told what the destination is now that this run holds it, each time; an error ends the run.
  std::function<Status(const wire::Opened&)> on_opened = {};
  std::optional<scan::OwnFiles> own_files;  // on this side
  scan::DigestMemory* digests = nullptr;    // of the files on this side; none: every content is read. Outlives the run
  scan::BareMemory* bare = nullptr;         // of the directories on this side; none: every file is asked. The same
  cache::SignatureMemory* signatures =
      nullptr;  // push: of what was sent; none: the sink describes what it has. The same
};

struct Counts {
  std::uint64_t directories = 0;
  std::uint64_t entries = 0;        // of all listings, any type
  std::uint64_t total_bytes = 0;    // size of all regular files scanned
  std::uint64_t content_bytes = 0;  // file content that crossed the wire
  std::uint64_t sent_bytes = 0;     // on the wire, all of it
  std::uint64_t received_bytes = 0;
  std::uint64_t sent_plain_bytes = 0;  // what these would have been without compression
  std::uint64_t received_plain_bytes = 0;
};

struct RunReport {
  wire::RunResult result;  // the sink's account
  Counts counts;
  std::optional<wire::Id> set;      // push: the set's UUID
  std::vector<std::string> mounts;  // push: mount points met below the sources, and those they lie on; absolute
  std::uint64_t problems = 0;       // per-file errors on both sides
  int exit_code = 0;                // 0, 23, 24, 40: what the problems ask for
  std::optional<std::uint64_t> read_generation;  // pull with `at`: what that meant
  bool counts_lost = false;                      // committed, but the connection broke before the sink's account came
};

}  // namespace nb::session
