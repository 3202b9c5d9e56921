// SPDX-License-Identifier: Apache-2.0
#include "session/small_file_writers.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

namespace nb::session {
namespace {

constexpr std::uint64_t k_max_bytes = std::uint64_t{4} << 20;
// Each may hold its directory open.
constexpr std::size_t k_max_files = 128;
constexpr std::size_t k_files_a_wake = 16;

Status write(WrittenFile& out, ByteView content, PlainMetadata& plain) {
  const SmallFileJob& job = out.job;
  NB_TRY_ASSIGN(out.handle, Stager::create_in(*job.place.directory, job.place.name, job.meta));
  NB_TRY(out.handle->write_at(0, content));
  NB_TRY_ASSIGN(out.node, Stager::finish_plain(*out.handle, job.meta, job.place.inherits, plain));
  return {};
}

WrittenFile do_job(SmallFileJob job, PlainMetadata& plain) {
  const Bytes content = std::move(job.content);
  WrittenFile out;
  out.job = std::move(job);
  out.size = content.size();
  out.status = write(out, content, plain);
  if (out.node) out.handle.reset();
  return out;
}

}  // namespace

SmallFileWriters::SmallFileWriters(unsigned threads) : m_threads(threads) {}

SmallFileWriters::~SmallFileWriters() {
  {
    const std::lock_guard lock(m_mutex);
    m_stopping = true;
    for (const auto& worker : m_workers) worker->wake.notify_one();
  }
  for (const auto& worker : m_workers) worker->thread.join();
}

void SmallFileWriters::start() {
  while (m_workers.size() < m_threads) {
    m_workers.push_back(std::make_unique<Worker>());
    Worker& worker = *m_workers.back();
    try {
      worker.thread = std::thread([this, &worker] { work(worker); });
    } catch (const std::system_error&) {  // a limit on processes: those there are will do
      m_workers.pop_back();
      m_threads = static_cast<unsigned>(m_workers.size());
    }
  }
}

// With m_mutex held. A new directory goes to whoever has least to do.
SmallFileWriters::Worker& SmallFileWriters::worker_for(const fs::Directory* directory) {
  if (m_last_worker == nullptr || directory != m_last_directory) {
    const auto least = std::min_element(m_workers.begin(), m_workers.end(),
                                        [](const auto& a, const auto& b) { return a->queue.size() < b->queue.size(); });
    m_last_worker = least->get();
    m_last_directory = directory;
  }
  return *m_last_worker;
}

// With m_mutex held.
void SmallFileWriters::wake_all() {
  m_not_handed_over = 0;
  for (const auto& worker : m_workers) {
    if (worker->is_waiting && !worker->queue.empty()) worker->wake.notify_one();
  }
}

void SmallFileWriters::put(SmallFileJob job) {
  start();
  if (m_threads == 0) {
    m_done.push_back(do_job(std::move(job), m_plain));
    return;
  }
  std::unique_lock lock(m_mutex);
  const std::uint64_t bytes = job.content.size();
  const auto has_room = [&] { return m_files == 0 || (m_files < k_max_files && m_bytes + bytes <= k_max_bytes); };
  if (!has_room()) {
    wake_all();
    m_owner_waits = true;
    m_progress.wait(lock, has_room);
    m_owner_waits = false;
  }
  m_bytes += bytes;
  ++m_files;
  Worker& worker = worker_for(job.place.directory.get());
  worker.queue.push_back(std::move(job));
  if (++m_not_handed_over >= k_files_a_wake) wake_all();
}

void SmallFileWriters::hand_over() {
  if (m_workers.empty()) return;
  const std::lock_guard lock(m_mutex);
  wake_all();
}

std::vector<WrittenFile> SmallFileWriters::take() {
  const std::lock_guard lock(m_mutex);
  return std::exchange(m_done, {});
}

void SmallFileWriters::wait() {
  std::unique_lock lock(m_mutex);
  wake_all();
  m_owner_waits = true;
  m_progress.wait(lock, [this] { return m_files == 0; });
  m_owner_waits = false;
}

void SmallFileWriters::finished(WrittenFile written, std::uint64_t bytes) {
  const std::lock_guard lock(m_mutex);
  m_done.push_back(std::move(written));
  m_bytes -= bytes;
  --m_files;
  if (m_owner_waits) m_progress.notify_one();
}

void SmallFileWriters::work(Worker& worker) {
  PlainMetadata plain;
  std::unique_lock lock(m_mutex);
  while (true) {
    worker.is_waiting = true;
    worker.wake.wait(lock, [&] { return m_stopping || !worker.queue.empty(); });
    worker.is_waiting = false;
    if (m_stopping) return;
    std::vector<SmallFileJob> jobs = std::exchange(worker.queue, {});
    lock.unlock();
    for (SmallFileJob& job : jobs) {
      const std::uint64_t bytes = job.content.size();
      finished(do_job(std::move(job), plain), bytes);
    }
    lock.lock();
  }
}

}  // namespace nb::session
