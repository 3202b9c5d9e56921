// SPDX-License-Identifier: Apache-2.0
#include "scan/lister.hpp"

#include <algorithm>
#include <cerrno>

#include "base/failpoint.hpp"
#include "base/unreadable.hpp"
#include "fs/metadata.hpp"

namespace nb::scan {
namespace {

constexpr std::size_t k_read_bytes = std::size_t{256} << 10;
constexpr std::uint64_t k_hole_step_bytes = std::uint64_t{1} << 40;  // some 30 ms of hashing
constexpr std::size_t k_attribute_overhead_bytes = 16;               // at most, of their encoding

Status check(const GoOn& go_on) { return !go_on || go_on() ? Status{} : fail(Errc::interrupted, ""); }

// The target of a symlink that is kept as a file (fs/kept_metadata.hpp).
Result<std::string> kept_target(const fs::Directory& directory, const std::string& name, std::uint64_t size) {
  NB_TRY_ASSIGN(const auto file, directory.open_file(name, fs::OpenMode::read));
  std::string target(static_cast<std::size_t>(size), '\0');
  NB_TRY_ASSIGN(const std::size_t got, fs::read_fully(*file, 0, std::as_writable_bytes(std::span(target))));
  if (got != target.size() || target.find('\0') != std::string::npos) return fail(Errc::unreadable, "symlink " + name);
  return target;
}

// A symlink's mode means nothing and differs between systems.
void normalise(wire::Entry& entry) {
  if (entry.type == fs::FileType::symlink) entry.meta.mode = 0777;
}

}  // namespace

Result<fs::Metadata> Lister::own_metadata(Reading& reading) const {
  NB_TRY_ASSIGN(reading.stat, reading.directory.stat());
  reading.out.device = reading.stat.device;
  NB_TRY_ASSIGN(fs::Xattrs xattrs, reading.directory.xattrs());
  xattrs = with_aside(std::move(xattrs), reading.aside, reading.path, reading.stat.type);
  return meant_under(m_options.view, reading.stat, std::move(xattrs)).meta;
}

Status Lister::fill(Reading& reading, const fs::Stat& stat, wire::Entry& entry) const {
  if (entry.type == fs::FileType::directory) return {};
  fs::Directory& directory = reading.directory;
  fs::Xattrs xattrs;
  if (reading.attributes == Attributes::unknown) {
    NB_TRY_ASSIGN(xattrs, directory.xattrs_at(entry.name));
    reading.met_attributes |= !xattrs.empty();
  }
  if (reading.aside != nullptr) {
    xattrs = with_aside(std::move(xattrs), reading.aside, reading.path.child(entry.name), stat.type);
  }
  fs::Meant file = meant_under(m_options.view, stat, std::move(xattrs));
  entry.type = file.type;
  entry.meta = std::move(file.meta);
  normalise(entry);
  if (entry.type == fs::FileType::regular) {
    if (stat.size > wire::k_max_file_bytes) return fail(Errc::io, "", EFBIG);
    entry.size = stat.size;
  }
  if (entry.type == fs::FileType::char_device || entry.type == fs::FileType::block_device) entry.node = file.node;
  if (entry.type == fs::FileType::symlink) {
    NB_TRY_ASSIGN(entry.target, stat.type == fs::FileType::symlink ? directory.read_link(entry.name)
                                                                   : kept_target(directory, entry.name, stat.size));
  }
  if (entry.type == fs::FileType::regular && m_options.compare == Compare::content) {
    NB_TRY_ASSIGN(entry.content, content_of(directory, stat, entry.name));
  }
  return {};
}

// Recorded only if the file was in one state from before the first byte to after the last.
Result<hash::Digest> Lister::content_of(fs::Directory& directory, const fs::Stat& stat, const std::string& name) const {
  DigestMemory* memory = m_options.digests;
  if (memory != nullptr) {
    const auto known = memory->find(directory, stat, *m_options.secret);
    if (known) return *known;
  }
  NB_TRY_ASSIGN(const auto file, directory.open_file(name, fs::OpenMode::read));
  const WallTime began = memory != nullptr ? memory->begin(*file, stat) : WallTime{};
  NB_TRY_ASSIGN(const hash::Digest digest, content_digest(*file, stat.size, *m_options.secret, m_options.go_on));
  if (memory == nullptr) return digest;
  NB_TRY_ASSIGN(const fs::Stat after, file->stat());
  if (fs::is_same_state(stat, after)) memory->record(*file, {after, digest, began}, *m_options.secret);
  return digest;
}

Status Lister::add(Reading& reading, const fs::Stat& stat, std::string_view name) {
  const RelPath& path = reading.path;
  Listed& out = reading.out;
  wire::Entry entry;
  entry.name = name;
  entry.type = stat.type;
  NB_TRY(fill(reading, stat, entry));
  // Last: what gets no entry must not become the first of its group. A path is made for those who need one, not for
  // every file of a tree.
  if (HardLinks::is_member(stat)) {
    NB_TRY_ASSIGN(entry.link_to, m_links.first_of(stat, path.child(name)));
  }
  const Status limited = limit_attributes(entry.meta);
  if (!limited) out.problems.push_back({limited.error().code, 0, path.child(name).str() + limited.error().context});
  out.entries.push_back(std::move(entry));
  return {};
}

// A name that has gone since the directory was listed leaves no gap, any other error does.
void Lister::miss(Reading& reading, std::string_view name, Error error) {
  Listed& out = reading.out;
  std::string path = reading.path.child(name).str();
  if (error.code == Errc::not_found) {
    out.vanished.push_back(std::move(path));
    return;
  }
  out.problems.push_back(unreadable(std::move(error), "read " + path));
  out.partial = true;
}

// In this or in its whole path there are more bytes than Linux has elsewhere.
void Lister::miss_too_long(Reading& reading, const std::string& name) {
  reading.out.problems.push_back({Errc::unreadable, ENAMETOOLONG, "read " + reading.path.str() + "/" + name});
  reading.out.partial = true;
}

void Lister::add_named(Reading& reading, std::string_view name) {
  const auto stat = reading.directory.stat_at(name);
  if (!stat) return miss(reading, name, stat.error());
  const Status done = add(reading, *stat, name);
  if (!done) return miss(reading, name, done.error());
  reading.out.stats.push_back(*stat);
}

// What is missed because of an interrupt says nothing of the files.
Status Lister::add_each(Reading& reading, const std::vector<fs::NamedType>& names) {
  reading.out.stats.reserve(names.size());
  for (const fs::NamedType& item : names) {
    add_named(reading, item.name);
    NB_TRY(check(m_options.go_on));
  }
  return {};
}

// Leaves in `names` what was looked at with success, and puts what was seen into out.stats.
void Lister::look_at(Reading& reading, std::vector<fs::NamedType>& names) {
  reading.out.stats.reserve(names.size());
  std::erase_if(names, [&](const fs::NamedType& item) {
    const auto stat = reading.directory.stat_at(item.name);
    if (stat) {
      reading.out.stats.push_back(*stat);
    } else {
      miss(reading, item.name, stat.error());
    }
    return !stat;
  });
}

// out.stats keeps what gets an entry.
void Lister::fill_looked(Reading& reading, const std::vector<fs::NamedType>& names) {
  std::vector<fs::Stat>& stats = reading.out.stats;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Status done = add(reading, stats[i], names[i].name);
    if (done) {
      if (kept != i) stats[kept] = stats[i];
      ++kept;
    } else {
      miss(reading, names[i].name, done.error());
    }
  }
  stats.resize(kept);
}

