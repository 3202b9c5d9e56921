// SPDX-License-Identifier: Apache-2.0
#include "txn/kept_names.hpp"

#include <algorithm>
#include <vector>

#include "txn/history.hpp"

namespace nb::txn {

bool for_each_kept_name(const fs::Directory& top, std::uint64_t& most_names,
                        const std::function<void(const fs::Stat&)>& visit) {
  std::vector<RelPath> open{RelPath()};
  while (!open.empty()) {
    const RelPath path = std::move(open.back());
    open.pop_back();
    const auto directory = top.open_directory_path(path);
    const auto names = directory ? (*directory)->list() : tl::make_unexpected(directory.error());
    if (!names) continue;
    if (names->size() > most_names) return false;
    most_names -= names->size();
    for (const fs::NamedType& each : *names) {
      const auto stat = (*directory)->stat_at(each.name);
      if (!stat) continue;
      visit(*stat);
      if (stat->type == fs::FileType::directory) open.push_back(path.child(each.name));
    }
  }
  return true;
}

void find_kept_names(const fs::Directory& root, std::uint64_t most_names, NameCounts& missing) {
  std::uint64_t left = 0;
  for (const auto& [inode, names] : missing) left += names;
  const auto history = root.open_directory_path(RelPath().child(k_control_name).child(k_history_name));
  if (!history) return;
  auto numbers = generations_in(**history).value_or(std::vector<std::uint64_t>());
  std::reverse(numbers.begin(), numbers.end());
  for (const std::uint64_t number : numbers) {
    if (left == 0) return;
    const auto files = (*history)->open_directory_path(kept_files(number));
    if (!files) continue;
    const bool whole = for_each_kept_name(**files, most_names, [&](const fs::Stat& stat) {
      const auto found = missing.find(stat.inode);
      if (found == missing.end() || found->second == 0) return;
      --found->second;
      --left;
    });
    if (!whole) return;
  }
}

}  // namespace nb::txn
