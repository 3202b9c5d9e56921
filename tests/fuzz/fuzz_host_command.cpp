// SPDX-License-Identifier: Apache-2.0
// What a peer asks for with a Command: its words, NUL bytes between them, and its time zone, which is the last of them.
// And what a user calls a place: each word is one. Whatever comes, what is taken stays inside its bounds.
#include <string>
#include <vector>

#include "base/text.hpp"
#include "cli/host_command.hpp"
#include "cli/option_table.hpp"
#include "cli/pool_path.hpp"
#include "cli/zone.hpp"
#include "fuzz/fuzz.hpp"

using namespace nb;

namespace {

void check_words(const std::vector<std::string>& words) {
  const auto request = cli::parse_host_words(words);
  if (!request) return;
  const cli::HostJob& job = request->job;
  fuzz::require(cli::command_row(request->row->id).name == words.front(), "the command that was named");
  fuzz::require(!has_reserved_name(job.path.str()), "no path leads to what nbackup keeps");
  fuzz::require(RelPath::parse(job.path.str()).has_value(), "no path leads out of the set");
  fuzz::require(!job.settings.rsh && !job.settings.log_file && !job.settings.root && !job.settings.remote_path,
                "no other option is reached");
  fuzz::require(!job.stay_within && job.client.empty(), "the server alone says what it is confined to");
}

void check_place(const std::string& text) {
  const auto pool = cli::parse_pool_path(text);
  if (!pool) return;
  fuzz::require(!has_reserved_name(pool->path.str()), "no path leads to what nbackup keeps");
  const auto again = cli::parse_pool_path(pool->display());
  // A set may have a name that only a place in its directory can say; then it is refused, not taken for another.
  if (again) fuzz::require(again->path == pool->path, "what is shown means the same");
}

void check_zone(const std::string& text) {
  if (!cli::is_zone_rule(text)) return;
  fuzz::require(text.front() != ':' && text.front() != '/' && text.find("..") == std::string::npos, "no file is named");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> words;
  for (const std::string_view word : split(text, '\0')) words.emplace_back(word);
  check_words(words);
  for (const std::string& word : words) check_place(word);
  check_zone(words.back());
  return 0;
}
