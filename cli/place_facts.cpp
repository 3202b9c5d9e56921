// SPDX-License-Identifier: Apache-2.0
#include "cli/place_facts.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/fd.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "fs/posix_directory.hpp"

namespace nb::cli {
namespace {

constexpr std::size_t k_most_mountinfo_bytes = 1 << 20;

std::string kind_of(int directory) {
  struct statx found {};
  if (::statx(directory, "", AT_EMPTY_PATH, STATX_MNT_ID, &found) != 0) return {};
  if ((found.stx_mask & STATX_MNT_ID) == 0) return {};
  return mount_kind_in(read_file_prefix("/proc/self/mountinfo", k_most_mountinfo_bytes).value_or(""), found.stx_mnt_id);
}

Result<Fd> nearest_directory(const std::string& path, PlaceFacts& facts) {
  facts.directory = path;
  facts.exists = true;
  while (true) {
    Fd fd(::open(facts.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (fd.valid()) return fd;
    if (errno != ENOENT || facts.directory == "/" || facts.directory == ".") return fail_errno(facts.directory);
    const std::size_t slash = facts.directory.find_last_of('/');
    facts.directory = slash == std::string::npos ? "." : slash == 0 ? "/" : facts.directory.substr(0, slash);
    facts.exists = false;
  }
}

// Two files, removed with the object.
class Trial {
 public:
  explicit Trial(int directory) : m_directory(directory) {
    std::array<std::byte, 8> unique{};
    if (random_bytes(unique)) m_name = ".nbackup-doctor-" + to_hex(unique) + "-a";
    m_file = Fd(::openat(directory, m_name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  }
  ~Trial() {
    if (!m_file.valid()) return;
    remove_second();
    ::unlinkat(m_directory, m_name.c_str(), 0);
  }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  [[nodiscard]] bool made() const { return m_file.valid(); }
  [[nodiscard]] bool takes_xattrs() const { return ::fsetxattr(m_file.get(), "user.nbackup.trial", "1", 1, 0) == 0; }
  [[nodiscard]] bool folds_case() const {
    std::string other = m_name;
    other.back() = 'A';
    struct stat st {};
    return ::fstatat(m_directory, other.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0;
  }
  [[nodiscard]] bool links() const {
    const bool made = ::linkat(m_directory, m_name.c_str(), m_directory, second().c_str(), 0) == 0;
    remove_second();
    return made;
  }
  [[nodiscard]] bool links_symbolically() const {
    const bool made = ::symlinkat("nowhere", m_directory, second().c_str()) == 0;
    remove_second();
    return made;
  }
  [[nodiscard]] bool clones() const {
    const Fd copy(::openat(m_directory, second().c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!copy.valid() || !write_full(m_file.get(), Bytes(4096, std::byte{1}))) return false;
    const bool cloned = ::ioctl(copy.get(), FICLONE, m_file.get()) == 0;
    remove_second();
    return cloned;
  }

 private:
  [[nodiscard]] std::string second() const { return m_name + "2"; }
  void remove_second() const { ::unlinkat(m_directory, second().c_str(), 0); }

  int m_directory;
  std::string m_name;
  Fd m_file;
};

std::string flag(bool value) { return value ? "1" : "0"; }
bool flag_in(const BenchFields& fields, std::string_view key) { return text_in(fields, key) == "1"; }

}  // namespace

std::string mount_kind_in(std::string_view mountinfo, std::uint64_t mount_id) {
  const std::string id = std::to_string(mount_id);
  for (const std::string_view line : split(mountinfo, '\n')) {
    if (line.substr(0, line.find(' ')) != id) continue;
    const std::size_t separator = line.find(" - ");  // ends the optional fields
    if (separator == std::string_view::npos) return {};
    const std::string_view rest = line.substr(separator + 3);
    return std::string(rest.substr(0, rest.find(' ')));
  }
  return {};
}

Result<PlaceFacts> facts_of_place(const std::string& path) {
  PlaceFacts facts;
  NB_TRY_ASSIGN(const Fd directory, nearest_directory(path, facts));
  NB_TRY_ASSIGN(const fs::Space space, fs::space_of(directory.get()));
  facts.kind = kind_of(directory.get());
  facts.free_bytes = space.free_bytes;
  facts.free_inodes = space.free_inodes;
  const Trial trial(directory.get());
  facts.writable = trial.made();
  if (!facts.writable) return facts;
  facts.xattrs = trial.takes_xattrs();
  facts.folds_case = trial.folds_case();
  facts.hard_links = trial.links();
  facts.symlinks = trial.links_symbolically();
  facts.reflinks = trial.clones();
  return facts;
}

BenchFields fields_of(const PlaceFacts& facts) {
  return {{"directory", escape(facts.directory)},
          {"exists", flag(facts.exists)},
          {"kind", escape(facts.kind)},
          {"free_bytes", std::to_string(facts.free_bytes)},
          {"free_inodes", std::to_string(facts.free_inodes)},
          {"writable", flag(facts.writable)},
          {"xattrs", flag(facts.xattrs)},
          {"reflinks", flag(facts.reflinks)},
          {"hard_links", flag(facts.hard_links)},
          {"symlinks", flag(facts.symlinks)},
          {"folds_case", flag(facts.folds_case)}};
}

Result<PlaceFacts> place_facts_in(const BenchFields& fields) {
  const auto free_bytes = parse_u64(text_in(fields, "free_bytes"));
  const auto free_inodes = parse_u64(text_in(fields, "free_inodes"));
  if (!free_bytes || !free_inodes) return fail(Errc::protocol, "bench: no number for the free space");
  return PlaceFacts{text_in(fields, "directory"),
                    flag_in(fields, "exists"),
                    text_in(fields, "kind"),
                    *free_bytes,
                    *free_inodes,
                    flag_in(fields, "writable"),
                    flag_in(fields, "xattrs"),
                    flag_in(fields, "reflinks"),
                    flag_in(fields, "hard_links"),
                    flag_in(fields, "symlinks"),
                    flag_in(fields, "folds_case")};
}

}  // namespace nb::cli
