// SPDX-License-Identifier: Apache-2.0
// Opening regular files without being fooled by what stands under their names, and the calls on them.
#include "fs/posix_file.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <limits>

namespace nb::fs::posix {
namespace {

// RWF_DONTCACHE of Linux 6.14: pages that this read brings in go again. Older headers do not name it.
constexpr int k_uncached = 0x80;

// Values over off_t's range reach us from records and peers; the kernel would take them for negative ones.
Result<off_t> file_offset(std::uint64_t value) {
  if (value > static_cast<std::uint64_t>(std::numeric_limits<off_t>::max())) {
    return fail(Errc::io, "offset too large", EOVERFLOW);
  }
  return static_cast<off_t>(value);
}

// EPERM answers O_NOATIME on files of others.
int open_without_atime(int fd, const char* name, int flags) {
  const int opened = ::openat(fd, name, flags | O_NOATIME);
  if (opened >= 0 || errno != EPERM) return opened;
  return ::openat(fd, name, flags);
}

// Another process holds a lease on the file (Samba does). A plain open waits until it is given up; it goes through a
// descriptor already known to be a regular file, since waiting on a FIFO would never end.
int open_leased(int fd, const char* name, int flags) {
  const Fd path(::openat(fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat raw {};
  if (!path.valid() || ::fstat(path.get(), &raw) != 0) return -1;
  if (!S_ISREG(raw.st_mode)) {
    errno = ENXIO;
    return -1;
  }
  return ::open(proc_path(path.get()).c_str(), flags & ~(O_NOFOLLOW | O_NONBLOCK));
}

}  // namespace

Result<std::unique_ptr<File>> open_file_at(int fd, std::string_view name, OpenMode mode) {
  const CName c_name(name);
  const int access = mode == OpenMode::read ? O_RDONLY : O_RDWR;
  const int flags = access | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  Fd opened(open_without_atime(fd, c_name.c_str(), flags));
  if (!opened.valid() && errno == EWOULDBLOCK) opened = Fd(open_leased(fd, c_name.c_str(), flags));
  if (!opened.valid()) {
    const int error = errno;
    // Sockets and devices without a driver.
    if (error == ENXIO || error == ENODEV) return fail(Errc::path, context("open: not a regular file", name), error);
    return fail_typed(context("open", name), error);
  }
  struct stat raw {};
  if (::fstat(opened.get(), &raw) != 0) return fail_errno(context("open", name));
  if (!S_ISREG(raw.st_mode)) return fail(Errc::path, context("open: not a regular file", name));
  return std::make_unique<PosixFile>(std::move(opened));
}

// pread, leaving the page cache as it was where it can.
ssize_t PosixFile::read_some(off_t offset, std::span<std::byte> out) {
  if (m_read_once) {
    const struct iovec where { out.data(), out.size() };
    const ssize_t got = ::preadv2(fd(), &where, 1, offset, k_uncached);
    if (got >= 0 || errno == EINTR) return got;
    m_read_once = false;  // not this kernel, or not this file system
  }
  return ::pread(fd(), out.data(), out.size(), offset);
}

Result<std::size_t> PosixFile::read_at(std::uint64_t offset, std::span<std::byte> out) {
  NB_TRY_ASSIGN(const off_t start, file_offset(offset));
  while (true) {
    const ssize_t got = read_some(start, out);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) return fail_errno("read");
  }
}

Status PosixFile::write_at(std::uint64_t offset, ByteView data) {
  while (!data.empty()) {
    NB_TRY_ASSIGN(const off_t start, file_offset(offset));
    const ssize_t put = ::pwrite(fd(), data.data(), data.size(), start);
    if (put < 0) {
      if (errno == EINTR) continue;
      return fail_errno("write");
    }
    if (put == 0) return fail(Errc::io, "write: nothing was taken", EIO);
    offset += static_cast<std::uint64_t>(put);
    data = data.subspan(static_cast<std::size_t>(put));
  }
  return {};
}

Status PosixFile::set_size(std::uint64_t size) {
  NB_TRY_ASSIGN(const off_t end, file_offset(size));
  while (::ftruncate(fd(), end) != 0) {
    if (errno != EINTR) return fail_errno("truncate");
  }
  return {};
}

// Never retried, whatever the error: the kernel reports a lost write once and then forgets it.
Status PosixFile::sync() {
  if (::fsync(fd()) != 0) return fail_errno("fsync");
  return {};
}

void PosixFile::start_writeback(Extent range) {
  static_cast<void>(::sync_file_range(fd(), static_cast<off_t>(range.offset), static_cast<off_t>(range.length),
                                      SYNC_FILE_RANGE_WRITE));
}

void PosixFile::expect_sequential_read() {
  static_cast<void>(::posix_fadvise(fd(), 0, 0, POSIX_FADV_SEQUENTIAL));
  m_read_once = true;
}

void PosixFile::forget_cached() { static_cast<void>(::posix_fadvise(fd(), 0, 0, POSIX_FADV_DONTNEED)); }

Result<std::optional<Extent>> PosixFile::next_data(std::uint64_t offset) {
  NB_TRY_ASSIGN(const off_t start, file_offset(offset));
  const off_t data = ::lseek(fd(), start, SEEK_DATA);
  if (data < 0) {
    if (errno == ENXIO) return std::optional<Extent>();
    if (errno == EINVAL || errno == EOPNOTSUPP) return rest_as_data(offset);
    return fail_errno("seek to data");
  }
  const off_t hole = ::lseek(fd(), data, SEEK_HOLE);
  if (hole < 0) {
    if (errno == ENXIO) return std::optional<Extent>();  // truncated meanwhile
    return fail_errno("seek to hole");
  }
  return Extent{static_cast<std::uint64_t>(data), static_cast<std::uint64_t>(hole - data)};
}

Result<std::optional<Extent>> PosixFile::rest_as_data(std::uint64_t offset) {
  NB_TRY_ASSIGN(const Stat now, stat());
  if (offset >= now.size) return std::optional<Extent>();
  return Extent{offset, now.size - offset};
}

Result<bool> PosixFile::clone_from(const File& from) {
  const auto* source = dynamic_cast<const PosixFile*>(&from);
  if (source == nullptr || ::ioctl(fd(), FICLONE, source->fd()) != 0) return false;
  // One that stopped half way, at a quota for instance, is a success to the kernel where no length was asked for.
  NB_TRY_ASSIGN(const Stat there, source->stat());
  NB_TRY_ASSIGN(const Stat here, stat());
  return here.size >= there.size;
}

Result<bool> PosixFile::clone_range(const File& from, Extent range, std::uint64_t offset) {
  const auto* source = dynamic_cast<const PosixFile*>(&from);
  // To the kernel a length of 0 means 'to the end'.
  if (source == nullptr || range.length == 0) return false;
  struct file_clone_range request {};
  request.src_fd = source->fd();
  request.src_offset = range.offset;
  request.src_length = range.length;
  request.dest_offset = offset;
  return ::ioctl(fd(), FICLONERANGE, &request) == 0;
}

Result<bool> PosixFile::punch_hole(Extent range) {
  if (range.length == 0) return true;
  NB_TRY_ASSIGN(const off_t start, file_offset(range.offset));
  NB_TRY_ASSIGN(const off_t length, file_offset(range.length));
  while (::fallocate(fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, start, length) != 0) {
    if (errno == EOPNOTSUPP || errno == ENOSYS) return false;
    if (errno != EINTR) return fail_errno("punch hole");
  }
  return true;
}

// A lease for reading is given where nobody writes. Whoever wants to write meanwhile waits until it is given back, and
// we would get a signal: one that does nothing.
bool PosixFile::may_have_writer() const {
  if (::fcntl(fd(), F_SETSIG, SIGURG) != 0 || ::fcntl(fd(), F_SETLEASE, F_RDLCK) != 0) return true;
  static_cast<void>(::fcntl(fd(), F_SETLEASE, F_UNLCK));
  return false;
}

Result<bool> PosixFile::try_lock(LockKind kind, std::uint64_t at) {
  NB_TRY_ASSIGN(const off_t start, file_offset(at));
  struct flock lock {};
  lock.l_type = kind == LockKind::shared ? F_RDLCK : F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = start;
  lock.l_len = 1;
  if (::fcntl(fd(), F_OFD_SETLK, &lock) == 0) return true;
  if (errno == EAGAIN || errno == EACCES) return false;
  return fail_errno("lock");
}

}  // namespace nb::fs::posix
