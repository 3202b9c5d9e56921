// SPDX-License-Identifier: Apache-2.0
// What reaches standard output and standard error, with files in their place.
#include "cli/terminal.hpp"

#include <catch2/catch.hpp>

using namespace nb;
using namespace nb::cli;

namespace {

class Captured {
 public:
  Captured() : m_file(std::tmpfile()) { REQUIRE(m_file != nullptr); }
  ~Captured() { std::fclose(m_file); }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;
  [[nodiscard]] std::FILE* file() const { return m_file; }
  [[nodiscard]] std::string text() const {
    std::fflush(m_file);
    std::rewind(m_file);
    std::string content(65536, '\0');
    content.resize(std::fread(content.data(), 1, content.size(), m_file));
    std::fseek(m_file, 0, SEEK_END);
    return content;
  }

 private:
  std::FILE* m_file;
};

struct Screen {
  Captured out;
  Captured err;
  SystemClock clock;
  TerminalOptions options() {
    TerminalOptions made;
    made.out = out.file();
    made.err = err.file();
    return made;
  }
};

wire::Item new_file() {
  wire::Item item;
  item.change = ">f+++++++++";
  item.path = RelPath::parse("x").value();
  return item;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("in cron a good run is one line on standard output", "[cli]") {
  Screen screen;
  TerminalReporter reporter(screen.options(), screen.clock);
  reporter.on_start({CommandId::push, {"/s"}, "h:/d", false, false});
  reporter.on_phase(wire::PhaseKind::transfer);
  reporter.on_progress({});
  reporter.on_notice("the ssh program is used");
  reporter.on_item(new_file());
  reporter.on_summary({{CommandId::push, {"/s"}, "h:/d", false, false}, {}, std::chrono::milliseconds(0)});
  CHECK(screen.out.text() == "nbackup: pushed /s to h:/d: nothing to do, 0 B sent, 00:00\n");
  CHECK(screen.err.text().empty());
}

TEST_CASE("--quiet leaves errors only, --json leaves standard output alone", "[cli]") {
  for (const bool json : {false, true}) {
    Screen screen;
    TerminalOptions options = screen.options();
    options.quiet = !json;
    options.only_errors = json;
    options.show_items = json;
    options.show_stats = json;
    TerminalReporter reporter(options, screen.clock);
    reporter.on_item(new_file());
    reporter.on_summary({});
    reporter.on_problem(Error{Errc::unreadable, 13, "open x"});
    CHECK(screen.out.text().empty());
    CHECK(contains(screen.err.text(), "nbackup: open x: Permission denied\n"));
  }
}

TEST_CASE("the way out is told once for each kind of error", "[cli]") {
  Screen screen;
  TerminalReporter reporter(screen.options(), screen.clock);
  reporter.on_problem(Error{Errc::unreadable, 13, "open x"});
  reporter.on_problem(Error{Errc::unreadable, 13, "open y"});
  const std::string text = screen.err.text();
  const auto first = text.find("--exclude");
  CHECK(first != std::string::npos);
  CHECK(text.find("--exclude", first + 1) == std::string::npos);
}

TEST_CASE("progress is drawn in place and gone before a message", "[cli]") {
  Screen screen;
  TerminalOptions options = screen.options();
  options.show_progress = true;
  {
    TerminalReporter reporter(options, screen.clock);
    reporter.on_progress({});
    reporter.on_warning("hello\x1b");
    reporter.on_progress({});
  }
  const std::string text = screen.err.text();
  CHECK(contains(text, "\r\x1b[Knbackup: hello\\033\n"));
  CHECK(text.ends_with("\r\x1b[K"));
}

TEST_CASE("an interruption says that nothing is lost", "[cli]") {
  Screen screen;
  TerminalReporter reporter(screen.options(), screen.clock);
  reporter.on_error(Error{Errc::interrupted, 0, ""}, 20);
  CHECK(screen.err.text() == "nbackup: interrupted; what was sent is kept and the next run continues from it\n");
}

TEST_CASE("what is shown follows the settings", "[cli]") {
  Settings settings;
  CHECK_FALSE(terminal_options(settings).show_items);
  settings.verbosity = 1;
  CHECK(terminal_options(settings).show_items);
  CHECK(terminal_options(settings).item_style == ItemStyle::names);
  settings.itemize = true;
  CHECK(terminal_options(settings).item_style == ItemStyle::itemized);
  settings.quiet = true;
  CHECK_FALSE(terminal_options(settings).show_items);
  Settings verify;
  verify.command = CommandId::verify;
  CHECK(terminal_options(verify).show_items);
}
