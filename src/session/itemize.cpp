// SPDX-License-Identifier: Apache-2.0
#include "session/itemize.hpp"

#include <algorithm>

namespace nb::session {
namespace {

constexpr std::string_view k_acl_prefix = "system.posix_acl_";

char type_letter(fs::FileType type) {
  switch (type) {
    case fs::FileType::regular: return 'f';
    case fs::FileType::directory: return 'd';
    case fs::FileType::symlink: return 'L';
    case fs::FileType::char_device:
    case fs::FileType::block_device: return 'D';
    case fs::FileType::fifo:
    case fs::FileType::socket: return 'S';
  }
  return '?';
}

fs::Xattrs only(const fs::Xattrs& all, bool acls) {
  fs::Xattrs some;
  std::copy_if(all.begin(), all.end(), std::back_inserter(some),
               [acls](const fs::Xattr& attr) { return attr.name.starts_with(k_acl_prefix) == acls; });
  return some;
}

}  // namespace

Difference compare_metadata(const fs::Metadata& wanted, const fs::Metadata& present) {
  Difference d;
  d.time = wanted.mtime != present.mtime;
  d.mode = wanted.mode != present.mode;
  d.uid = wanted.owner.uid != present.owner.uid;
  d.gid = wanted.owner.gid != present.owner.gid;
  if (wanted.xattrs != present.xattrs) {
    d.acl = only(wanted.xattrs, true) != only(present.xattrs, true);
    d.xattr = only(wanted.xattrs, false) != only(present.xattrs, false);
  }
  return d;
}

Difference compare_entries(const wire::Entry& wanted, const wire::Entry& present) {
  Difference d = compare_metadata(wanted.meta, present.meta);
  d.links = wanted.link_to != present.link_to;
  d.size = wanted.size != present.size;
  d.content = wanted.type != present.type || wanted.target != present.target || wanted.node != present.node ||
              (wanted.content && present.content && *wanted.content != *present.content);
  return d;
}

std::string item_new(fs::FileType type, Direction direction, bool is_hard_link) {
  char first = type == fs::FileType::regular ? static_cast<char>(direction) : 'c';
  if (is_hard_link) first = 'h';
  return std::string{first, type_letter(type)} + "+++++++++";
}

std::string item_changed(fs::FileType type, Direction direction, const Difference& d, bool transfers) {
  std::string item = "...........";
  item[0] = d.links ? 'h' : transfers ? static_cast<char>(direction) : d.content ? 'c' : '.';
  item[1] = type_letter(type);
  if (d.content) item[2] = 'c';
  if (d.size) item[3] = 's';
  if (d.time) item[4] = 't';
  if (d.mode) item[5] = 'p';
  if (d.uid) item[6] = 'o';
  if (d.gid) item[7] = 'g';
  if (d.acl) item[9] = 'a';
  if (d.xattr) item[10] = 'x';
  return item;
}

std::string item_deleted() { return "*deleting  "; }

std::string deleted_detail(fs::FileType type) { return type == fs::FileType::directory ? "/" : ""; }

std::string link_detail(const wire::Entry& entry) {
  if (entry.type == fs::FileType::symlink) return " -> " + entry.target;
  if (entry.link_to) return " => " + entry.link_to->str();
  return {};
}

}  // namespace nb::session
