// SPDX-License-Identifier: Apache-2.0
// StderrKeeper: what becomes of the other side's standard error: complete lines go to the callback, and the last 4 KiB
// are kept for PeerEnd. One thread appends; any thread asks for the tail.
#pragma once

#include <mutex>
#include <string>

#include "base/bytes.hpp"
#include "transport/process_stream.hpp"

namespace nb::transport {

class StderrKeeper {
 public:
  explicit StderrKeeper(StderrLine on_line) : m_on_line(std::move(on_line)) {}

  void append(ByteView data);
  // Passes on a last line without newline. Called once, by the appending thread, when nothing more can come.
  void finish();
  [[nodiscard]] std::string tail() const;

 private:
  void emit(std::string_view line) const;

  StderrLine m_on_line;
  std::string m_line;  // the unfinished one
  mutable std::mutex m_mutex;
  std::string m_tail;
};

}  // namespace nb::transport
