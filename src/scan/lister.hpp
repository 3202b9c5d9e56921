// SPDX-License-Identifier: Apache-2.0
// Lister: reads one directory into the entries that the protocol compares. Source and sink use the same one, so that an
// unchanged directory has the same digest on both sides. Never lists a reserved name (base/rel_path.hpp), and nothing
// that the filter excludes.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "base/go_on.hpp"
#include "filter/rules.hpp"
#include "fs/directory.hpp"
#include "fs/kept_metadata.hpp"
#include "hash/file_hasher.hpp"
#include "hash/secret.hpp"
#include "scan/bare_memory.hpp"
#include "scan/digest_memory.hpp"
#include "scan/hard_links.hpp"
#include "scan/kept_aside.hpp"
#include "scan/own_files.hpp"
#include "wire/messages.hpp"

namespace nb::scan {

enum class MetadataView : std::uint8_t {
  plain,  // a tree of the user's: attributes are what they are
  kept,   // inside a file set: kept metadata is read back into its place
};
enum class Compare : std::uint8_t { stat, content };

struct ListerOptions {
  MetadataView view = MetadataView::plain;
  Compare compare = Compare::stat;       // content: every regular file is read and hashed
  const filter::Rules* rules = nullptr;  // none: everything; outlives the lister
  const hash::Secret* secret = nullptr;  // outlives the lister
  DigestMemory* digests = nullptr;       // none: every content is read; outlives the lister
  BareMemory* bare = nullptr;            // none: every file is asked for attributes; outlives the lister
  GoOn go_on = {};                       // none: always
  std::optional<OwnFiles> own_files = {};
};

struct Listed {
  std::optional<fs::Metadata> own;    // of the directory; absent where only names in it were asked for
  std::uint64_t device = 0;           // with `own`: the file system that the directory lies on
  std::vector<wire::Entry> entries;   // sorted by name
  std::vector<fs::Stat> stats;        // of the same entries, as the file system has them
  std::vector<std::string> vanished;  // paths that were gone between the list of names and the look at them
  std::vector<Error> problems;        // names that could not be read; entries lacks them
  bool holds_set = false;             // it is the root of a file set
  bool partial = false;               // some name may be missing: nothing may be deleted here
};

class Lister {
 public:
  explicit Lister(ListerOptions options) : m_options(options) {}

  // Of names that are there and not excluded: not to be listed, because another source has them. Such a name is no
  // member of a group of hard links.
  using Hides = std::function<bool(const fs::NamedType&)>;
  // The whole directory. An error means that it could not be listed at all; Errc::interrupted, not to its end. `aside`:
  // what is kept beside this tree, or null.
  Result<Listed> read(fs::Directory& directory, const RelPath& path, KeptAside* aside = nullptr,
                      const Hides& hides = {});
  // Whether the rules leave out what has this name in the directory `path`.
  [[nodiscard]] bool excludes(const RelPath& path, const fs::NamedType& name) const;
  // One name of it; nothing if it is not there. The rules are not asked.
  Result<std::optional<Listed>> read_one(fs::Directory& directory, const RelPath& path, std::string_view name,
                                         KeptAside* aside = nullptr);

 private:
  // What is known of the files of a directory before they are asked.
  enum class Attributes : std::uint8_t { unknown, none };
  // A directory being read, and where its list goes.
  struct Reading {
    fs::Directory& directory;
    const RelPath& path;
    KeptAside* aside = nullptr;
    Listed out = {};
    fs::Stat stat = {};  // of the directory; only where it is read whole
    Attributes attributes = Attributes::unknown;
    bool met_attributes = false;
  };
  Result<fs::Metadata> own_metadata(Reading& reading) const;
  [[nodiscard]] bool is_own_file(const fs::Stat& directory, std::string_view name) const;
  // Takes out what is not listed.
  void choose(Reading& reading, std::vector<fs::NamedType>& names, const Hides& hides) const;
  // Each name is looked at and filled in before the next.
  Status add_each(Reading& reading, const std::vector<fs::NamedType>& names);
  // All names are looked at first, so that what is remembered of the directory can be asked.
  void add_remembered(Reading& reading, std::vector<fs::NamedType> names);
  static void look_at(Reading& reading, std::vector<fs::NamedType>& names);
  void fill_looked(Reading& reading, const std::vector<fs::NamedType>& names);
  Status add(Reading& reading, const fs::Stat& stat, std::string_view name);
  void add_named(Reading& reading, std::string_view name);
  static void miss(Reading& reading, std::string_view name, Error error);
  static void miss_too_long(Reading& reading, const std::string& name);
  Status fill(Reading& reading, const fs::Stat& stat, wire::Entry& entry) const;
  Result<hash::Digest> content_of(fs::Directory& directory, const fs::Stat& stat, const std::string& name) const;
  ListerOptions m_options;
  HardLinks m_links;
};

// Takes away all attributes if there are more than a message may carry, and says so (metadata_lost); the context goes
// behind the path.
Status limit_attributes(fs::Metadata& meta);

// What is kept for an inode: its attributes, and what lies beside the tree (`aside` may be null).
fs::Xattrs with_aside(fs::Xattrs xattrs, KeptAside* aside, const RelPath& path, fs::FileType type);

// What an inode stands for under `view`, from what it literally has.
fs::Meant meant_under(MetadataView view, const fs::Stat& stat, fs::Xattrs xattrs);

// The digest that a DirectoryMessage carries: over `own` and `entries` as encoded.
hash::Digest listing_digest(const std::optional<fs::Metadata>& own, const std::vector<wire::Entry>& entries,
                            const hash::Secret& secret);
// The same in steps, for a listing that comes in parts; `secret` outlives the hasher.
hash::FileHasher begin_listing_digest(const std::optional<fs::Metadata>& own, const hash::Secret& secret);
void add_to_listing_digest(hash::FileHasher& hasher, const std::vector<wire::Entry>& entries);

// Reads a whole file front to back and hashes it; holes are not read. `go_on` may be empty.
Result<hash::Digest> content_digest(fs::File& file, std::uint64_t size, const hash::Secret& secret,
                                    const GoOn& go_on = {});
// The same of one that is read again soon: it may stay in the page cache.
Result<hash::Digest> cached_content_digest(fs::File& file, std::uint64_t size, const hash::Secret& secret,
                                           const GoOn& go_on = {});

}  // namespace nb::scan
