// SPDX-License-Identifier: Apache-2.0
// Messages that tell what happened: ErrorMessage, Problem, Item, Notice, Phase, RunResult. Included by messages.hpp.
// RunResult is a list of tagged fields, so that later versions can add some.
#pragma once

#include <cstdint>
#include <string>

#include "base/rel_path.hpp"
#include "base/result.hpp"
#include "wire/message_type.hpp"

namespace nb::wire {

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

// Sink to source, where asked for: one change, as rsync's itemized output shows it.
struct Item {
  static constexpr auto k_type = MessageType::item;
  std::string change;  // rsync's 11 characters, or "*deleting"
  RelPath path;
  std::string detail;  // what follows the path: " -> target", "/" of a deleted directory
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
  bool committed = false;  // false: nothing changed, a dry run or a verification
  std::uint64_t generation = 0;
  std::uint64_t files_new = 0;  // entries of any type
  std::uint64_t files_changed = 0;
  std::uint64_t metadata_changed = 0;
  std::uint64_t deleted = 0;
  std::uint64_t differences = 0;    // verify
  std::uint64_t content_bytes = 0;  // received as file content
  std::uint64_t resumed_bytes = 0;  // taken from an interrupted stage
  std::uint64_t kept_aside = 0;     // entries whose metadata is kept in an attribute instead of set
  std::uint64_t problems = 0;       // per-file errors that the sink knows of, its own and the source's
  std::uint64_t moved_bytes = 0;    // of files whose content the set had already
  std::uint64_t files_moved = 0;
  // What the sink's set has come to, if it lasts; 0: not told, or never.
  std::uint64_t history_bytes = 0;
  std::uint64_t history_generations = 0;  // kept, the live one counted
  std::uint64_t last_scrub_ns = 0;        // since 1970
  std::uint64_t damaged_files = 0;        // that it found and that are not healed
  bool durability_unsure = false;         // committed where the file system does not tell whether a sync succeeded
};

}  // namespace nb::wire
