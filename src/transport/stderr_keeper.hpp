// SPDX-License-Identifier: Apache-2.0
// StderrKeeper: what becomes of the other side's standard error: complete lines go to the callback, and the last 4 KiB
// are kept for PeerEnd, but for the lines that the filter takes. One thread at a time appends; any thread asks for the
// tail.
#pragma once

#include <mutex>
#include <string>

#include "base/bytes.hpp"
#include "transport/process_stream.hpp"

namespace nb::transport {

class StderrKeeper {
 public:
  explicit StderrKeeper(StderrLine on_line, StderrFilter takes = {})
      : m_on_line(std::move(on_line)), m_takes(std::move(takes)) {}

  void append(ByteView data);
  // Passes on a last line without newline. Called once, as append() is, when nothing more can come.
  void finish();
  [[nodiscard]] std::string tail() const;

 private:
  void emit();

  StderrLine m_on_line;
  StderrFilter m_takes;
  mutable std::mutex m_mutex;  // of what follows; not held during the callbacks
  std::string m_line;          // the unfinished one, with its end once that has come
  std::string m_tail;          // without it; somewhat more than is told
};

}  // namespace nb::transport
