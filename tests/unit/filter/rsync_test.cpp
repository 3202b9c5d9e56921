// SPDX-License-Identifier: Apache-2.0
// Differential test: rsync and Rules choose the same names out of one tree under the same random rules, with rules read
// the way --exclude-from reads them and the way --filter does. Skipped where rsync is not installed.
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <set>

#include "filter/rules.hpp"

using namespace nb;
using namespace nb::filter;

namespace {

constexpr int k_cases = 400;

class TemporaryTree {
 public:
  TemporaryTree() {
    std::string name = (std::filesystem::temp_directory_path() / "nb-filter-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    m_root = name;
    make(m_root / "source", 0);
  }
  ~TemporaryTree() {
    std::error_code ignored;
    std::filesystem::remove_all(m_root, ignored);
  }
  TemporaryTree(const TemporaryTree&) = delete;
  TemporaryTree& operator=(const TemporaryTree&) = delete;
  [[nodiscard]] const std::filesystem::path& root() const { return m_root; }

 private:
  // Names that are prefixes of each other, and some with the wildcards' own characters.
  static void make(const std::filesystem::path& directory, int depth) {
    std::filesystem::create_directory(directory);
    for (const char* file : {"a", "b.o", "ab", "foo.c", "[x]", "a*b", "b\\c", "-", "foo bar", "Z9"}) {
      std::ofstream(directory / file) << "x";
    }
    if (depth == 3) return;
    for (const char* child : {"foo", "bar", "a.d", "ba"}) make(directory / child, depth + 1);
  }
  std::filesystem::path m_root;
};

std::string random_pattern(std::mt19937& random) {
  static const std::vector<std::string> k_pieces{
      "a",        "b",    "foo", "bar", "o",    ".",    "*",     "*",    "**",    "***",         "?",
      "/",        "/",    "/",   "x",   "[ab]", "[!a]", "[a-f]", "[]x]", "[^]]",  "[[:alpha:]]", "[[:digit:]z]",
      "[[:no:]]", "[a",   "\\",  "\\*", "\\[",  "[x]",  "-",     " ",    "[--b]", "[!/]",        "a.d",
      "foo/",     "/bar", "**/", "/**", "/***"};
  std::string pattern;
  const auto pieces = 1 + random() % 5;
  for (unsigned i = 0; i < pieces; ++i) pattern += k_pieces[random() % k_pieces.size()];
  if (random() % 6 == 0) pattern = "/" + pattern;
  if (random() % 6 == 0) pattern += "/";
  return pattern;
}

std::vector<std::string> random_rules(std::mt19937& random) {
  std::vector<std::string> rules;
  const auto count = 1 + random() % 6;
  for (unsigned i = 0; i < count; ++i) rules.push_back((random() % 3 == 0 ? "+ " : "- ") + random_pattern(random));
  if (random() % 10 == 0) rules.insert(rules.begin() + static_cast<std::ptrdiff_t>(random() % rules.size()), "!");
  return rules;
}

using Names = std::set<std::string>;

// What rsync would transfer: files by name, directories with a slash after it.
Names chosen_by_rsync(const std::filesystem::path& root, const std::string& option) {
  const std::string command = "rsync -rn --out-format=%n '" + option + (root / "rules").string() + "' '" +
                              (root / "source").string() + "/' '" + (root / "nowhere").string() + "/'";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(::popen(command.c_str(), "r"), &::pclose);
  REQUIRE(pipe != nullptr);
  Names names;
  std::array<char, 4096> line{};
  while (std::fgets(line.data(), static_cast<int>(line.size()), pipe.get()) != nullptr) {
    std::string name(line.data());
    name.pop_back();
    if (name != "./" && !name.starts_with("created directory")) names.insert(name);
  }
  return names;
}

void walk(const Rules& rules, const std::filesystem::path& directory, const RelPath& below, Names& names) {
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const RelPath path = below.child(entry.path().filename().string());
    const bool is_directory = entry.is_directory();
    const auto type = is_directory ? fs::FileType::directory : fs::FileType::regular;
    if (rules.check(path, type) == Verdict::exclude) continue;
    names.insert(path.str() + (is_directory ? "/" : ""));
    if (is_directory) walk(rules, entry.path(), path, names);
  }
}

void write_rules(const std::filesystem::path& root, const std::string& content) {
  std::ofstream out(root / "rules", std::ios::binary | std::ios::trunc);
  out << content;
  REQUIRE(out.flush().good());
}

bool have_rsync() { return std::system("rsync --version >/dev/null 2>&1") == 0; }

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

void compare(const TemporaryTree& tree, const Rules& rules, const std::string& content, const std::string& option) {
  INFO("rules:\n" << content);
  write_rules(tree.root(), content);
  Names ours;
  walk(rules, tree.root() / "source", RelPath(), ours);
  const Names theirs = chosen_by_rsync(tree.root(), option);
  Names different;
  std::set_symmetric_difference(ours.begin(), ours.end(), theirs.begin(), theirs.end(),
                                std::inserter(different, different.end()));
  CHECK(different == Names());
}

}  // namespace

TEST_CASE("filter: rsync chooses the same names", "[filter]") {
  if (!have_rsync()) {
    WARN("skipped: rsync is not installed");
    return;
  }
  const TemporaryTree tree;
  std::mt19937 random(20240611);
  for (int round = 0; round < k_cases; ++round) {
    const std::vector<std::string> lines = random_rules(random);
    Rules rules;
    if (round % 2 == 0) {
      for (const std::string& line : lines) REQUIRE(rules.add_filter(line));
      compare(tree, rules, joined(lines), "--filter=merge ");
    } else {
      REQUIRE(rules.add_file(joined(lines), Verdict::exclude));
      compare(tree, rules, joined(lines), "--exclude-from=");
    }
  }
}

TEST_CASE("filter: rsync reads rule files in the same way", "[filter]") {
  if (!have_rsync()) {
    WARN("skipped: rsync is not installed");
    return;
  }
  const TemporaryTree tree;
  const std::string content = "# no\n; no\n\n- - \nfoo bar\n+ a\r- b.o\n/foo/bar/\r\n -\nfoo/*/a.d/***\n*.c";
  for (const Verdict bare : {Verdict::exclude, Verdict::include}) {
    Rules rules;
    REQUIRE(rules.add_file(content + "\n- Z*\n", bare));
    const std::string option = bare == Verdict::exclude ? "--exclude-from=" : "--include-from=";
    compare(tree, rules, content + "\n- Z*\n", option);
  }
}
