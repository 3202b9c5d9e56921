// SPDX-License-Identifier: Apache-2.0
#include "fs/kept_metadata.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <map>
#include <string_view>

#include "fs/posix_inode.hpp"

namespace nb::fs {
namespace {

constexpr std::string_view k_prefix = "user.rsync.";
constexpr std::string_view k_stat_name = "user.rsync.%stat";
constexpr std::string_view k_mtime_name = "user.nbackup.mtime";
constexpr std::uint32_t k_set_id_bits = 06000;
constexpr std::uint64_t k_max_target_bytes = 4095;

bool is_reserved(std::string_view name) { return name.starts_with(k_prefix) || name == k_mtime_name; }

std::uint32_t type_bits(FileType type) {
  switch (type) {
    case FileType::regular: return S_IFREG;
    case FileType::directory: return S_IFDIR;
    case FileType::symlink: return S_IFLNK;
    case FileType::fifo: return S_IFIFO;
    case FileType::socket: return S_IFSOCK;
    case FileType::char_device: return S_IFCHR;
    case FileType::block_device: return S_IFBLK;
  }
  return 0;
}

// The types that a regular file may stand for: an empty one, or for a symlink one that holds its target.
std::optional<FileType> special_type(std::uint32_t mode) {
  const std::optional<FileType> type = posix::type_from_mode(mode);
  const bool is_special = type && *type != FileType::regular && *type != FileType::directory;
  return is_special ? type : std::nullopt;
}

// Reads numbers out of a short text, each followed by one of the expected separators.
class NumberReader {
 public:
  explicit NumberReader(std::string_view text) : m_text(text) {}
  template <class Number>
  bool next(Number& out, int base, std::string_view separator) {
    const auto [end, error] = std::from_chars(m_text.data(), m_text.data() + m_text.size(), out, base);
    if (error != std::errc()) return false;
    m_text.remove_prefix(static_cast<std::size_t>(end - m_text.data()));
    if (!m_text.starts_with(separator)) return false;
    m_text.remove_prefix(separator.size());
    return true;
  }
  [[nodiscard]] bool at_end() const { return m_text.empty(); }

