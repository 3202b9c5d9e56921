// SPDX-License-Identifier: Apache-2.0
#include "transport/abandonable_open.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace nb::transport {
namespace {

using Opened = Result<std::unique_ptr<ByteStream>>;

constexpr std::chrono::milliseconds k_tick{100};

// What the two threads share.
struct Attempt {
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<Opened> result;
  bool given_up = false;
  bool asks = false;  // the person at the terminal
};

using Shared = std::shared_ptr<Attempt>;

// Held while the function runs: once given up, none of the caller's is at work.
template <class... Arguments>
void close_when_given_up(const Shared& attempt, std::function<void(Arguments...)>& call) {
  if (!call) return;
  call = [attempt, inner = std::move(call)](Arguments... arguments) {
    const std::lock_guard lock(attempt->mutex);
    if (!attempt->given_up) inner(arguments...);
  };
}

Prompt watched(const Shared& attempt, Prompt prompt) {
  if (!prompt) return {};
  return [attempt, inner = std::move(prompt)](PromptKind kind, const std::string& text) -> std::optional<std::string> {
    {
      const std::lock_guard lock(attempt->mutex);
      if (attempt->given_up) return std::nullopt;
      attempt->asks = true;
    }
    std::optional<std::string> answer = inner(kind, text);
    const std::lock_guard lock(attempt->mutex);
    attempt->asks = false;
    return answer;
  };
}

void open(const Shared& attempt, const RemoteOptions& options) {
  Opened opened = open_remote_stream(options);
  const std::lock_guard lock(attempt->mutex);
  if (attempt->given_up) return;
  attempt->result = std::move(opened);
  attempt->changed.notify_all();
}

}  // namespace

Opened open_unless_given_up(RemoteOptions options, const std::function<bool()>& gives_up) {
  const Shared attempt = std::make_shared<Attempt>();
  close_when_given_up(attempt, options.on_notice);
  close_when_given_up(attempt, options.on_link);
  close_when_given_up(attempt, options.libssh.on_log);
  close_when_given_up(attempt, options.libssh.on_stderr);
  close_when_given_up(attempt, options.libssh.on_warning);
  options.libssh.prompt = watched(attempt, std::move(options.libssh.prompt));
  std::thread opener([attempt, options = std::move(options)] { open(attempt, options); });
  std::unique_lock lock(attempt->mutex);
  while (!attempt->changed.wait_for(lock, k_tick, [&] { return attempt->result.has_value(); })) {
    if (attempt->asks || !gives_up()) continue;
    attempt->given_up = true;
    opener.detach();
    return fail(Errc::interrupted, "");
  }
  lock.unlock();
  opener.join();
  return std::move(*attempt->result);
}

}  // namespace nb::transport
