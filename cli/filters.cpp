// SPDX-License-Identifier: Apache-2.0
#include "cli/filters.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>

#include "base/fd.hpp"
#include "filter/rules.hpp"
#include "wire/limits.hpp"

namespace nb::cli {
namespace {

constexpr std::size_t k_most_file_bytes = 64 << 20;

Result<std::string> read_file(const std::string& path) {
  const Fd file(path == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return fail_errno("--exclude-from " + path);
  std::string content;
  std::array<std::byte, 65536> buffer{};
  while (true) {
    auto count = read_full(file.get(), buffer);
    if (!count) return wrap(std::move(count).error(), "--exclude-from " + path);
    content += as_text(ByteView(buffer).first(*count));
    if (content.size() > k_most_file_bytes) return fail(Errc::usage, "--exclude-from " + path + " is too long");
    if (*count < buffer.size()) return content;
  }
}

Status add(const FilterOption& filter, filter::Rules& rules) {
  switch (filter.kind) {
    case FilterKind::exclude: return rules.add(filter.text, filter::Verdict::exclude);
    case FilterKind::include: return rules.add(filter.text, filter::Verdict::include);
    case FilterKind::exclude_from: break;
  }
  NB_TRY_ASSIGN(const std::string content, read_file(filter.text));
  auto added = rules.add_file(content, filter::Verdict::exclude);
  return added ? added : wrap(std::move(added).error(), filter.text);
}

}  // namespace

Result<std::vector<std::string>> job_filter_rules(const std::vector<FilterOption>& filters) {
  filter::Rules rules;
  for (const FilterOption& filter : filters) NB_TRY(add(filter, rules));
  std::vector<std::string> encoded = rules.encoded();
  if (encoded.size() > wire::k_max_filter_rules) return fail(Errc::usage, "too many filter rules");
  return encoded;
}

}  // namespace nb::cli
