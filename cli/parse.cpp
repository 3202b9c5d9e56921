// SPDX-License-Identifier: Apache-2.0
#include "cli/parse.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>

#include "cli/option_table.hpp"

namespace nb::cli {
namespace {

constexpr std::string_view k_set = "true";  // what CLI11 has for a toggle that is given without a value

class HelpFormatter : public CLI::Formatter {
 public:
  explicit HelpFormatter(const CommandRow& row) : m_row(row) { column_width(28); }
  std::string make_usage(const CLI::App*, std::string) const override {
    const char* blank = *m_row.arguments == '\0' ? "" : " ";
    return fmt::format("Usage: nbackup {} [OPTION]...{}{}\n", m_row.name, blank, m_row.arguments);
  }

 private:
  const CommandRow& m_row;
};

using RowOf = std::map<const CLI::Option*, const OptionRow*>;

// CLI11 takes no part in positional arguments: it would read "[x]" as a list. They come back as extras.
RowOf register_options(CLI::App& app, CommandId command) {
  RowOf rows;
  for (const OptionRow& row : option_table()) {
    if ((row.commands & mask_of(command)) == 0) continue;
    CLI::Option* option = row.kind == OptionKind::toggle ? app.add_flag(row.names) : app.add_option(row.names);
    option->description(row.help)->group(row.group)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    if (row.kind == OptionKind::valued) option->option_text(row.value_name);
    rows.emplace(option, &row);
  }
  return rows;
}

bool is_run(CommandId command) {
  return command == CommandId::push || command == CommandId::pull || command == CommandId::verify ||
         command == CommandId::restore;
}

RowOf set_up(CLI::App& app, const CommandRow& row) {
  app.formatter(std::make_shared<HelpFormatter>(row));
  app.allow_extras();
  app.set_help_flag();
  RowOf rows = register_options(app, row.id);
  app.set_help_flag("--help", "show this")->group(is_run(row.id) ? "Output" : "Options");  // last in its group
  return rows;
}

// "--exclude=" would take the next argument as its value: a source would become a pattern.
Status refuse_empty_values(const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    if (argument == "--") break;
    if (argument.size() > 3 && argument.starts_with("--") && argument.find('=') == argument.size() - 1) {
      return fail(Errc::usage, argument + " needs a value");
    }
  }
  return {};
}

Result<std::vector<std::string>> positionals(const CLI::App& app) {
  std::vector<std::string> found;
  bool options_may_follow = true;
  for (std::string& extra : app.remaining()) {
    if (options_may_follow && extra == "--") {
      options_may_follow = false;
    } else if (options_may_follow && extra.size() > 1 && extra[0] == '-') {
      return fail(Errc::usage, fmt::format("no such option: {} (a name that begins with - goes after --)", extra));
    } else {
      found.push_back(std::move(extra));
    }
  }
  return found;
}

// CLI11 notes every occurrence in order; the n-th of an option belongs to its n-th result.
Status apply_in_order(const CLI::App& app, const RowOf& rows, Settings& settings) {
  std::map<const CLI::Option*, std::size_t> seen;
  for (const CLI::Option* option : app.parse_order()) {
    const auto row = rows.find(option);
    if (row == rows.end()) continue;
    const std::string& given = option->results().at(seen[option]++);
    const bool is_valued = row->second->kind == OptionKind::valued;
    // "--delete=false" would delete.
    if (!is_valued && given != k_set) return fail(Errc::usage, option->get_name() + " takes no value");
    // An unset variable of a script, as in --before "$CHECK": what it stands for would not be done, and nobody told.
    if (is_valued && given.empty()) return fail(Errc::usage, option->get_name() + " needs a value");
    auto applied = row->second->apply(settings, given);
    if (!applied) return wrap(std::move(applied).error(), option->get_name());
    settings.given.push_back(std::string(long_name(*row->second)) + (is_valued ? "=" + given : ""));
  }
  return {};
}

// Nobody is to get there by one slip.
Status check_security(const Settings& settings) {
  if (settings.security != ssh::Security::off || settings.allow_tampering) return {};
  return fail(
      Errc::usage,
      "--ssh-security=off (here or in the configuration file) lets others on the way change what is copied: give "
      "--allow-tampering too, or --ssh-security=integrity");
}

Status check_form(const Settings& settings) {
  if (!settings.json || !settings.csv) return {};
  return fail(Errc::usage, "--json and --csv are two forms of one result: give one of them");
}

Status check_needed(const Settings& settings) {
  constexpr const char* k_list = " WHEN; nbackup generations lists what there is";
  if (settings.command == CommandId::diff && !settings.from) {
    return fail(Errc::usage, std::string("diff needs --from") + k_list);
  }
  if (settings.command != CommandId::rollback || settings.to) return {};
  return fail(Errc::usage, std::string("rollback needs --to") + k_list);
}

Status check_count(const CommandRow& row, const Settings& settings) {
  const std::size_t count = settings.arguments.size();
  if (count >= row.fewest_arguments && count <= row.most_arguments) return {};
  return fail(Errc::usage,
              fmt::format("{} {} arguments: nbackup {} {}", row.name,
                          count < row.fewest_arguments ? "needs more" : "takes fewer", row.name, row.arguments));
}

// Nothing if --help is among them.
Result<std::optional<Settings>> parse_words(CommandId command, const std::vector<std::string>& words) {
  CLI::App app(command_row(command).help);
  const RowOf rows = set_up(app, command_row(command));
  try {
    std::vector<std::string> reversed(words.rbegin(), words.rend());  // as CLI11 wants it
    app.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    return std::optional<Settings>();
  } catch (const CLI::Error& error) {
    return fail(Errc::usage, error.what());
  }
  Settings settings;
  settings.command = command;
  NB_TRY_ASSIGN(settings.arguments, positionals(app));
  NB_TRY(apply_in_order(app, rows, settings));
  return std::optional<Settings>(std::move(settings));
}

Status add_configured(Settings& settings, const std::vector<std::string>& arguments, const Configured& configured) {
  auto words = configured(settings);
  if (!words) settings.config_error = words.error();
  if (!words || words->empty()) return {};
  words->insert(words->end(), arguments.begin(), arguments.end());
  NB_TRY_ASSIGN(auto both, parse_words(settings.command, *words));
  settings = std::move(*both);
  return {};
}

}  // namespace

