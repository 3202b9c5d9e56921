// SPDX-License-Identifier: Apache-2.0
// cat: one file of a set, as it was, to standard output.
#include <algorithm>

#include "cli/look.hpp"
#include "cli/look_places.hpp"
#include "fs/metadata.hpp"

namespace nb::cli {
namespace {

constexpr std::size_t k_read_bytes = std::size_t{256} << 10;

tl::unexpected<Error> no_file(const RelPath& path, const wire::Entry& entry) {
  switch (entry.type) {
    case fs::FileType::directory: return fail(Errc::path, path.str() + ": a directory; list it with ls");
    case fs::FileType::symlink: return fail(Errc::path, path.str() + ": a symlink, to " + entry.target);
    default: return fail(Errc::path, path.str() + ": no regular file");
  }
}

Status write_zeros(std::uint64_t count, session::CommandOutput& output) {
  const std::string zeros(k_read_bytes, '\0');
  while (count > 0) {
    const std::size_t piece = static_cast<std::size_t>(std::min<std::uint64_t>(count, zeros.size()));
    NB_TRY(output.write(std::string_view(zeros).substr(0, piece)));
    count -= piece;
  }
  return {};
}

Status write_content(fs::File& file, std::uint64_t size, session::CommandOutput& output) {
  Bytes buffer(k_read_bytes);
  file.expect_sequential_read();
  const fs::ContentVisitor visitor{[&](fs::Extent hole) { return write_zeros(hole.length, output); },
                                   [&](std::uint64_t, ByteView bytes) { return output.write(as_text(bytes)); }};
  return fs::read_through(file, size, buffer, visitor);
}

}  // namespace

Result<int> run_cat(const HostJob& job, session::CommandOutput& output, Clock& clock) {
  NB_TRY_ASSIGN(session::SetReader reader, session::open_set(job.place, job.stay_within, job.client, clock));
  NB_TRY_ASSIGN(session::SetView view, open_view(reader, job.settings.at, clock));
  const RelPath path = reader.below.join(job.path);
  if (path.is_root()) return fail(Errc::path, "the set itself: a directory; list it with ls");
  NB_TRY_ASSIGN(const scan::Listed found, named(view.look_at(path)));
  const wire::Entry& entry = found.entries.front();
  if (entry.type != fs::FileType::regular) return no_file(path, entry);
  NB_TRY_ASSIGN(const auto file, view.open_file(path));
  NB_TRY(write_content(*file, entry.size, output));
  return 0;
}

}  // namespace nb::cli
