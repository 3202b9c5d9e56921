// SPDX-License-Identifier: Apache-2.0
#include "cli/ping.hpp"

#include "base/text.hpp"
#include "cli/version.hpp"
#include "session/interrupt.hpp"
#include "transport/http_post.hpp"

namespace nb::cli {
namespace {

constexpr std::chrono::seconds k_limit{10};
constexpr std::chrono::seconds k_pause{1};
constexpr int k_most_tries = 3;
constexpr std::string_view k_schemes_end = "://";

std::size_t host_begin(std::string_view url) { return url.find(k_schemes_end) + k_schemes_end.size(); }

// "hc.example.org:8000": without a name and password before it.
std::string_view host_of(std::string_view url) {
  std::string_view host = url.substr(host_begin(url));
  host = host.substr(0, host.find_first_of("/?#"));
  return host.substr(host.rfind('@') == std::string_view::npos ? 0 : host.rfind('@') + 1);
}

}  // namespace

// Whoever has the address can ping: no message shows it.
Status check_ping_url(const std::string& url) {
  const std::size_t scheme_end = url.find(k_schemes_end);
  const std::string_view scheme = std::string_view(url).substr(0, scheme_end == std::string::npos ? 0 : scheme_end);
  const bool known = equals_ignoring_case(scheme, "http") || equals_ignoring_case(scheme, "https");
  if (!known) return fail(Errc::usage, "it is no http:// or https:// address");
  if (host_of(url).empty()) return fail(Errc::usage, "it names no host");
  for (const char each : url) {
    const auto byte = static_cast<unsigned char>(each);
    if (byte <= ' ' || byte == 0x7F) return fail(Errc::usage, "it has a blank in it");
  }
  return {};
}

std::string ping_address(const std::string& url, PingEvent event) {
  if (event == PingEvent::succeeded) return url;
  const std::size_t end = std::min(url.find_first_of("?#", host_begin(url)), url.size());
  std::string path = url.substr(0, end);
  if (path.ends_with('/')) path.pop_back();
  return path + (event == PingEvent::started ? "/start" : "/fail") + url.substr(end);
}

Status ping(const std::string& url, PingEvent event, const std::string& body, Clock& clock) {
  const transport::HttpPost post{ping_address(url, event), body, std::string("nbackup/") + k_version, k_limit};
  const int tries = event == PingEvent::started ? 1 : k_most_tries;
  Status done = transport::http_post(post);
  for (int i = 1; i < tries && !done && done.error().code != Errc::unsupported; ++i) {
    if (session::interrupt_requested()) break;
    clock.pause(k_pause);
    done = transport::http_post(post);
  }
  if (done) return done;
  return fail(done.error().code, "no ping to " + std::string(host_of(url)) + ": " + done.error().context);
}

}  // namespace nb::cli
