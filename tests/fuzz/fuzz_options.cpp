// SPDX-License-Identifier: Apache-2.0
// The command line. The first byte chooses the command, NUL bytes separate the arguments. Whatever comes, parsing ends
// with settings or with a usage error, and filter rules that were taken are taken again by the other side.
#include <string>
#include <vector>

#include "base/text.hpp"
#include "cli/filters.hpp"
#include "cli/option_table.hpp"
#include "cli/parse.hpp"
#include "filter/rules.hpp"
#include "fuzz/fuzz.hpp"

using namespace nb;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto commands = cli::command_table();
  const auto command = commands[data[0] % commands.size()].id;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::vector<std::string> arguments;
  for (const std::string_view argument : split(text, '\0')) arguments.emplace_back(argument);

  const auto settings = cli::parse_arguments(command, arguments);
  if (!settings) {
    fuzz::require(settings.error().code == Errc::usage, "every parse error is a usage error");
    return 0;
  }
  if (!*settings) return 0;
  // No file is opened here.
  auto filters = (*settings)->filters;
  std::erase_if(filters, [](const cli::FilterOption& filter) { return filter.kind == cli::FilterKind::exclude_from; });
  const auto rules = cli::job_filter_rules(filters);
  if (!rules) return 0;
  filter::Rules again;
  for (const std::string& rule : *rules)
    fuzz::require(again.add_filter(rule).has_value(), "the other side takes the rule");
  fuzz::require(again.encoded() == *rules, "the rules are the same there");
  return 0;
}