void Lister::add_remembered(Reading& reading, std::vector<fs::NamedType> names) {
  const WallTime began = m_options.bare->now();
  look_at(reading, names);
  const auto files = fingerprint_of(reading.stat, {names, reading.out.stats});
  const bool is_bare = files && m_options.bare->is_bare(reading.directory, reading.stat, *files);
  if (is_bare) reading.attributes = Attributes::none;
  fill_looked(reading, names);
  const bool is_whole = reading.out.problems.empty() && reading.out.vanished.empty();
  if (!files || is_bare || reading.met_attributes || !is_whole) return;
  m_options.bare->record(reading.directory, {reading.stat, *files, reading.out.stats, began});
}

bool Lister::is_own_file(const fs::Stat& directory, std::string_view name) const {
  const auto& own = m_options.own_files;
  return own && directory.device == own->device && directory.inode == own->inode && name.starts_with(own->prefix);
}

bool Lister::excludes(const RelPath& path, const fs::NamedType& name) const {
  return m_options.rules != nullptr && !m_options.rules->empty() &&
         m_options.rules->check(path.child(name.name), name.type) == filter::Verdict::exclude;
}

void Lister::choose(Reading& reading, std::vector<fs::NamedType>& names, const Hides& hides) const {
  std::erase_if(names, [&](const fs::NamedType& item) {
    if (is_reserved_name(item.name)) {
      reading.out.holds_set |= item.name == k_control_name && item.type == fs::FileType::directory;
      return true;
    }
    if (is_own_file(reading.stat, item.name)) return true;
    if (reading.path.str().size() + 1 + item.name.size() > k_max_path_bytes) {
      miss_too_long(reading, item.name);
      return true;
    }
    return excludes(reading.path, item) || (hides && hides(item));
  });
}

