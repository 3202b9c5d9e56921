// SPDX-License-Identifier: Apache-2.0
// Rig: a client and a server session joined by in-memory streams, on real directories; and an independent walker that
// says what a tree holds.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "session/client.hpp"
#include "session/serve.hpp"
#include "support/temp_dir.hpp"
#include "unit/session/pipe_stream.hpp"

namespace nb::test {

// Collects what a run tells.
class Recorder final : public session::Observer {
 public:
  void on_phase(wire::PhaseKind) override {}
  void on_progress(const session::Counts&) override {}
  void on_item(const wire::Item& item) override { items.push_back(item.change + " " + item.path.str()); }
  void on_problem(const Error& error) override { problems.push_back(error.message()); }
  void on_notice(const std::string& text) override { notices.push_back(text); }
  std::vector<std::string> items;
  std::vector<std::string> problems;
  std::vector<std::string> notices;
};

class Rig {
 public:
  Rig();
  ~Rig();
  // Each connection gets a server of its own, with these options and pipes.
  PipeOptions pipe;
  std::vector<PipeOptions> next_pipes;        // for the first connections, before `pipe`
  std::function<void()> before_reconnecting;  // called when the servers before have ended; may be empty
  session::ServeOptions serve;
  session::Job job;
  session::RetryPolicy retry;
  Recorder seen;

  [[nodiscard]] std::string source(const std::string& below = {}) const { return m_dir.path("source/" + below); }
  [[nodiscard]] std::string pool(const std::string& below = {}) const { return m_dir.path("pool/" + below); }
  [[nodiscard]] std::string scratch(const std::string& below) const { return m_dir.path(below); }

  // source/ to pool/, contents.
  Result<session::RunReport> push();
  Result<session::RunReport> run();
  // Waits until every server has ended: one whose client is gone may still be committing.
  void settle();

 private:
  Result<std::unique_ptr<transport::ByteStream>> connect();
  TempDir m_dir;
  SystemClock m_clock;
  std::mutex m_mutex;
  std::vector<std::thread> m_servers;
};

// Writes a file, making directories above it.
void put(const std::string& path, const std::string& content);

// Everything below `root` except .nbackup: path -> "type mode mtime content-or-target links". Uses the C library only.
std::map<std::string, std::string> tree_of(const std::string& root);

// What a finished run may leave in a control directory besides head, format, secret, lock and history.
std::vector<std::string> leftovers(const std::string& pool);

}  // namespace nb::test
