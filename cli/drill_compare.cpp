// SPDX-License-Identifier: Apache-2.0
#include "base/text.hpp"
#include "cli/drill.hpp"
#include "fs/posix_directory.hpp"
#include "scan/lister.hpp"
#include "session/user_path.hpp"

namespace nb::cli {
namespace {

constexpr std::uint32_t k_owner_reads = 0600;

// Opens a file whatever modes were restored with it and what is above it: they are ours.
Result<std::unique_ptr<fs::File>> open_restored(fs::Directory& root, const RelPath& path) {
  NB_TRY_ASSIGN(std::unique_ptr<fs::Directory> at, root.reopen());
  const RelPath parent = path.parent();
  for (const std::string_view name : split(parent.str(), '/')) {
    if (name.empty()) break;  // no parent
    auto below = at->open_directory(name);
    if (!below && below.error().code == Errc::not_permitted) {
      NB_TRY_ASSIGN(const auto node, at->open_node(name));
      NB_TRY(node->set_mode(0700));
      below = at->open_directory(name);
    }
    NB_TRY_ASSIGN(at, std::move(below));
  }
  auto file = at->open_file(path.name(), fs::OpenMode::read);
  if (file || file.error().code != Errc::not_permitted) return file;
  NB_TRY_ASSIGN(const auto node, at->open_node(path.name()));
  NB_TRY(node->set_mode(k_owner_reads));
  return at->open_file(path.name(), fs::OpenMode::read);
}

bool is_file_of(const fs::Stat& stat, const SampledFile& expected) {
  return stat.type == fs::FileType::regular && stat.size == expected.size && stat.mtime == expected.mtime;
}

}  // namespace

DrillSource::DrillSource(const std::string& named, RelPath place)
    : m_path(named), m_name(session::entry_named_by(named).value_or(std::string())), m_place(std::move(place)) {
  while (m_path.size() > 1 && m_path.ends_with('/')) m_path.pop_back();
}

// Where in the source; nothing if the path is of another source.
std::optional<RelPath> DrillSource::below(const RelPath& in_pool) const {
  const RelPath pushed = m_place.join(in_pool);
  if (m_name.empty()) return pushed;
  const std::string& text = pushed.str();
  if (!text.starts_with(m_name + "/")) return std::nullopt;
  auto rest = RelPath::parse(std::string_view(text).substr(m_name.size() + 1));
  return rest ? std::optional(std::move(*rest)) : std::nullopt;
}

std::string DrillSource::path_of(const RelPath& in_pool) const {
  const auto path = below(in_pool);
  return m_path + (m_path.ends_with('/') ? "" : "/") + (path ? path->str() : "");
}

std::unique_ptr<fs::File> DrillSource::open(const RelPath& in_pool, const SampledFile& expected) const {
  const auto path = below(in_pool);
  if (!path) return nullptr;
  const auto root = fs::open_user_directory(m_path);
  if (!root) return nullptr;
  const auto parent = (*root)->open_directory_path(path->parent());
  if (!parent) return nullptr;
  const auto stat = (*parent)->stat_at(path->name());
  if (!stat || !is_file_of(*stat, expected)) return nullptr;
  auto file = (*parent)->open_file(path->name(), fs::OpenMode::read);
  return file ? std::move(*file) : nullptr;
}

Status DrillJudge::judge(fs::Directory& restored, const SampledFile& expected) {
  const auto file = open_restored(restored, expected.path);
  if (!file) {
    // The run has told why, if the other side could not read it.
    Error error = file.error();
    error.code = error.code == Errc::not_found ? Errc::not_found : Errc::unreadable;
    error.context = expected.path.str() + " (generation " + std::to_string(expected.generation) + ") was not restored";
    m_teller.on_problem(error);
    return {};
  }
  return compare(**file, expected);
}

Status DrillJudge::compare(fs::File& file, const SampledFile& expected) {
  NB_TRY_ASSIGN(const fs::Stat stat, file.stat());
  NB_TRY_ASSIGN(const hash::Digest digest, scan::content_digest(file, stat.size, m_secret));
  ++m_counts.files;
  m_counts.bytes += stat.size;
  if (stat.size != expected.size) {
    differs(expected, DifferenceFrom::size);
    return {};
  }
  if (expected.digest) ++m_counts.with_record;
  if (expected.digest && *expected.digest != digest) {
    differs(expected, DifferenceFrom::record);
    return {};
  }
  if (!compare_with_source(digest, expected) && !expected.digest) ++m_counts.with_nothing;
  return {};
}

// Whether there was a source to compare with.
bool DrillJudge::compare_with_source(const hash::Digest& digest, const SampledFile& expected) {
  const RelPath in_pool = m_above.join(expected.path);
  for (const DrillSource& source : m_sources) {
    const auto file = source.open(in_pool, expected);
    if (!file) continue;
    const auto other = scan::content_digest(*file, expected.size, m_secret);
    // One that is being written to is none to compare with.
    const auto after = file->stat();
    if (!other || !after || !is_file_of(*after, expected)) continue;
    ++m_counts.with_source;
    if (*other != digest) differs(expected, DifferenceFrom::source, source.path_of(in_pool));
    return true;
  }
  return false;
}

void DrillJudge::differs(const SampledFile& expected, DifferenceFrom from, std::string where) {
  ++m_counts.differing;
  m_teller.on_difference(expected, from, where);
}

}  // namespace nb::cli
