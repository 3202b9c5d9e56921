// SPDX-License-Identifier: Apache-2.0
#include "cli/host_command.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "cli/drill.hpp"
#include "cli/heal.hpp"
#include "cli/look.hpp"
#include "cli/option_table.hpp"
#include "cli/policy.hpp"
#include "cli/prune.hpp"
#include "cli/rollback.hpp"
#include "cli/scrub.hpp"
#include "cli/when.hpp"
#include "cli/zone.hpp"

namespace nb::cli {
namespace {

constexpr std::string_view k_prune_options =
    "--keep-last --keep-hourly --keep-daily --keep-weekly --keep-monthly --keep-yearly --keep-within --damaged "
    "--dry-run --json --quiet --verbose --wait --wait-readers";
constexpr std::string_view k_policy_options =
    "--keep-last --keep-hourly --keep-daily --keep-weekly --keep-monthly --keep-yearly --keep-within "
    "--max-delete --default --json --quiet --wait";

constexpr std::string_view k_scrub_options = "--bwlimit --json --part --quiet --time";

constexpr std::string_view k_heal_options = "--dry-run --from --json --quiet --wait --wait-readers";

constexpr std::array k_rows{
    HostCommandRow{CommandId::generations, Right::read, "--json", "", run_generations},
    HostCommandRow{CommandId::ls, Right::read, "--json --long --recursive", "--at", run_ls},
    HostCommandRow{CommandId::cat, Right::read, "", "--at", run_cat},
    HostCommandRow{CommandId::rollback, Right::decide, "--dry-run --itemize-changes --json --wait --wait-readers",
                   "--to", run_rollback, rollback_only_looks},
    HostCommandRow{CommandId::diff, Right::read, "--json", "--from --to", run_diff},
    HostCommandRow{CommandId::prune, Right::decide, k_prune_options, "", run_prune, prune_only_looks},
    HostCommandRow{CommandId::drill, Right::read, "--limit --sample", "--at", run_drill_host},
    HostCommandRow{CommandId::policy, Right::decide, k_policy_options, "", run_policy, policy_only_looks},
    HostCommandRow{CommandId::scrub, Right::add, k_scrub_options, "", run_scrub},
    HostCommandRow{CommandId::heal, Right::decide, k_heal_options, "", run_heal, heal_only_looks},
};

bool is_among(std::string_view name, std::string_view names) {
  const auto all = split(names, ' ');
  return std::find(all.begin(), all.end(), name) != all.end();
}

struct Option {
  std::string_view name;
  std::optional<std::string_view> value;
};

Option taken_apart(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos) return {word, std::nullopt};
  return {word.substr(0, equals), word.substr(equals + 1)};
}

// A peer's option, applied as the command line would.
Status apply_option(const HostCommandRow& row, std::string_view word, Settings& settings) {
  const Option option = taken_apart(word);
  if (is_among(option.name, row.options) || is_among(option.name, row.whens)) {
    for (const OptionRow& known : option_table()) {
      const bool is_it = (known.commands & mask_of(row.id)) != 0 && long_name(known) == option.name;
      if (!is_it || (known.kind == OptionKind::valued) != option.value.has_value()) continue;
      return known.apply(settings, std::string(option.value.value_or("")));
    }
  }
  return fail(Errc::unsupported, "option " + std::string(word) + " of " + command_row(row.id).name +
                                     ": not known to this nbackup, or not for clients");
}

Status put_paths(const std::vector<std::string>& words, std::size_t from, HostJob& job) {
  if (words.size() == from || words.size() > from + 2) return fail(Errc::protocol, "a place and a path are expected");
  job.place = words[from];
  if (words.size() == from + 1) return {};
  NB_TRY_ASSIGN(job.path, RelPath::parse(words[from + 1], Errc::protocol));
  if (!has_reserved_name(job.path.str())) return {};
  return fail(Errc::path, "what nbackup keeps beside the set is no part of it");
}

}  // namespace

std::span<const HostCommandRow> host_command_table() { return k_rows; }

Result<std::vector<std::string>> host_command_words(const HostCommandRow& row, const std::vector<std::string>& options,
                                                    const std::string& place, const RelPath& path, WallTime now) {
  std::vector<std::string> words{command_row(row.id).name};
  for (const std::string& word : options) {
    const Option option = taken_apart(word);
    if (is_among(option.name, row.options)) words.push_back(word);
    if (!is_among(option.name, row.whens)) continue;
    // "yesterday" is the user's, in the user's zone.
    auto moment = parse_when(option.value.value_or(""), now);
    if (!moment) return wrap(std::move(moment).error(), option.name);
    words.push_back(std::string(option.name) + "=" + when_text(*moment));
  }
  words.emplace_back("--");
  words.push_back(place);
  if (!path.is_root()) words.push_back(path.str());
  return words;
}

Result<HostRequest> parse_host_words(const std::vector<std::string>& words) {
  const auto end = std::find(words.begin(), words.end(), "--");
  if (words.empty() || end == words.begin() || end == words.end()) return fail(Errc::protocol, "no command");
  const auto row = std::find_if(k_rows.begin(), k_rows.end(),
                                [&](const HostCommandRow& each) { return words.front() == command_row(each.id).name; });
  if (row == k_rows.end()) {
    return fail(Errc::unsupported, "command " + words.front() + ": not known to this nbackup, or not for clients");
  }
  HostRequest request;
  request.row = &*row;
  request.job.settings.command = row->id;
  for (auto word = words.begin() + 1; word != end; ++word) NB_TRY(apply_option(*row, *word, request.job.settings));
  NB_TRY(put_paths(words, static_cast<std::size_t>(end - words.begin()) + 1, request.job));
  return request;
}

Status check_right(const HostCommandRow& row, const Settings& settings, const ServeRights& rights) {
  const std::string name = command_row(row.id).name;
  if (row.right_for(settings) == Right::read) return {};
  if (rights.read_only) return fail(Errc::read_only, name + ": this key may only read (serve --read-only)");
  if (rights.append_only && row.right_for(settings) != Right::add)
    return fail(Errc::read_only, name + ": this key may only add (serve --append-only)");
  return {};
}

Result<int> answer_host_command(const wire::Command& command, const ServeRights& rights, session::CommandOutput& output,
                                Clock& clock) {
  NB_TRY_ASSIGN(HostRequest request, parse_host_words(command.words));
  NB_TRY(check_right(*request.row, request.job.settings, rights));
  show_times_by(command.zone);
  request.job.stay_within = rights.root;
  request.job.client = command.client;
  request.job.columns = command.columns;
  return request.row->run(request.job, output, clock);
}

}  // namespace nb::cli
