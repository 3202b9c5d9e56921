// SPDX-License-Identifier: Apache-2.0
#include "cli/deploy_dialogue.hpp"

#include <fmt/format.h>

#include <array>

#include "base/text.hpp"
#include "cli/deploy_script.hpp"

namespace nb::cli {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds k_end_limit{5000};
constexpr std::size_t k_most_line_bytes = 16 << 10;
constexpr std::size_t k_most_lines = 1000;

// The text after "WORD ", or nothing if the line begins otherwise.
std::optional<std::string> after(const std::string& line, std::string_view word) {
  if (!line.starts_with(word)) return std::nullopt;
  if (line.size() == word.size()) return std::string();
  if (line[word.size()] != ' ') return std::nullopt;
  return line.substr(word.size() + 1);
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (const std::string_view word : split(text, ' ')) {
    if (!word.empty()) words.emplace_back(word);
  }
  return words;
}

// What the wait for a shell of ours ends with where there is none.
bool is_of_another_program(Errc code) {
  return code == Errc::connection_lost || code == Errc::remote_missing || code == Errc::protocol;
}

}  // namespace

Result<std::string> DeployDialogue::read_line(milliseconds inactivity) {
  while (true) {
    if (const std::size_t end = m_unread.find('\n'); end != std::string::npos) {
      std::string line = m_unread.substr(0, end);
      m_unread.erase(0, end + 1);
      return line;
    }
    if (m_unread.size() > k_most_line_bytes) return fail(Errc::protocol, "a line without an end");
    std::array<std::byte, 4096> buffer{};
    NB_TRY_ASSIGN(const std::size_t count, m_stream.read(buffer, inactivity));
    if (count == 0) return fail(Errc::connection_lost, "the other side ended");
    m_unread += as_text(ByteView(buffer).first(count));
  }
}

// "failed WHY" is an error; what it was about is left as it was.
Result<std::string> DeployDialogue::read_answer() {
  NB_TRY_ASSIGN(std::string line, read_line(m_inactivity));
  if (const auto why = after(line, "failed")) return fail(Errc::io, *why);
  return line;
}

Error DeployDialogue::no_shell() {
  const transport::PeerEnd end = m_stream.wait_end(k_end_limit);
  std::string context =
      "no POSIX shell answers there: the key is restricted to another command, or the user has no shell";
  const auto lines = split(end.stderr_tail, '\n');
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    if (line->empty()) continue;
    context += " (" + std::string(*line) + ")";
    break;
  }
  return {Errc::unsupported, 0, std::move(context)};
}

Status DeployDialogue::await_greeting() {
  for (std::size_t noise = 0; noise < k_most_lines; ++noise) {
    NB_TRY_ASSIGN(const std::string line, read_line(m_first));
    if (line == k_deploy_greeting) return {};
    m_login_prints = true;
  }
  return fail(Errc::protocol, "it prints without end");
}

Result<std::vector<std::string>> DeployDialogue::facts() {
  // Whoever does not read it ends, and that is found out next.
  static_cast<void>(m_stream.write(as_bytes(deploy_facts_script())));
  if (const auto greeted = await_greeting(); !greeted) {
    if (!is_of_another_program(greeted.error().code)) return tl::make_unexpected(greeted.error());
    if (greeted.error().code == Errc::protocol) m_stream.close_now();  // it does not end by itself
    return tl::make_unexpected(no_shell());
  }
  std::vector<std::string> lines;
  while (lines.size() < k_most_lines) {
    NB_TRY_ASSIGN(std::string line, read_line(m_inactivity));
    if (line == "end") return lines;
    lines.push_back(std::move(line));
  }
  return fail(Errc::protocol, "more facts than there are");
}

Status DeployDialogue::begin_receiving() {
  const std::string_view script = deploy_receive_script();
  NB_TRY(m_stream.write(as_bytes(fmt::format("{}\n{}", script.size(), script))));
  NB_TRY_ASSIGN(const std::string line, read_answer());
  if (line != "ready") return fail(Errc::protocol, "'" + line + "' in place of 'ready'");
  return {};
}

Status DeployDialogue::send_content(const std::string& verb, ByteView content, const std::string& sum) {
  NB_TRY(m_stream.write(as_bytes(fmt::format("{} {} {}\n", verb, content.size(), sum))));
  return m_stream.write(content);
}

Result<ProgramTrial> DeployDialogue::send_program(ByteView program, const std::string& sum) {
  NB_TRY(send_content("program", program, sum));
  NB_TRY_ASSIGN(const std::string line, read_answer());
  ProgramTrial trial;
  if (const auto missing = after(line, "cannot-run")) {
    trial.missing_libraries = words_of(*missing);
    return trial;
  }
  const auto version = after(line, "runs");
  NB_TRY_ASSIGN(const std::string second, read_answer());
  const auto protocol = after(second, "protocol");
  if (!version || !protocol) return fail(Errc::protocol, "'" + line + "' in place of a version");
  return ProgramTrial{true, *version, *protocol, {}};
}

Result<std::string> DeployDialogue::keep_program() {
  NB_TRY(m_stream.write(as_bytes("keep\n")));
  NB_TRY_ASSIGN(const std::string line, read_answer());
  if (auto found = after(line, "done")) return *found;
  return fail(Errc::protocol, "'" + line + "' in place of 'done'");
}

Status DeployDialogue::send_package(ByteView package, const std::string& sum) {
  NB_TRY(send_content("package", package, sum));
  NB_TRY_ASSIGN(const std::string line, read_answer());
  if (!after(line, "done")) return fail(Errc::protocol, "'" + line + "' in place of 'done'");
  return {};
}

void DeployDialogue::end() {
  static_cast<void>(m_stream.finish_writing());
  static_cast<void>(m_stream.wait_end(k_end_limit));
}

}  // namespace nb::cli
