// SPDX-License-Identifier: Apache-2.0
#include "txn/lock.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <limits>

#include "base/failpoint.hpp"
#include "base/fd.hpp"
#include "base/text.hpp"
#include "txn/apply_lock.hpp"
#include "txn/live_tree.hpp"
#include "txn/set_files.hpp"
#include "txn/small_file.hpp"

namespace nb::txn {
namespace {

using namespace std::chrono_literals;

constexpr auto k_poll = 100ms;
constexpr std::chrono::seconds k_ghost_wait = 90s;

// A file of /proc, which has no size; empty if it cannot be read.
std::string read_proc(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return {};
  std::array<std::byte, 4096> buffer{};
  const Result<std::size_t> got = read_full(fd.get(), buffer);
  return got ? std::string(as_text(ByteView(buffer).first(*got))) : std::string();
}

std::string this_boot() {
  std::string id = read_proc("/proc/sys/kernel/random/boot_id");
  id.erase(std::remove(id.begin(), id.end(), '\n'), id.end());
  return id.empty() ? "unknown" : id;
}

// Field 22 of proc(5)'s stat; the second one, the command's name, may hold anything, so count from its end. 0 if there
// is no such process.
std::uint64_t start_of(std::uint64_t pid) {
  const std::string stat = read_proc("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t name_end = stat.rfind(") ");
  if (name_end == std::string::npos) return 0;
  const std::vector<std::string_view> fields = split(std::string_view(stat).substr(name_end + 2), ' ');
  constexpr std::size_t k_start_field = 22 - 3;  // the first of these is field 3
  return fields.size() > k_start_field ? parse_u64(fields[k_start_field]).value_or(0) : 0;
}

std::string local_time(std::int64_t since_ns) {
  const auto seconds = static_cast<std::time_t>(since_ns / 1'000'000'000);
  std::tm parts{};
  std::array<char, 64> text{};
  if (::localtime_r(&seconds, &parts) == nullptr) return "?";
  return std::string(text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M", &parts));
}

std::optional<LockNote> read_note(const fs::Directory& control) {
  const Result<Bytes> bytes = read_small_file(control, k_lock_name);
  if (!bytes) return std::nullopt;
  Result<LockNote> note = decode_lock_note(*bytes);
  return note ? std::optional<LockNote>(std::move(*note)) : std::nullopt;
}

std::string describe(const std::optional<LockNote>& note) {
  if (!note) return "held by another process";
  return "held by " + note->client + ", process " + std::to_string(note->pid) + ", since " + local_time(note->since_ns);
}

// The note is of a forerunner of this very session on this machine.
bool may_be_ghost(const LockNote& holder, const LockNote& ours) {
  if (holder.token == TxId{} || holder.token != ours.token || holder.boot_id != this_boot()) return false;
  return holder.pid != 0 && holder.pid <= static_cast<std::uint64_t>(std::numeric_limits<pid_t>::max());
}

// The process that the note names, held so that its number cannot become another's between the look and the signal.
// Invalid if it has gone.
class HeldProcess {
 public:
  explicit HeldProcess(const LockNote& note)
      : m_pid(static_cast<pid_t>(note.pid)), m_fd(static_cast<int>(::syscall(SYS_pidfd_open, m_pid, 0))) {
    m_is_it = (m_fd.valid() || errno == ENOSYS) && start_of(note.pid) == note.pid_start;
  }
  [[nodiscard]] bool valid() const { return m_is_it; }
  void terminate() const {
    if (m_fd.valid()) {
      static_cast<void>(::syscall(SYS_pidfd_send_signal, m_fd.get(), SIGTERM, nullptr, 0));
    } else {
      static_cast<void>(::kill(m_pid, SIGTERM));  // kernels before 5.3 have nothing better
    }
  }

 private:
  pid_t m_pid;
  Fd m_fd;
  bool m_is_it = false;
};

Status write_note(fs::File& file, const LockNote& note) {
  const Bytes bytes = encode(note);
  NB_TRY(file.write_at(0, bytes));
  return file.set_size(bytes.size());
}

class GhostHunt {
 public:
  explicit GhostHunt(const LockNote& ours) : m_ours(ours) {}
  // Tells the ghost to go, once. True if the holder is one.
  bool chase(const std::optional<LockNote>& holder) {
    if (!holder || !may_be_ghost(*holder, m_ours)) return m_told != 0;
    const HeldProcess process(*holder);
    if (!process.valid()) return m_told != 0;
    if (m_told != holder->pid && holder->pid != static_cast<std::uint64_t>(::getpid())) process.terminate();
    m_told = holder->pid;
    return true;
  }

 private:
  const LockNote& m_ours;
  std::uint64_t m_told = 0;
};

// What stands in it is of no weight, so one that somebody took away is made anew.
Result<std::unique_ptr<fs::File>> open_lock(fs::Directory& control, fs::OpenMode mode) {
  auto file = control.open_file(k_lock_name, mode);
  if (file || file.error().code != Errc::not_found) return file;
  auto made = control.create_file(k_lock_name);
  // Another process may have been faster.
  return made || made.error().code != Errc::exists ? std::move(made) : control.open_file(k_lock_name, mode);
}

}  // namespace

Status pause_for_lock(Clock& clock, const GoOn& go_on) {
  if (go_on && !go_on()) return fail(Errc::interrupted, "while waiting for a lock");
  clock.pause(k_poll);
  return {};
}

LockNote lock_note_of_this_process(std::string client, const TxId& token, Clock& clock) {
  LockNote note;
  note.client = std::move(client);
  note.token = token;
  note.pid = static_cast<std::uint64_t>(::getpid());
  note.pid_start = start_of(note.pid);
  note.boot_id = this_boot();
  note.since_ns = clock.wall().time_since_epoch().count();
  return note;
}

Result<std::unique_ptr<fs::File>> take_writer_lock(fs::Directory& control, LockNote note, std::chrono::seconds wait,
                                                   Clock& clock, const GoOn& go_on, const OnWait& on_wait) {
  NB_TRY_ASSIGN(std::unique_ptr<fs::File> file, open_lock(control, fs::OpenMode::read_write));
  GhostHunt hunt(note);
  const SteadyTime begin = clock.steady();
  for (bool is_first = true;; is_first = false) {
    NB_TRY_ASSIGN(const bool locked, file->try_lock(fs::LockKind::exclusive, k_writer_byte));
    if (locked) break;
    const std::optional<LockNote> holder = read_note(control);
    const std::chrono::seconds limit = hunt.chase(holder) ? std::max(wait, k_ghost_wait) : wait;
    if (clock.steady() - begin >= limit) return fail(Errc::locked, describe(holder));
    if (is_first && on_wait) on_wait("waiting for the file set, which is " + describe(holder));
    NB_TRY(pause_for_lock(clock, go_on));
  }
  // On a full disk it goes without: what is to be done under the lock may be what makes room.
  Status noted = write_note(*file, note);
  if (!noted && noted.error().code != Errc::no_space) return tl::make_unexpected(std::move(noted).error());
  NB_FAILPOINT("txn.lock.taken");
  return file;
}

Result<std::unique_ptr<WriterLock>> WriterLock::acquire(FileSet& set, LockNote note, std::chrono::seconds wait,
                                                        Clock& clock, const GoOn& go_on, const OnWait& on_wait) {
  NB_TRY_ASSIGN(auto file, take_writer_lock(set.control(), std::move(note), wait, clock, go_on, on_wait));
  NB_TRY(set.check_in_place());
  NB_TRY(set.reload());
  return std::unique_ptr<WriterLock>(new WriterLock(std::move(file)));
}

Result<std::unique_ptr<ReaderLock>> ReaderLock::acquire(FileSet& set, std::chrono::seconds wait, Clock& clock,
                                                        const GoOn& go_on) {
  NB_TRY_ASSIGN(std::unique_ptr<fs::File> file, open_lock(set.control(), fs::OpenMode::read));
  const SteadyTime begin = clock.steady();
  while (true) {
    NB_TRY_ASSIGN(const bool locked, file->try_lock(fs::LockKind::shared, k_reader_byte));
    if (locked) break;
    if (clock.steady() - begin >= wait) return fail(Errc::locked, "a commit is being applied");
    NB_TRY(pause_for_lock(clock, go_on));
  }
  NB_TRY(set.check_in_place());
  NB_TRY(set.reload());
  return std::unique_ptr<ReaderLock>(new ReaderLock(std::move(file)));
}

Result<std::unique_ptr<fs::File>> take_apply_lock(FileSet& set, std::chrono::seconds wait, Clock& clock,
                                                  const GoOn& go_on) {
  NB_TRY_ASSIGN(std::unique_ptr<fs::File> file, open_lock(set.control(), fs::OpenMode::read_write));
  const SteadyTime begin = clock.steady();
  while (true) {
    NB_TRY_ASSIGN(const bool locked, file->try_lock(fs::LockKind::exclusive, k_reader_byte));
    if (locked) return file;
    if (clock.steady() - begin >= wait) return fail(Errc::readers_busy, "readers hold the file set");
    NB_TRY(pause_for_lock(clock, go_on));
  }
}

}  // namespace nb::txn
