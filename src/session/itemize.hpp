// SPDX-License-Identifier: Apache-2.0
// rsync's itemized change strings ("<f.st......"), from what differs. Pure.
#pragma once

#include <string>

#include "wire/messages.hpp"

namespace nb::session {

enum class Direction : char { sent = '<', received = '>' };

// How two versions of a file differ. `content` also stands for a symlink's target and a device's number.
struct Difference {
  bool content = false;
  bool size = false;
  bool time = false;
  bool mode = false;
  bool uid = false;
  bool gid = false;
  bool acl = false;
  bool xattr = false;
  bool links = false;  // belongs to another group of hard links
  [[nodiscard]] bool any() const { return content || size || time || links || metadata_only(); }
  [[nodiscard]] bool metadata_only() const { return mode || uid || gid || acl || xattr; }
};

// `wanted` against what the sink has. Entries of different types differ in content.
Difference compare_entries(const wire::Entry& wanted, const wire::Entry& present);
Difference compare_metadata(const fs::Metadata& wanted, const fs::Metadata& present);

std::string item_new(fs::FileType type, Direction direction, bool is_hard_link);
// `transfers`: content crosses the wire ('<' or '>'), as against a change made where it is ('.', or 'c', or 'h').
std::string item_changed(fs::FileType type, Direction direction, const Difference& difference, bool transfers);
std::string item_deleted();
// What stands after its name: a directory has no other sign of it.
std::string deleted_detail(fs::FileType type);

// What stands after the name of a new or changed entry: where a link leads.
std::string link_detail(const wire::Entry& entry);

}  // namespace nb::session
