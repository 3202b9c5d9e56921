// SPDX-License-Identifier: Apache-2.0
#include "cli/change_mail.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.hpp"
#include "cli/child_program.hpp"
#include "cli/report_text.hpp"

namespace nb::cli {
namespace {

constexpr std::size_t k_longest_line = 990;  // RFC 5322 allows 998
constexpr std::size_t k_longest_subject = 200;
constexpr std::chrono::seconds k_limit{60};
constexpr const char* k_usual_places = "/usr/sbin:/usr/lib";

// $PATH first, so that a user's own is taken; cron's has no sbin.
std::optional<std::string> find_sendmail() {
  const char* path = std::getenv("PATH");
  const std::string places = (path == nullptr ? std::string() : std::string(path) + ":") + k_usual_places;
  for (const std::string_view place : split(places, ':')) {
    std::string file = std::string(place) + "/sendmail";
    if (place.starts_with('/') && ::access(file.c_str(), X_OK) == 0) return file;
  }
  return std::nullopt;
}

bool is_plain(char each) { return each > ' ' && each < 0x7F; }

}  // namespace

Status check_mail_address(const std::string& address) {
  const bool fits = !address.empty() && address.front() != '-' && address.size() <= 254 &&
                    std::all_of(address.begin(), address.end(), is_plain);
  if (fits) return {};
  return fail(Errc::usage, "'" + address + "' is no mail address or local user");
}

bool is_news(std::optional<int> last_exit_code, int exit_code) { return last_exit_code.value_or(0) != exit_code; }

std::string mail_subject(const std::string& client, const std::string& title, int exit_code) {
  const std::string end = exit_code == 0 ? " works again" : " failed (exit code " + std::to_string(exit_code) + ")";
  std::string text = "nbackup on " + client + ": " + title;
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c != ' ' && !is_plain(c); }, '?');
  return text.substr(0, k_longest_subject) + end;
}

std::string mail_text(const std::string& address, const std::string& subject, const std::string& body) {
  std::string text = "To: " + address + "\nSubject: " + subject +
                     "\nAuto-Submitted: auto-generated\nMIME-Version: 1.0\n"
                     "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n";
  for (const std::string_view line : split(body, '\n')) text += std::string(begin_of(line, k_longest_line)) + "\n";
  return text;
}

Status send_mail(const std::string& address, const std::string& text, Clock& clock) {
  const auto sendmail = find_sendmail();
  if (!sendmail) return fail(Errc::unsupported, "no mail to " + address + ": there is no sendmail program");
  ChildProgram program;
  // -i: a line with a dot alone does not end the message.
  program.argv = {*sendmail, "-i", "--", address};
  program.environment = inherited_environment();
  program.input = text;
  program.limit = k_limit;
  const auto failure = run_to_end(program, clock);
  return failure ? fail(Errc::unsupported, "no mail to " + address + ": " + *sendmail + " " + *failure) : Status();
}

}  // namespace nb::cli
