// SPDX-License-Identifier: Apache-2.0
// Fd: a file descriptor owned by exactly one object. Move-only; every Fd we make is close-on-exec.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace nb {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : m_fd(fd) {}
  Fd(Fd&& other) noexcept : m_fd(std::exchange(other.m_fd, -1)) {}
  Fd& operator=(Fd&& other) noexcept;
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  [[nodiscard]] int get() const { return m_fd; }
  [[nodiscard]] bool valid() const { return m_fd >= 0; }
  // Gives up ownership.
  [[nodiscard]] int release() { return std::exchange(m_fd, -1); }
  // Closes now; an error of close(2) is lost, so writers sync first.
  void reset();

 private:
  int m_fd = -1;
};

// Reads until `out` is full or the end; returns the bytes read. EINTR is retried.
Result<std::size_t> read_full(int fd, std::span<std::byte> out);
// Writes all of `data`; EINTR and short writes are retried.
Status write_full(int fd, std::span<const std::byte> data);
// The file at `path`, of a longer one the first `max_bytes`; nothing where it cannot be read.
std::optional<std::string> read_file_prefix(const std::string& path, std::size_t max_bytes);
// Where temporary files go, the best first: TMPDIR where that is an absolute path, then /var/tmp and /tmp, for they may be
// large.
std::vector<std::string> temporary_places();
// An empty file in `directory` that has no name and goes with its descriptor; for reading and writing. Where the file
// system has no such files (FAT, many by network) it has a name for a moment.
Result<Fd> make_nameless_file(const std::string& directory);

}  // namespace nb
