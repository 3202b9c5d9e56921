// SPDX-License-Identifier: Apache-2.0
// ls: what is in a file set, now or earlier.
#include <fmt/format.h>

#include "base/text.hpp"
#include "base/unreadable.hpp"
#include "cli/json_events.hpp"
#include "cli/look.hpp"
#include "cli/look_places.hpp"
#include "cli/status_table.hpp"

namespace nb::cli {
namespace {

char letter_of(fs::FileType type) {
  switch (type) {
    case fs::FileType::regular: return '-';
    case fs::FileType::directory: return 'd';
    case fs::FileType::symlink: return 'l';
    case fs::FileType::fifo: return 'p';
    case fs::FileType::socket: return 's';
    case fs::FileType::char_device: return 'c';
    case fs::FileType::block_device: return 'b';
  }
  return '?';
}

// "rwsr-xr-t", as ls(1) has it.
std::string mode_text(std::uint32_t mode) {
  constexpr std::string_view k_letters = "rwxrwxrwx";
  std::string text(k_letters);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((mode & (0400U >> i)) == 0) text[i] = '-';
  }
  const auto special = [&](std::uint32_t bit, std::size_t at, char letter) {
    if ((mode & bit) == 0) return;
    text[at] = text[at] == 'x' ? letter : static_cast<char>(letter - 'a' + 'A');
  };
  special(04000, 2, 's');
  special(02000, 5, 's');
  special(01000, 8, 't');
  return text;
}

std::string size_text(const wire::Entry& entry) {
  const bool is_device = entry.type == fs::FileType::char_device || entry.type == fs::FileType::block_device;
  if (is_device) return fmt::format("{}, {}", entry.node.major, entry.node.minor);
  return entry.type == fs::FileType::regular ? std::to_string(entry.size) : "-";
}

std::string time_text(const fs::Timestamp& time) {
  // Outside of these a time in nanoseconds does not fit; no real file is from there.
  constexpr std::int64_t k_most_seconds = 9'000'000'000;
  if (time.sec > k_most_seconds || time.sec < -k_most_seconds) return fmt::format("@{}", time.sec);
  return local_time(time.sec * 1'000'000'000);
}

class Lister {
 public:
  Lister(session::SetView& view, const HostJob& job, session::CommandOutput& output)
      : m_view(view), m_settings(job.settings), m_output(output), m_problems(output) {}

  Result<int> run(const RelPath& path) {
    if (path.is_root()) {
      NB_TRY(content(path));
      return m_problems.exit_code();
    }
    NB_TRY_ASSIGN(const scan::Listed found, named(m_view.look_at(path)));
    NB_TRY(m_problems.tell(found));
    const wire::Entry& entry = found.entries.front();
    const bool is_directory = entry.type == fs::FileType::directory;
    NB_TRY(is_directory ? content(path) : line(entry, path, RelPath().child(entry.name)));
    return m_problems.exit_code();
  }

 private:
  // A directory that is being gone through.
  struct Level {
    RelPath path;
    std::vector<wire::Entry> entries;
    std::size_t next = 0;
  };

  // What is in `top`, named from there, in protocol order.
  Status content(const RelPath& top) {
    NB_TRY_ASSIGN(Level first, level(top));
    std::vector<Level> levels;
    levels.push_back(std::move(first));
    while (!levels.empty()) {
      Level& at = levels.back();
      if (at.next == at.entries.size()) {
        levels.pop_back();
        continue;
      }
      wire::Entry& entry = at.entries[at.next++];
      const RelPath child = at.path.child(entry.name);
      const bool is_directory = entry.type == fs::FileType::directory;
      std::optional<Level> below;
      Attributes attributes = Attributes::known;
      if (is_directory && (m_settings.recursive || m_settings.long_form || m_settings.json)) {
        NB_TRY_ASSIGN(below, try_level(child, entry, attributes));
      }
      NB_TRY(line(entry, child, below_top(child, top), attributes));
      if (below && m_settings.recursive) levels.push_back(std::move(*below));
    }
    return {};
  }

  static RelPath below_top(const RelPath& path, const RelPath& top) {
    if (top.is_root()) return path;
    return RelPath::parse(std::string_view(path.str()).substr(top.str().size() + 1)).value();
  }

  Result<Level> level(const RelPath& path) {
    NB_TRY_ASSIGN(const auto directory, m_view.open_directory(path));
    NB_TRY_ASSIGN(scan::Listed listed, m_view.list(*directory, path));
    NB_TRY(m_problems.tell(listed));
    return Level{path, std::move(listed.entries)};
  }

  // A subdirectory, whose metadata go into `entry`. One that cannot be read is a problem of its own.
  Result<std::optional<Level>> try_level(const RelPath& path, wire::Entry& entry, Attributes& attributes) {
    attributes = Attributes::unknown;
    const auto directory = m_view.open_directory(path);
    if (!directory) return skip(path, directory.error());
    if (!m_settings.recursive) {
      const auto own = m_view.own_metadata(**directory, path);
      if (!own) return skip(path, own.error());
      entry.meta = *own;
      attributes = Attributes::known;
      return std::nullopt;
    }
    auto listed = m_view.list(**directory, path);
    if (!listed) return skip(path, listed.error());
    NB_TRY(m_problems.tell(*listed));
    if (listed->own) {
      entry.meta = std::move(*listed->own);
      attributes = Attributes::known;
    }
    return Level{path, std::move(listed->entries)};
  }

  Result<std::optional<Level>> skip(const RelPath& path, const Error& error) {
    NB_TRY(m_problems.tell(unreadable(error, "read " + path.str())));
    return std::nullopt;
  }

  // `shown`: from where the user began. A program gets the path in the set, which it can ask for.
  Status line(const wire::Entry& entry, const RelPath& path, const RelPath& shown,
              Attributes attributes = Attributes::known) {
    if (m_settings.json) return m_output.write(json_listed(entry, path, attributes) + "\n");
    std::string text = m_settings.long_form ? long_prefix(entry, attributes) : "";
    text += escape(shown.str());
    if (entry.type == fs::FileType::directory) text += '/';
    if (m_settings.long_form && entry.type == fs::FileType::symlink) text += " -> " + escape(entry.target);
    return m_output.write(text + "\n");
  }

  session::SetView& m_view;
  const Settings& m_settings;
  session::CommandOutput& m_output;
  Problems m_problems;
};

}  // namespace

std::string long_prefix(const wire::Entry& entry, Attributes attributes) {
  if (attributes == Attributes::unknown) {
    return fmt::format("{}????????? {:>11} {:>13} {:>16} ", letter_of(entry.type), "?", "?", "?");
  }
  const std::string owner = fmt::format("{}:{}", entry.meta.owner.uid, entry.meta.owner.gid);
  return fmt::format("{}{} {:>11} {:>13} {} ", letter_of(entry.type), mode_text(entry.meta.mode), owner,
                     size_text(entry), time_text(entry.meta.mtime));
}

Result<int> run_ls(const HostJob& job, session::CommandOutput& output, Clock& clock) {
  NB_TRY_ASSIGN(session::SetReader reader, session::open_set(job.place, job.stay_within, job.client, clock));
  NB_TRY_ASSIGN(session::SetView view, open_view(reader, job.settings.at, clock));
  return Lister(view, job, output).run(reader.below.join(job.path));
}

}  // namespace nb::cli
