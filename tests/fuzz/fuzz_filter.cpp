// SPDX-License-Identifier: Apache-2.0
// Filter rules: the first line of the input is a path, the rest a rule file. What is read, written and read again must
// decide alike.
#include "filter/rules.hpp"
#include "fuzz/fuzz.hpp"

using namespace nb;
using namespace nb::filter;

namespace {

void compare(const Rules& first, const Rules& second, const RelPath& path) {
  for (const auto type : {fs::FileType::regular, fs::FileType::directory}) {
    fuzz::require(first.check(path, type) == second.check(path, type), "encoded rules decide alike");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = as_text(fuzz::view(data, size));
  const std::size_t end = std::min(input.find('\n'), input.size());
  const Result<RelPath> path = RelPath::parse(input.substr(0, end));
  Rules rules;
  const Status added = rules.add_file(input.substr(std::min(end + 1, input.size())), Verdict::exclude);
  if (!added) fuzz::require(added.error().code == Errc::usage, "a bad rule is a usage error");
  Rules again;
  for (const std::string& rule : rules.encoded()) {
    fuzz::require(again.add_filter(rule).has_value(), "encoded rules are rules");
  }
  fuzz::require(again.encoded() == rules.encoded(), "encoded rules stay the same");
  if (path) compare(rules, again, *path);
  return 0;
}
