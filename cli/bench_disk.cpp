// SPDX-License-Identifier: Apache-2.0
// Disks, for bench_speed.hpp. What is written is random: a file system that compresses or joins equal blocks gains
// nothing by it.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "base/fd.hpp"
#include "cli/bench_blocks.hpp"
#include "cli/bench_speed.hpp"
#include "fs/posix_directory.hpp"
#include "session/interrupt.hpp"

namespace nb::cli {
namespace {

constexpr std::uint64_t k_first_piece_bytes = 4 << 20;
constexpr std::uint64_t k_most_piece_bytes = 128 << 20;
constexpr double k_share_for_writing = 0.7;
constexpr std::uint64_t k_free_space_parts = 10;

double seconds_since(SteadyTime begin, const Clock& clock) {
  return std::chrono::duration<double>(clock.steady() - begin).count();
}

Result<std::uint64_t> bytes_allowed(int fd, std::uint64_t most_bytes) {
  NB_TRY_ASSIGN(const fs::Space space, fs::space_of(fd));
  const std::uint64_t allowed = std::min(most_bytes, space.free_bytes / k_free_space_parts);
  if (allowed < k_first_piece_bytes) return fail(Errc::no_space, "too little free space to measure a disk with");
  return allowed;
}

Status write_piece(int fd, std::uint64_t bytes, Bytes& block) {
  for (std::uint64_t done = 0; done < bytes; done += block.size()) {
    if (session::interrupt_requested()) return fail(Errc::interrupted, "");
    std::memcpy(block.data(), &done, sizeof done);  // no two blocks of a piece are equal
    NB_TRY(write_full(fd, block));
  }
  return ::fdatasync(fd) == 0 ? Status() : fail_errno("fdatasync");
}

// Pieces that double, each synced, as long as the next one is likely to fit in: writing alone would fill memory, and
// the sync after it could take minutes.
Result<Work> write_for(int fd, double seconds, std::uint64_t most_bytes, const Clock& clock) {
  Bytes block = random_block();
  Work work;
  const SteadyTime begin = clock.steady();
  std::uint64_t piece = k_first_piece_bytes;
  do {
    NB_TRY(write_piece(fd, piece, block));
    work.bytes += piece;
    work.seconds = seconds_since(begin, clock);
    piece = std::min(piece * 2, k_most_piece_bytes);
    const double expected = work.seconds / static_cast<double>(work.bytes) * static_cast<double>(piece);
    if (work.seconds + expected > seconds) break;
  } while (work.bytes + piece <= most_bytes);
  return work;
}

void forget_cached(int fd) { static_cast<void>(::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED)); }

Result<Work> read_for(int fd, double seconds, const Clock& clock) {
  Bytes block(k_bench_block_bytes);
  Work work;
  const SteadyTime begin = clock.steady();
  while (work.seconds < seconds) {
    if (session::interrupt_requested()) return fail(Errc::interrupted, "");
    NB_TRY_ASSIGN(const std::size_t count, read_full(fd, block));
    work.bytes += count;
    work.seconds = seconds_since(begin, clock);
    if (count < block.size()) break;
  }
  return work;
}

Status read_file_for(const std::string& path, double seconds_left, TreeWork& tree, const Clock& clock) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  struct stat st {};
  if (!fd.valid() || ::fstat(fd.get(), &st) != 0 || !S_ISREG(st.st_mode))
    return {};  // what cannot be read is no figure
  forget_cached(fd.get());
  auto work = read_for(fd.get(), seconds_left, clock);
  if (!work) return work.error().code == Errc::interrupted ? Status(tl::make_unexpected(work.error())) : Status();
  tree.work.bytes += work->bytes;
  ++tree.files;
  return {};
}
}  // namespace

Result<DiskWork> disk_speed(const std::string& directory, const DiskLimits& limits, const Clock& clock) {
  NB_TRY_ASSIGN(const Fd fd, make_nameless_file(directory));
  NB_TRY_ASSIGN(const std::uint64_t allowed, bytes_allowed(fd.get(), limits.most_bytes));
  const double seconds = std::chrono::duration<double>(limits.time).count();
  DiskWork work;
  NB_TRY_ASSIGN(work.written, write_for(fd.get(), seconds * k_share_for_writing, allowed, clock));
  forget_cached(fd.get());
  if (::lseek(fd.get(), 0, SEEK_SET) != 0) return fail_errno("lseek");
  NB_TRY_ASSIGN(work.read, read_for(fd.get(), seconds * (1 - k_share_for_writing), clock));
  return work;
}

Result<TreeWork> tree_read_speed(const std::string& directory, std::chrono::milliseconds time, const Clock& clock) {
  namespace fs = std::filesystem;
  const double seconds = std::chrono::duration<double>(time).count();
  TreeWork tree;
  const SteadyTime begin = clock.steady();
  const auto read_one = [&](const std::string& path) {
    auto done = read_file_for(path, seconds - seconds_since(begin, clock), tree, clock);
    tree.work.seconds = seconds_since(begin, clock);
    return done;
  };
  std::error_code error;
  if (fs::is_regular_file(directory, error)) {
    NB_TRY(read_one(directory));
    return tree;
  }
  fs::recursive_directory_iterator walk(directory, fs::directory_options::skip_permission_denied, error);
  if (error) return fail_errno("read " + directory, error.value());
  for (const fs::recursive_directory_iterator end; walk != end && tree.work.seconds < seconds; walk.increment(error)) {
    if (error) break;
    if (session::interrupt_requested()) return fail(Errc::interrupted, "");
    tree.work.seconds = seconds_since(begin, clock);
    if (walk->symlink_status(error).type() == fs::file_type::regular) NB_TRY(read_one(walk->path().string()));
  }
  return tree;
}

}  // namespace nb::cli
