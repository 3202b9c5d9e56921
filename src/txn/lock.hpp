// SPDX-License-Identifier: Apache-2.0
// The two locks of a file set, both on `.nbackup/lock` and both the kernel's (they end with their process). Byte 0: the
// writer, for a whole run. Byte 1: readers share it; a commit takes it alone.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.hpp"
#include "base/go_on.hpp"
#include "txn/file_set.hpp"

namespace nb::txn {

// Told once, as a line for a person, if a lock is not free at once and will be waited for. May be empty.
using OnWait = std::function<void(const std::string& text)>;

// The time between two tries of a lock. Errc::interrupted where `go_on` says so.
Status pause_for_lock(Clock& clock, const GoOn& go_on);

class WriterLock {
 public:
  // Waits up to `wait`. Errc::locked names the holder ("backup@laptop, process 812, since 02:10"). A holder with the
  // same token on this machine is our own ghost: it is sent SIGTERM and waited for, at least 90 s: it gives up at once
  // unless it is past its commit point (or, in a recovery, waits a minute for readers). With errno ESTALE: whoever held
  // it has removed the set; what stands there now, if anything, is another.
  static Result<std::unique_ptr<WriterLock>> acquire(FileSet& set, LockNote note, std::chrono::seconds wait,
                                                     Clock& clock, const GoOn& go_on = {}, const OnWait& on_wait = {});

 private:
  explicit WriterLock(std::unique_ptr<fs::File> file) : m_file(std::move(file)) {}
  std::unique_ptr<fs::File> m_file;
};

// The kernel's lock alone, for who has no FileSet yet: as WriterLock::acquire, on `.nbackup` itself. A lock file that is
// missing is made anew. It ends with what is returned.
Result<std::unique_ptr<fs::File>> take_writer_lock(fs::Directory& control, LockNote note, std::chrono::seconds wait,
                                                   Clock& clock, const GoOn& go_on = {}, const OnWait& on_wait = {});

// Fills pid, pid_start, boot_id and since of a note for this process.
LockNote lock_note_of_this_process(std::string client, const TxId& token, Clock& clock);

class ReaderLock {
 public:
  // Errc::locked if a commit is being applied and does not end within `wait`.
  static Result<std::unique_ptr<ReaderLock>> acquire(FileSet& set, std::chrono::seconds wait, Clock& clock,
                                                     const GoOn& go_on = {});

 private:
  explicit ReaderLock(std::unique_ptr<fs::File> file) : m_file(std::move(file)) {}
  std::unique_ptr<fs::File> m_file;
};

}  // namespace nb::txn