 private:
  std::string_view m_text;
};

struct StatText {
  std::uint32_t mode = 0;
  DeviceNumber node;
  Owner owner;
};

std::optional<StatText> parse_stat(std::string_view text) {
  StatText out;
  NumberReader in(text);
  const bool ok = in.next(out.mode, 8, " ") && in.next(out.node.major, 10, ",") && in.next(out.node.minor, 10, " ") &&
                  in.next(out.owner.uid, 10, ":") && in.next(out.owner.gid, 10, "");
  if (!ok || !in.at_end()) return std::nullopt;
  return out;
}

void apply_stat_text(std::string_view text, const Stat& stat, Meant& meant) {
  const auto kept = parse_stat(text);
  if (!kept) return;
  meant.meta.mode = kept->mode & 07777;
  meant.meta.owner = kept->owner;
  // An attribute alone must not turn a file with content into something else.
  const auto special = special_type(kept->mode);
  const bool is_target = special == FileType::symlink && stat.size > 0 && stat.size <= k_max_target_bytes;
  if (special && stat.type == FileType::regular && (is_target || (stat.size == 0 && special != FileType::symlink))) {
    meant.type = *special;
    meant.node = kept->node;
  }
}

void apply_mtime_text(std::string_view text, const Stat& stat, Meant& meant) {
  Timestamp wanted;
  Timestamp actual;
  NumberReader in(text);
  const bool ok = in.next(wanted.sec, 10, ".") && in.next(wanted.nsec, 10, " ") && in.next(actual.sec, 10, ".") &&
                  in.next(actual.nsec, 10, "");
  if (ok && in.at_end() && actual == stat.mtime && wanted.nsec < 1'000'000'000) meant.meta.mtime = wanted;
}

// What follows user.rsync. in the name of an attribute that was kept aside: a name with its namespace. rsync's own
// (%aacl, %dacl) and whatever else somebody put there have none.
bool names_attribute(std::string_view name) {
  const std::size_t dot = name.find('.');
  return dot != std::string_view::npos && dot != 0 && dot + 1 < name.size();
}

// Adds what was kept aside to the attributes that are set. One that cannot be ours, or whose name is set as well, stays
// what it literally is, so that every name comes once and nothing is dropped.
Xattrs with_kept(const Xattrs& literal, const Xattrs& kept) {
  std::map<std::string, std::string> all;
  for (const Xattr& attr : literal) all.emplace(attr.name, attr.value);
  for (const Xattr& attr : kept) {
    const std::string name = attr.name.substr(k_prefix.size());
    if (!names_attribute(name) || !all.emplace(name, attr.value).second) all.emplace(attr.name, attr.value);
  }
  Xattrs out;
  for (auto& [name, value] : all) out.push_back({name, std::move(value)});
  return out;
}

// True for refusals that say "this cannot be represented here", as against a disk that fails or is full.
bool is_refusal(const Error& error) {
  return error.code == Errc::not_permitted || error.code == Errc::unsupported || error.sys_errno == EINVAL ||
         error.sys_errno == ERANGE || error.sys_errno == E2BIG;
}

// Attributes up to this find room in an inode of any file system that is not full: ext4 with blocks of 1 KiB has the
// least.
constexpr std::size_t k_always_fits_bytes = 768;
constexpr std::string_view k_acl_name = "system.posix_acl_access";

// What this process must be able to do with the inode later: read it, and set attributes on it.
std::uint32_t needed_bits(FileType actual) {
  if (::geteuid() == 0) return 0;
  return actual == FileType::directory ? 0500 : 0400;
}

// One pass over a node, collecting what had to be kept aside.
class Keeper {
 public:
  Keeper(Node& node, const Stat& now, const Meant& meant, ReservedNames reserved)
      : m_node(node), m_now(now), m_meant(meant), m_reserved(reserved) {
    m_kept.literal.owner = now.owner;
    m_kept.literal.mode = now.mode;
    for (const Xattr& attr : meant.meta.xattrs) m_attribute_bytes += attr.name.size() + attr.value.size();
    m_kept.literal.mtime = now.mtime;
  }

  Result<Kept> run() {
    NB_TRY(owner());
    NB_TRY(xattrs());
    NB_TRY(mode());
    NB_TRY(mtime());
    std::sort(m_kept.literal.xattrs.begin(), m_kept.literal.xattrs.end());
    return std::move(m_kept);
  }

 private:
  Status owner() {
    m_stat_needed = m_now.type != m_meant.type;
    if (m_meant.meta.owner == m_now.owner) return {};
    const Status set = m_node.set_owner(m_meant.meta.owner);
    if (!set && !is_refusal(set.error())) return set;
    NB_TRY_ASSIGN(const bool taken, set ? has_taken_owner() : Result<bool>(false));
    if (taken) {
      m_kept.literal.owner = m_meant.meta.owner;
      return {};
    }
    m_stat_needed = true;
    m_owner_refused = true;
    return {};
  }

  // Some file systems (vfat quiet, ntfs-3g silent, bindfs) take an owner and do not keep it. mtime() looks at the end;
  // where set-id bits depend on it that is too late.
  [[nodiscard]] Result<bool> has_taken_owner() const {
    if ((m_meant.meta.mode & k_set_id_bits) == 0) return true;
    NB_TRY_ASSIGN(const Stat after, m_node.stat());
    return after.owner == m_meant.meta.owner;
  }

  // ext4 has one block for the attributes of an inode, and says ENOSPC when they do not fit.
  [[nodiscard]] bool is_refused(const Error& error) const {
    return is_refusal(error) || (error.sys_errno == ENOSPC && m_attribute_bytes > k_always_fits_bytes);
  }

  // An ordinary user needs write permission for this; the mode is set at the end in any case.
  Status set_attribute(const std::string& name, std::string_view value) {
    Status set = m_node.set_xattr(name, value);
    if (set || set.error().sys_errno != EACCES || m_now.type == FileType::symlink) return set;
    NB_TRY(m_node.set_mode(m_kept.literal.mode | 0200));
    set = m_node.set_xattr(name, value);
    NB_TRY(m_node.set_mode(m_kept.literal.mode));
    return set;
  }

  // An ACL has the mode in it: with the bits that we need it would be another one.
  [[nodiscard]] bool would_change(const Xattr& attr) const {
    const std::uint32_t needed = needed_bits(m_now.type);
    return attr.name == k_acl_name && (m_meant.meta.mode & needed) != needed;
  }

  Status xattrs() {
    for (const Xattr& attr : m_meant.meta.xattrs) {
      const bool changes = would_change(attr);
      m_acl_aside |= changes;
      const bool escaped = changes || (m_reserved == ReservedNames::escaped && is_reserved(attr.name));
      if (!escaped) {
        const Status set = set_attribute(attr.name, attr.value);
        if (set) {
          m_kept.literal.xattrs.push_back(attr);
          continue;
        }
        if (!is_refused(set.error())) return set;
      }
      NB_TRY_ASSIGN(const bool kept, aside(std::string(k_prefix) + attr.name, attr.value, "xattr " + attr.name));
      if (kept && !escaped) m_kept.aside = true;
    }
    return {};
  }

  [[nodiscard]] bool is_taken(std::string_view name) const {
    const auto& theirs = m_meant.meta.xattrs;
    return m_reserved == ReservedNames::as_they_are &&
           std::any_of(theirs.begin(), theirs.end(), [name](const Xattr& attr) { return attr.name == name; });
  }

  Result<bool> aside(const std::string& name, std::string_view value, const std::string& kind) {
    if (is_taken(name)) {
      m_kept.lost.push_back(kind);
      return false;
    }
    const Status set = set_attribute(name, value);
    if (set) {
      m_kept.literal.xattrs.push_back({name, std::string(value)});
      return true;
    }
    if (!is_refused(set.error())) return tl::make_unexpected(set.error());
    m_kept.lost.push_back(kind);
    m_kept.beside.push_back({name, std::string(value)});
    return false;
  }

  // Set-id bits for the wrong owner would be a gift to that owner; and a file that its keeper cannot read is lost.
  Status mode() {
    if (m_now.type == FileType::symlink) return m_stat_needed ? stat_text() : Status{};
    std::uint32_t wanted = m_meant.meta.mode;
    if (m_owner_refused) wanted &= ~k_set_id_bits;
    wanted |= needed_bits(m_now.type);
    // They were the mask of an ACL that is not there, and would let the group do more than it said.
    if (m_acl_aside) wanted &= ~std::uint32_t{0070};
    if (wanted != m_meant.meta.mode) m_stat_needed = true;
    if (m_stat_needed) NB_TRY(stat_text());
    // An ACL or a new owner may have changed the mode since m_now, so it is always set.
    const Status set = m_node.set_mode(wanted);
    if (!set && !is_refusal(set.error())) return set;
    if (set) m_mode_set = wanted;
    if (set) m_kept.literal.mode = wanted;
    if (!set && !m_stat_needed) NB_TRY(stat_text());
    return {};
  }

  Status stat_text() {
    const std::string text =
        fmt::format("{:o} {},{} {}:{}", type_bits(m_meant.type) | m_meant.meta.mode, m_meant.node.major,
                    m_meant.node.minor, m_meant.meta.owner.uid, m_meant.meta.owner.gid);
    NB_TRY_ASSIGN(const bool kept, aside(std::string(k_stat_name), text, "owner and special mode"));
    if (kept) m_kept.aside = true;
    return {};
  }

  Status mtime() {
    const Status set = m_node.set_mtime(m_meant.meta.mtime);
    if (!set && !is_refusal(set.error())) return set;
    NB_TRY_ASSIGN(const Stat after, m_node.stat());
    m_kept.literal.mtime = after.mtime;
    m_kept.literal.mode = after.mode;
    // FAT takes a mode that it does not keep.
    const bool kept_mode = !m_mode_set || after.mode == *m_mode_set;
    const bool kept_owner = after.owner == m_kept.literal.owner;
    m_kept.literal.owner = after.owner;
    if ((!kept_mode || !kept_owner) && !m_stat_needed) NB_TRY(stat_text());
    if (after.mtime == m_meant.meta.mtime) return {};
    const Timestamp& wanted = m_meant.meta.mtime;
    const std::string text = fmt::format("{}.{} {}.{}", wanted.sec, wanted.nsec, after.mtime.sec, after.mtime.nsec);
    NB_TRY_ASSIGN(const bool kept, aside(std::string(k_mtime_name), text, "modification time"));
    if (kept) m_kept.aside = true;
    return {};
  }

  Node& m_node;
  const Stat& m_now;
  const Meant& m_meant;
  const ReservedNames m_reserved;
  Kept m_kept;
  std::size_t m_attribute_bytes = 0;  // of all that is meant
  bool m_stat_needed = false;
  bool m_acl_aside = false;
  std::optional<std::uint32_t> m_mode_set;
  bool m_owner_refused = false;
};

}  // namespace

Meant meant_of(const Stat& stat, Xattrs xattrs) {
  Meant meant{stat.type, {stat.mode, stat.owner, stat.mtime, {}}, stat.node};
  Xattrs literal;
  Xattrs kept;
  for (Xattr& attr : xattrs) {
    if (attr.name == k_stat_name) {
      apply_stat_text(attr.value, stat, meant);
    } else if (attr.name == k_mtime_name) {
      apply_mtime_text(attr.value, stat, meant);
    } else {
      (attr.name.starts_with(k_prefix) ? kept : literal).push_back(std::move(attr));
    }
  }
  meant.meta.xattrs = with_kept(literal, kept);
  return meant;
}

bool has_reserved_names(const Xattrs& xattrs) {
  return std::any_of(xattrs.begin(), xattrs.end(), [](const Xattr& attr) { return is_reserved(attr.name); });
}

Result<Kept> keep_metadata(Node& node, const Stat& now, const Meant& meant, ReservedNames reserved) {
  return Keeper(node, now, meant, reserved).run();
}

}  // namespace nb::fs