std::optional<CommandId> find_command(std::string_view name) {
  for (const CommandRow& row : command_table()) {
    if (name == row.name) return row.id;
  }
  return std::nullopt;
}

Result<std::optional<Settings>> parse_arguments(CommandId command, const std::vector<std::string>& arguments,
                                                const Configured& configured) {
  NB_TRY(refuse_empty_values(arguments));
  NB_TRY_ASSIGN(std::optional<Settings> settings, parse_words(command, arguments));
  if (!settings) return settings;
  NB_TRY(check_count(command_row(command), *settings));
  if (configured) NB_TRY(add_configured(*settings, arguments, configured));
  NB_TRY(check_security(*settings));
  NB_TRY(check_form(*settings));
  NB_TRY(check_needed(*settings));
  return settings;
}

std::string command_help(CommandId command) {
  const CommandRow& row = command_row(command);
  CLI::App app(row.help);
  set_up(app, row);
  const char* promise =
      is_run(command) ? "Everything is kept by default: owner, mode, times, links, xattrs, ACLs, holes.\n" : "";
  // CLI11 ends a group with a blank line and begins the next with another.
  return CLI::detail::find_and_replace(app.help(), "\n\n\n", "\n\n") + promise + "The manual has it all: man nbackup\n";
}

std::string general_help() {
  std::string text =
      "nbackup copies trees like rsync, a whole run being one transaction.\n"
      "Usage: nbackup COMMAND [OPTION]... [ARGUMENT]...\n\nCommands:\n";
  for (const CommandRow& row : command_table()) text += fmt::format("  {:<12} {}\n", row.name, row.help);
  text +=
      "\nPlaces are as for rsync: /path, [user@]host:path, ssh://[user@]host[:port]/path;\n"
      "a slash after a source means its content.\n"
      "\n  nbackup COMMAND --help   the options of a command; also: nbackup help COMMAND\n"
      "  nbackup --version        version, protocol, libraries\n"
      "  man nbackup              the manual\n";
  return text;
}

}  // namespace nb::cli
