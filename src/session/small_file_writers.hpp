// SPDX-License-Identifier: Apache-2.0
// SmallFileWriters: threads that create, write and finish whole small files in the stage while the sink's thread
// decodes, decides and logs. Files of one directory that come one after the other go to one of them, so that two threads
// do not wait for one directory's lock; which of two names that are the same to this file system is made first matters
// to nobody. Used by Sink; everything but the work itself happens in its thread.
//
// Bounded: by bytes and by files that are on their way. Directories of the real file system hold nothing but a
// descriptor and may be shared so; simulated ones may not, and are given no threads (0: put() does the work itself).
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "session/sink_types.hpp"

namespace nb::session {

struct SmallFileJob {
  ExpectedFile file;
  Placement place;
  hash::Digest digest;
  fs::Metadata meta;
  Bytes content;
};

struct WrittenFile {
  SmallFileJob job;  // without the content
  std::uint64_t size = 0;
  Status status;                     // an error with a handle: it was made, and is not whole
  std::unique_ptr<fs::File> handle;  // none if it could not be made, or nothing is left to do
  std::optional<StagedNode> node;    // none: its metadata must be given the long way (Stager::settle_file)
};

class SmallFileWriters {
 public:
  // Threads start with the first file.
  explicit SmallFileWriters(unsigned threads);
  // What is queued and not begun is dropped.
  ~SmallFileWriters();
  SmallFileWriters(const SmallFileWriters&) = delete;
  SmallFileWriters& operator=(const SmallFileWriters&) = delete;

  // Waits while too much is on its way. Call take() after it, which bounds what is finished.
  void put(SmallFileJob job);
  // Files are handed over some at a time, which saves waking a thread for each. Before waiting for anybody else, call
  // this.
  void hand_over();
  // All that is finished; in order, of files of one directory that came one after the other.
  std::vector<WrittenFile> take();
  // Returns when nothing is on its way.
  void wait();

 private:
  struct Worker {
    std::vector<SmallFileJob> queue;
    std::condition_variable wake;
    bool is_waiting = false;
    std::thread thread;
  };
  void start();
  Worker& worker_for(const fs::Directory* directory);
  void wake_all();
  void work(Worker& worker);
  void finished(WrittenFile written, std::uint64_t bytes);

  unsigned m_threads;     // at most; 0: the work is done by put()
  PlainMetadata m_plain;  // where there are no threads
  std::vector<std::unique_ptr<Worker>> m_workers;
  const fs::Directory* m_last_directory = nullptr;  // only compared
  Worker* m_last_worker = nullptr;

  std::mutex m_mutex;
  std::condition_variable m_progress;
  bool m_owner_waits = false;
  bool m_stopping = false;
  std::uint64_t m_bytes = 0;  // on their way
  std::size_t m_files = 0;
  std::size_t m_not_handed_over = 0;
  std::vector<WrittenFile> m_done;
};

}  // namespace nb::session
