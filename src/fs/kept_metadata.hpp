// SPDX-License-Identifier: Apache-2.0
// Metadata that a file system or a process without privileges cannot represent is kept with the file, so that nothing
// is dropped and a later pull can apply it (docs/formats.md, "Kept metadata"):
//   user.rsync.%stat       "MODE MAJOR,MINOR UID:GID", mode in octal with the type bits, as rsync --fake-super writes it
//                          A device, FIFO, socket or symlink that could not be made or given its owner is a regular
//                          file with this attribute; a symlink's holds the target.
//   user.rsync.<name>      the attribute <name> that could not be set (or that itself has one of these names)
//                          Where <name> has no namespace (rsync's own user.rsync.%aacl and %dacl, which nbackup
//                          does not read: it keeps ACLs under their kernel names) or is set as well, the attribute
//                          is taken for what it literally is.
//   user.nbackup.mtime     "WANTED ACTUAL" in sec.nsec, where the file system rounds; valid while ACTUAL still holds
// Called by scan/ when it reads a file set and by session/ when it writes one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fs/directory.hpp"

namespace nb::fs {

// A file as it is meant to be, wherever its parts are kept.
struct Meant {
  FileType type = FileType::regular;
  Metadata meta;
  DeviceNumber node;  // device files
};

// What `stat` and `xattrs` of a file inside a set mean.
Meant meant_of(const Stat& stat, Xattrs xattrs);

// Attributes of a source that have one of the names above. In a file set they are escaped, so that they are not taken
// for what nbackup keeps. A tree that is to be none holds them as they are, like every other program.
enum class ReservedNames : std::uint8_t { escaped, as_they_are };

bool has_reserved_names(const Xattrs& xattrs);

struct Kept {
  Metadata literal;               // what the inode now really has
  bool aside = false;             // something is kept in an attribute instead of set
  std::vector<std::string> lost;  // kinds that could be neither set nor kept so: "owner", "xattr user.x"
  Xattrs beside;                  // of these, the attributes that were refused: to be kept somewhere else
};

// Gives `node`, a staged inode whose type is `actual`, everything `meant` asks for, and keeps aside what it refuses.
// Order: owner, attributes, mode, mtime, since each may be changed by the one before. For an ordinary user what that user
// could not read again gets u+r (directories u+rx) too, with the mode as meant kept aside. Only an error that is not about
// this file's abilities (EIO, ENOSPC) is returned as one. What would be kept under a name that an attribute of the source
// has as it is, is lost.
Result<Kept> keep_metadata(Node& node, const Stat& now, const Meant& meant, ReservedNames reserved);

}  // namespace nb::fs
