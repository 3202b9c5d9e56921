// SPDX-License-Identifier: Apache-2.0
// generations: what a file set keeps, oldest first, so that the newest stands above the prompt.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "cli/json_events.hpp"
#include "cli/look.hpp"
#include "cli/look_places.hpp"
#include "cli/quantities.hpp"
#include "cli/status_table.hpp"
#include "session/set_reader.hpp"
#include "txn/history_check.hpp"

namespace nb::cli {
namespace {

constexpr std::size_t k_gap = 2;
constexpr std::size_t k_narrowest_client = 6;  // the heading

enum Column : std::size_t { number, time, client, created, changed, deleted, bytes, count };
using Line = std::array<std::string, Column::count>;

Line heading() { return {"NUMBER", "TIME", "CLIENT", "NEW", "CHANGED", "DELETED", "BYTES"}; }

Line line_of(const txn::Generation& generation) {
  const txn::RunAccount& account = generation.account;
  return {std::to_string(generation.number),
          generation.time_ns == 0 ? "-" : local_time(generation.time_ns),
          account.client.empty() ? "-" : escape(account.client),
          format_count(account.created),
          format_count(account.changed),
          format_count(account.deleted),
          format_bytes(account.new_bytes)};
}

using Widths = std::array<std::size_t, Column::count>;

Widths widths_of(const std::vector<Line>& lines, std::size_t columns) {
  Widths widths{};
  std::size_t sum = k_gap * (Column::count - 1);
  for (std::size_t i = 0; i < Column::count; ++i) {
    for (const Line& line : lines) widths.at(i) = std::max(widths.at(i), line.at(i).size());
    sum += widths.at(i);
  }
  if (columns == 0 || sum <= columns) return widths;
  const std::size_t excess = std::min(sum - columns, widths[client] - std::min(widths[client], k_narrowest_client));
  widths[client] -= excess;
  return widths;
}

std::string text_of(const Line& line, const Widths& widths) {
  std::string text;
  for (std::size_t i = 0; i < Column::count; ++i) {
    const std::string_view cell = std::string_view(line.at(i)).substr(0, widths.at(i));
    const bool is_text = i == time || i == client;
    text += is_text ? fmt::format("{:<{}}", cell, widths.at(i)) : fmt::format("{:>{}}", cell, widths.at(i));
    if (i + 1 < Column::count) text.append(k_gap, ' ');
  }
  return text + "\n";
}

// The kept ones; where nothing is kept, the live one is all there is. Of one whose account is damaged the number is left.
Result<std::vector<txn::Generation>> generations_of(const session::SetReader& reader, Problems& problems) {
  std::vector<txn::Generation> generations;
  for (const std::uint64_t kept : reader.history.numbers()) {
    auto generation = reader.history.read(kept);
    if (!generation) NB_TRY(problems.tell(generation.error()));
    generations.push_back(generation ? std::move(*generation) : txn::Generation{kept, std::nullopt, {}, 0, {}});
  }
  const txn::Head& head = reader.set().head();
  if (reader.history.lacks_live()) NB_TRY(problems.tell(txn::no_live_account(head.generation)));
  const bool has_live = reader.history.has(head.generation);
  if (!has_live) generations.push_back({head.generation, std::nullopt, head.transaction, head.time_ns, {}});
  return generations;
}

}  // namespace

std::string generations_table(const std::vector<txn::Generation>& generations, std::size_t columns) {
  std::vector<Line> lines{heading()};
  for (const txn::Generation& generation : generations) lines.push_back(line_of(generation));
  const Widths widths = widths_of(lines, columns);
  std::string text;
  for (const Line& line : lines) text += text_of(line, widths);
  return text;
}

Result<int> run_generations(const HostJob& job, session::CommandOutput& output, Clock& clock) {
  NB_TRY_ASSIGN(const session::SetReader reader, session::open_set(job.place, job.stay_within, job.client, clock));
  Problems problems(output);
  NB_TRY_ASSIGN(const std::vector<txn::Generation> generations, generations_of(reader, problems));
  if (!job.settings.json) {
    NB_TRY(output.write(generations_table(generations, job.columns)));
    return problems.exit_code();
  }
  for (const txn::Generation& generation : generations) NB_TRY(output.write(json_generation(generation) + "\n"));
  return problems.exit_code();
}

}  // namespace nb::cli
