// SPDX-License-Identifier: Apache-2.0
// The numbers of the messages, and what several of them carry.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace nb::wire {

// On the wire: never renumber. 33-39 are kept for later.
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
  command = 30,
  text = 31,
  command_end = 32,
};

using Id = std::array<std::byte, 16>;  // a UUID or a transaction id, random

}  // namespace nb::wire
