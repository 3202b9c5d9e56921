// SPDX-License-Identifier: Apache-2.0
#include "base/fd.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "base/bytes.hpp"

namespace nb {

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    reset();
    m_fd = other.release();
  }
  return *this;
}

void Fd::reset() {
  if (m_fd >= 0) ::close(std::exchange(m_fd, -1));
}

Result<std::size_t> read_full(int fd, std::span<std::byte> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t n = ::read(fd, out.data() + done, out.size() - done);
    if (n == 0) break;
    if (n < 0) {
      if (errno == EINTR) continue;
      return fail_errno("read");
    }
    done += static_cast<std::size_t>(n);
  }
  return done;
}

Status write_full(int fd, std::span<const std::byte> data) {
  while (!data.empty()) {
    const ssize_t n = ::write(fd, data.data(), data.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      return fail_errno("write");
    }
    data = data.subspan(static_cast<std::size_t>(n));
  }
  return {};
}

std::optional<std::string> read_file_prefix(const std::string& path, std::size_t max_bytes) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd.valid()) return std::nullopt;
  std::string text;
  Bytes piece(std::min<std::size_t>(max_bytes, 65536));
  while (text.size() < max_bytes) {
    const std::size_t wanted = std::min(piece.size(), max_bytes - text.size());
    const auto got = read_full(fd.get(), std::span(piece).first(wanted));
    if (!got) return std::nullopt;
    text.append(as_text(ByteView(piece).first(*got)));
    if (*got < wanted) break;
  }
  return text;
}

std::vector<std::string> temporary_places() {
  std::vector<std::string> places{"/var/tmp", "/tmp"};
  const char* named = std::getenv("TMPDIR");
  if (named != nullptr && *named == '/') places.insert(places.begin(), named);
  return places;
}

Result<Fd> make_nameless_file(const std::string& directory) {
  Fd nameless(::open(directory.c_str(), O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600));
  if (nameless.valid()) return nameless;
  std::string name = directory + "/.nbackup-XXXXXX";
  Fd named(::mkostemp(name.data(), O_CLOEXEC));
  if (!named.valid()) return fail_errno("make a file in " + directory);
  if (::unlink(name.c_str()) != 0) return fail_errno("remove the name of " + name);
  return named;
}

}  // namespace nb
