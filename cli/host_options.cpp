// SPDX-License-Identifier: Apache-2.0
#include "cli/host_options.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <set>

#include "base/fd.hpp"
#include "base/text.hpp"
#include "cli/option_table.hpp"
#include "cli/user_files.hpp"
#include "ssh/destination.hpp"
#include "ssh/host_pattern.hpp"

namespace nb::cli {
namespace {

constexpr std::size_t k_max_bytes = 1 << 20;
constexpr std::string_view k_blanks = " \t";

struct Line {
  std::string_view name;
  std::string_view value;
};

// "retry 3", "retry=3", "retry = 3".
Line take_apart(std::string_view text) {
  const std::size_t end = std::min(text.find_first_of(" \t="), text.size());
  std::string_view value = trim(text.substr(end));
  if (value.starts_with('=')) value = trim(value.substr(1));
  return {text.substr(0, end), value};
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!(text = trim(text)).empty()) {
    const std::size_t end = std::min(text.find_first_of(k_blanks), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return words;
}

bool has_name(const OptionRow& row, std::string_view name) {
  const std::vector<std::string_view> names = split(row.names, ',');
  return std::any_of(names.begin(), names.end(), [&](std::string_view other) {
    return other.starts_with("--") && other.substr(2) == name;
  });
}

// An option is one row, or several with different help.
std::vector<const OptionRow*> rows_named(std::string_view name) {
  std::vector<const OptionRow*> rows;
  for (const OptionRow& row : option_table()) {
    if (is_of_connection(row) && has_name(row, name)) rows.push_back(&row);
  }
  return rows;
}

Status check_value(const OptionRow& row, const Line& line) {
  if (row.kind == OptionKind::toggle && !line.value.empty()) {
    return fail(Errc::usage, std::string(line.name) + " takes no value");
  }
  if (row.kind == OptionKind::valued && line.value.empty()) {
    return fail(Errc::usage, std::string(line.name) + " needs a value");
  }
  Settings tried;
  return row.apply(tried, std::string(line.value));
}

// Reads line by line; remembers for which hosts, and what was said already.
class Reader {
 public:
  Reader(std::string_view host, CommandId command) : m_host(host), m_command(command) {}

  Status take(std::string_view text) {
    const Line line = take_apart(text);
    if (equals_ignoring_case(line.name, "Host")) return begin_block(line.value);
    if (!m_in_block) return fail(Errc::usage, "'" + std::string(line.name) + "' stands before the first Host");
    const std::vector<const OptionRow*> rows = rows_named(line.name);
    if (rows.empty()) {
      return fail(Errc::usage, "'" + std::string(line.name) + "' is no option of the connection (see the manual)");
    }
    for (const OptionRow* row : rows) {
      NB_TRY(check_value(*row, line));
      if (m_matches && (row->commands & mask_of(m_command)) != 0) add(*row, line.value);
    }
    return {};
  }
  std::vector<std::string> words() && { return std::move(m_words); }

 private:
  Status begin_block(std::string_view patterns) {
    const std::vector<std::string_view> words = words_of(patterns);
    if (words.empty()) return fail(Errc::usage, "Host needs a name, or * for all");
    m_in_block = true;
    m_matches = ssh::matches_any(words, m_host);
    return {};
  }
  void add(const OptionRow& row, std::string_view value) {
    if (!m_said.insert(&row).second) return;
    m_words.push_back(std::string(long_name(row)) + (row.kind == OptionKind::valued ? "=" + std::string(value) : ""));
  }

  std::string_view m_host;
  CommandId m_command;
  bool m_in_block = false;
  bool m_matches = false;
  std::set<const OptionRow*> m_said;
  std::vector<std::string> m_words;
};

// The host of the first argument that names one; `bench`, `doctor` and `deploy` take its bare name.
std::optional<std::string> host_of(const Settings& settings) {
  const bool bare = settings.command == CommandId::bench || settings.command == CommandId::doctor ||
                    settings.command == CommandId::deploy;
  for (const std::string& argument : settings.arguments) {
    const auto place = ssh::parse_location(argument);
    if (place && place->host) return place->host->name;
    const auto host = ssh::parse_host(argument);
    if (bare && host) return host->name;
  }
  return std::nullopt;
}

// As ssh checks its own.
Status check_owner(int fd, const std::string& path) {
  struct stat st {};
  if (::fstat(fd, &st) != 0) return fail_errno("stat " + path);
  const bool others_write = (st.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  const bool foreign = st.st_uid != 0 && st.st_uid != ::geteuid();
  if (!S_ISREG(st.st_mode) || (!others_write && !foreign)) return {};
  return fail(Errc::usage, path + (foreign ? ": belongs to somebody else" : ": others may write it") +
                               ", and it can name programs to run; nothing was done");
}

// Nothing where there is no such file.
Result<std::optional<std::string>> read_config(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid() && (errno == ENOENT || errno == ENOTDIR)) return std::optional<std::string>();
  if (!fd.valid()) return fail_errno("read " + path);
  NB_TRY(check_owner(fd.get(), path));
  std::string text(k_max_bytes + 1, '\0');
  NB_TRY_ASSIGN(const std::size_t size, read_full(fd.get(), std::as_writable_bytes(std::span(text))));
  if (size > k_max_bytes) return fail(Errc::usage, path + ": longer than 1 MiB");
  text.resize(size);
  return std::optional<std::string>(std::move(text));
}

}  // namespace

Result<std::vector<std::string>> options_for(std::string_view text, const std::string& name, std::string_view host,
                                             CommandId command) {
  Reader reader(host, command);
  std::size_t number = 0;
  for (const std::string_view raw : split(text, '\n')) {
    ++number;
    const std::string_view line = trim(raw);
    if (line.empty() || line.starts_with('#')) continue;
    const Status taken = reader.take(line);
    if (!taken) return fail(Errc::usage, fmt::format("{}:{}: {}", name, number, taken.error().context));
  }
  return std::move(reader).words();
}

Result<std::vector<std::string>> configured_options(const Settings& settings) {
  const auto host = host_of(settings);
  if (!host) return std::vector<std::string>();
  const auto path = config_path();
  if (!path) return std::vector<std::string>();  // nobody's home
  NB_TRY_ASSIGN(const auto text, read_config(*path));
  if (!text) return std::vector<std::string>();
  return options_for(*text, *path, *host, settings.command);
}

}  // namespace nb::cli