Result<Listed> Lister::read(fs::Directory& directory, const RelPath& path, KeptAside* aside, const Hides& hides) {
  Reading reading{directory, path, aside};
  Listed& out = reading.out;
  NB_TRY_ASSIGN(out.own, own_metadata(reading));
  const Status limited = limit_attributes(*out.own);
  if (!limited) out.problems.push_back({limited.error().code, 0, path.str() + "/" + limited.error().context});
  NB_TRY_ASSIGN(fs::Directory::Names listed, directory.list_all());
  NB_FAILPOINT("scan.names_read");
  for (const std::string& name : listed.too_long) miss_too_long(reading, name);
  std::vector<fs::NamedType>& names = listed.usable;
  choose(reading, names, hides);
  out.entries.reserve(names.size());
  // Where contents are read, nothing is looked at long before its content.
  if (m_options.bare != nullptr && m_options.compare == Compare::stat) {
    add_remembered(reading, std::move(names));
  } else {
    NB_TRY(add_each(reading, names));
  }
  return std::move(out);
}

Result<std::optional<Listed>> Lister::read_one(fs::Directory& directory, const RelPath& path, std::string_view name,
                                               KeptAside* aside) {
  Reading reading{directory, path, aside};
  add_named(reading, name);
  if (reading.out.entries.empty() && reading.out.problems.empty()) return std::nullopt;
  return std::move(reading.out);
}

Status limit_attributes(fs::Metadata& meta) {
  std::size_t bytes = 0;
  bool fits = true;
  for (const fs::Xattr& attr : meta.xattrs) {
    fits = fits && attr.value.size() <= wire::k_max_xattr_value_bytes;
    bytes += attr.name.size() + attr.value.size() + k_attribute_overhead_bytes;
  }
  if (fits && bytes <= wire::k_max_xattrs_bytes) return {};
  meta.xattrs.clear();
  return fail(Errc::metadata_lost, ": more attributes than the 1 MiB that one entry may carry, or one over 64 KiB");
}

fs::Xattrs with_aside(fs::Xattrs xattrs, KeptAside* aside, const RelPath& path, fs::FileType type) {
  if (aside == nullptr) return xattrs;
  // One that is set as well is newer: whatever could set it would not have kept it.
  for (fs::Xattr& kept : aside->find(path, type)) {
    const auto same = [&kept](const fs::Xattr& each) { return each.name == kept.name; };
    if (std::none_of(xattrs.begin(), xattrs.end(), same)) xattrs.push_back(std::move(kept));
  }
  std::sort(xattrs.begin(), xattrs.end());
  return xattrs;
}

fs::Meant meant_under(MetadataView view, const fs::Stat& stat, fs::Xattrs xattrs) {
  if (view == MetadataView::kept) return fs::meant_of(stat, std::move(xattrs));
  return {stat.type, {stat.mode, stat.owner, stat.mtime, std::move(xattrs)}, stat.node};
}

hash::Digest listing_digest(const std::optional<fs::Metadata>& own, const std::vector<wire::Entry>& entries,
                            const hash::Secret& secret) {
  hash::FileHasher hasher = begin_listing_digest(own, secret);
  add_to_listing_digest(hasher, entries);
  return hasher.finish();
}

hash::FileHasher begin_listing_digest(const std::optional<fs::Metadata>& own, const hash::Secret& secret) {
  Bytes encoded;
  ByteWriter out(encoded);
  if (own) {
    wire::encode_metadata(out, *own);
  } else {
    out.u8(0);
  }
  hash::FileHasher hasher(secret);
  hasher.update(encoded);
  return hasher;
}

void add_to_listing_digest(hash::FileHasher& hasher, const std::vector<wire::Entry>& entries) {
  Bytes encoded;
  ByteWriter out(encoded);
  for (const wire::Entry& entry : entries) wire::encode_entry(out, entry);
  hasher.update(encoded);
}

Result<hash::Digest> content_digest(fs::File& file, std::uint64_t size, const hash::Secret& secret, const GoOn& go_on) {
  file.expect_sequential_read();
  return cached_content_digest(file, size, secret, go_on);
}

Result<hash::Digest> cached_content_digest(fs::File& file, std::uint64_t size, const hash::Secret& secret,
                                           const GoOn& go_on) {
  hash::FileHasher hasher(secret);
  std::vector<std::byte> buffer(k_read_bytes);
  const fs::ContentVisitor visitor{[&](fs::Extent hole) -> Status {
                                     for (std::uint64_t done = 0; done < hole.length; done += k_hole_step_bytes) {
                                       hasher.update_zeros(std::min(k_hole_step_bytes, hole.length - done));
                                       NB_TRY(check(go_on));
                                     }
                                     return {};
                                   },
                                   [&](std::uint64_t, ByteView bytes) {
                                     hasher.update(bytes);
                                     return check(go_on);
                                   }};
  NB_TRY(fs::read_through(file, size, buffer, visitor));
  return hasher.finish();
}

}  // namespace nb::scan
