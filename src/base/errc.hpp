// SPDX-License-Identifier: Apache-2.0
// The closed table of everything that can go wrong: one code, its name, its class and its exit code.
// Every Error carries one of these; cli/ turns it into the process's exit status, wire/ sends its number.
// Exit codes up to 35 are rsync's; those from 40 on are nbackup's own and are listed in the manual.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace nb {

// What a caller may do about an error.
enum class ErrorClass : std::uint8_t {
  transient,  // the same run may succeed when tried again (a lost connection, a timeout)
  permanent,  // trying again without a change cannot help
  per_file,   // concerns one path: it goes into the report and the run goes on
};

// Numbers travel on the wire and into --json: never renumber, only append.
enum class Errc : std::uint16_t {
  usage = 1,
  protocol_version = 2,
  path = 3,
  unsupported = 4,
  remote_missing = 5,
  connect = 6,
  host_key = 7,
  auth = 8,
  io = 9,
  no_space = 10,
  sync_failed = 11,
  protocol = 12,
  connection_lost = 13,
  interrupted = 14,
  partial = 15,
  vanished = 16,
  changed = 17,
  unreadable = 18,
  max_delete = 19,
  timeout = 20,
  connect_timeout = 21,
  differs = 22,
  guard_empty_source = 23,
  guard_mount_point = 24,
  guard_set_missing = 25,
  locked = 26,
  in_doubt = 27,
  rolled_back = 28,
  recovery_failed = 29,
  cross_device = 30,
  readers_busy = 31,
  stale = 32,
  bad_set = 33,
  not_found = 34,
  exists = 35,
  not_empty = 36,
  not_permitted = 37,
  metadata_lost = 38,
  foreign_edit = 39,
  read_only = 40,
  internal = 41,
  nested_set = 42,
  insecure = 43,
  hook_failed = 44,
  damaged = 45,
};

struct ErrcInfo {
  Errc code;
  std::string_view name;  // stable, used in --json and --log-file
  ErrorClass cls;
  int exit_code;
  std::string_view text;  // what a person reads; a full message adds file and reason
};

// The row for `code`. Every Errc has one (a unit test walks them).
const ErrcInfo& info(Errc code);

// The exit code of a command that an error of this code ended. What is told of one file while the rest goes on (23, 24)
// is a failure of the whole here: 11.
int exit_code_of(Errc code);

// Whether an error of looking for a path says that it is not there, or that there is something else in its place.
bool is_not_there(Errc code);

// The whole table in numeric order.
std::span<const ErrcInfo> errc_table();

// The code with this number, or nothing: what a peer sends is untrusted.
std::optional<Errc> errc_from_number(std::uint64_t number);

// The code that best names `sys_errno` (ENOSPC -> no_space, ENOENT -> not_found, ...); io otherwise.
Errc errc_from_errno(int sys_errno);

}  // namespace nb
