// SPDX-License-Identifier: Apache-2.0
#include "cli/host_options.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <optional>
#include <set>

#include "base/fd.hpp"
#include "base/text.hpp"
#include "cli/bench_link.hpp"
#include "cli/option_table.hpp"
#include "cli/user_files.hpp"
#include "ssh/destination.hpp"
#include "ssh/host_pattern.hpp"

namespace nb::cli {
namespace {

constexpr std::size_t k_max_bytes = 1 << 20;
constexpr std::string_view k_home = "~/";

struct Directive {
  std::string name;  // in lower case
  std::string value;
};

// "retry 3", "retry=3", "retry = 3". The shell that would take quotes and comments away has not seen it.
Result<Directive> parse_directive(std::string_view text) {
  const std::size_t end = std::min(text.find_first_of(" \t="), text.size());
  std::string_view value = trim(text.substr(end));
  if (value.starts_with('=')) value = trim(value.substr(1));
  if (value.starts_with('#') || value.find(" #") != std::string_view::npos) {
    return fail(Errc::usage, "a comment needs a line of its own");
  }
  const bool quoted =
      value.size() > 1 && value.front() == value.back() && (value.front() == '"' || value.front() == '\'');
  if (quoted) return fail(Errc::usage, "a value is not quoted");
  Directive directive{std::string(text.substr(0, end)), std::string(value)};
  for (char& c : directive.name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return directive;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!(text = trim(text)).empty()) {
    const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return words;
}

bool has_name(const OptionRow& row, std::string_view name) {
  const std::vector<std::string_view> names = split(row.names, ',');
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view other) { return other.starts_with("--") && other.substr(2) == name; });
}

// Bench is there to find better ones than those that are set.
bool takes(CommandId command, const OptionRow& row) {
  const std::string_view name = long_name(row);
  const bool algorithms = name == "--ciphers" || name == "--macs" || name == "--kex";
  return (row.commands & mask_of(command)) != 0 && !(command == CommandId::bench && algorithms);
}

// What a shell would do: files of this machine may lie in the user's home.
Result<std::string> expand_home(const OptionRow& row, std::string value) {
  const std::string_view name = long_name(row);
  if ((name != "--ssh-config" && name != "--rsh") || !value.starts_with(k_home)) return value;
  NB_TRY_ASSIGN(const std::string home, home_directory());
  return home + value.substr(k_home.size() - 1);
}

// An option is one row, or several with different help.
std::vector<const OptionRow*> rows_named(std::string_view name) {
  std::vector<const OptionRow*> rows;
  for (const OptionRow& row : option_table()) {
    if (is_of_connection(row) && has_name(row, name)) rows.push_back(&row);
  }
  return rows;
}

Status check_value(const OptionRow& row, const std::string& value) {
  if (row.kind == OptionKind::toggle && !value.empty()) return fail(Errc::usage, "takes no value");
  if (row.kind == OptionKind::valued && value.empty()) return fail(Errc::usage, "needs a value");
  Settings tried;
  return row.apply(tried, value);
}

// Reads line by line; remembers for which hosts, and what was said already.
class Reader {
 public:
  Reader(std::string_view host, CommandId command) : m_host(host), m_command(command) {}

  Status take(std::string_view text) {
    NB_TRY_ASSIGN(const Directive directive, parse_directive(text));
    if (directive.name == "host") return begin_block(directive.value);
    if (!m_in_block) return fail(Errc::usage, "'" + directive.name + "' stands before the first Host");
    const std::vector<const OptionRow*> rows = rows_named(directive.name);
    if (rows.empty()) {
      return fail(Errc::usage,
                  "'" + directive.name +
                      "' is no option that a host can have (the manual's 'Connection and waiting' lists them)");
    }
    for (const OptionRow* row : rows) {
      const auto checked = check_value(*row, directive.value);
      if (!checked) return wrap(checked.error(), directive.name);
      if (m_matches && takes(m_command, *row)) NB_TRY(add(*row, directive.value));
    }
    return {};
  }
  // Of options that contradict each other the last wins: the first of the file comes last.
  std::vector<std::string> words() && { return {m_words.rbegin(), m_words.rend()}; }

 private:
  Status begin_block(std::string_view patterns) {
    const std::vector<std::string_view> words = words_of(patterns);
    if (words.empty()) return fail(Errc::usage, "Host needs a name, or * for all");
    m_in_block = true;
    m_matches = ssh::matches_any(words, m_host);
    return {};
  }
  Status add(const OptionRow& row, const std::string& value) {
    if (!m_said.insert(&row).second) return {};
    NB_TRY_ASSIGN(const std::string expanded, expand_home(row, value));
    m_words.push_back(std::string(long_name(row)) + (row.kind == OptionKind::valued ? "=" + expanded : ""));
    return {};
  }

  std::string_view m_host;
  CommandId m_command;
  bool m_in_block = false;
  bool m_matches = false;
  std::set<const OptionRow*> m_said;
  std::vector<std::string> m_words;
};

// The host of the first argument that names one.
std::optional<std::string> host_of(const Settings& settings) {
  const bool bare = settings.command == CommandId::bench || settings.command == CommandId::doctor ||
                    settings.command == CommandId::deploy;
  if (bare && !settings.arguments.empty()) {
    const auto place = parse_bench_place(settings.arguments.front());
    return place ? std::optional(place->host.name) : std::nullopt;
  }
  for (const std::string& argument : settings.arguments) {
    const auto place = ssh::parse_location(argument);
    if (place && place->host) return place->host->name;
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
  const std::string why = foreign ? ": belongs to somebody else, and it can name programs to run"
                                  : ": others may write it, and it can name programs to run; chmod go-w helps";
  return fail(Errc::usage, path + why);
}

// Nothing where there is no such file, or the home directory is another user's, as after su.
Result<std::optional<std::string>> read_config(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const bool none = errno == ENOENT || errno == ENOTDIR || (errno == EACCES && !config_is_named());
  if (!fd.valid() && none) return std::optional<std::string>();
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
    if (!taken) return wrap(taken.error(), fmt::format("{}:{}", name, number));
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
