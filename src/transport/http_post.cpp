// SPDX-License-Identifier: Apache-2.0
#include "transport/http_post.hpp"

#include <curl/curl.h>
#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <memory>

#include "base/text.hpp"

namespace nb::transport {
namespace {

// Debian's three flavours; whichever is there.
constexpr std::array<const char*, 3> k_libraries{"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl-nss.so.4"};
constexpr long k_most_redirects = 5;

// What we use of it. Never unloaded: it does not like that, and the process is about to end.
struct Curl {
  decltype(&::curl_easy_init) init = nullptr;
  decltype(&::curl_easy_setopt) set = nullptr;
  decltype(&::curl_easy_perform) perform = nullptr;
  decltype(&::curl_easy_getinfo) get = nullptr;
  decltype(&::curl_easy_strerror) text = nullptr;
  decltype(&::curl_easy_cleanup) cleanup = nullptr;
  decltype(&::curl_slist_append) append = nullptr;
  decltype(&::curl_slist_free_all) free_list = nullptr;
};

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

Result<Curl> load_curl() {
  void* library = nullptr;
  for (const char* name : k_libraries) {
    if (library == nullptr) library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  if (library == nullptr) return fail(Errc::unsupported, "libcurl is not installed (Debian: apt install libcurl4)");
  Curl curl;
  const bool whole =
      find(library, "curl_easy_init", curl.init) && find(library, "curl_easy_setopt", curl.set) &&
      find(library, "curl_easy_perform", curl.perform) && find(library, "curl_easy_getinfo", curl.get) &&
      find(library, "curl_easy_strerror", curl.text) && find(library, "curl_easy_cleanup", curl.cleanup) &&
      find(library, "curl_slist_append", curl.append) && find(library, "curl_slist_free_all", curl.free_list);
  if (!whole) return fail(Errc::unsupported, "this libcurl lacks what is needed; version 7.85 has it");
  return curl;
}

std::size_t swallow(char*, std::size_t size, std::size_t count, void*) { return size * count; }

class Request {
 public:
  Request(const Curl& curl, const HttpPost& post)
      : m_curl(curl), m_post(post), m_handle(curl.init(), curl.cleanup), m_headers(nullptr, curl.free_list) {}

  Status send() {
    if (m_handle == nullptr || !set_up()) return fail(Errc::unsupported, "libcurl refuses what is needed of it");
    const CURLcode done = m_curl.perform(m_handle.get());
    long status = 0;
    static_cast<void>(m_curl.get(m_handle.get(), CURLINFO_RESPONSE_CODE, &status));
    if (done != CURLE_OK) {
      // Its own words are more exact, where it has some.
      const std::string_view said(m_error.data());
      return fail(Errc::connect, std::string(said.empty() ? m_curl.text(done) : said));
    }
    if (status < 200 || status > 299)
      return fail(Errc::connect, "the answer was HTTP status " + std::to_string(status));
    return {};
  }

 private:
  template <class Value>
  bool set(CURLoption option, Value value) {
    return m_curl.set(m_handle.get(), option, value) == CURLE_OK;
  }

  bool set_up() {
    m_headers.reset(m_curl.append(nullptr, "Content-Type: text/plain; charset=utf-8"));
    const bool https = equals_ignoring_case(std::string_view(m_post.url).substr(0, 6), "https:");
    const char* protocols = https ? "https" : "http,https";
    // No signals: timeouts of the resolver must not take over SIGALRM.
    return set(CURLOPT_NOSIGNAL, 1L) && set(CURLOPT_ERRORBUFFER, m_error.data()) &&
           set(CURLOPT_URL, m_post.url.c_str()) && set(CURLOPT_PROTOCOLS_STR, protocols) &&
           set(CURLOPT_REDIR_PROTOCOLS_STR, protocols) && set(CURLOPT_FOLLOWLOCATION, 1L) &&
           set(CURLOPT_MAXREDIRS, k_most_redirects) && set(CURLOPT_POSTREDIR, static_cast<long>(CURL_REDIR_POST_ALL)) &&
           set(CURLOPT_POST, 1L) && set(CURLOPT_POSTFIELDSIZE, static_cast<long>(m_post.body.size())) &&
           set(CURLOPT_POSTFIELDS, m_post.body.data()) && set(CURLOPT_HTTPHEADER, m_headers.get()) &&
           set(CURLOPT_USERAGENT, m_post.agent.c_str()) && set(CURLOPT_WRITEFUNCTION, &swallow) &&
           set(CURLOPT_TIMEOUT_MS, static_cast<long>(m_post.limit.count())) && trust();
  }

  // As curl(1) does; the library alone looks at none of these.
  bool trust() {
    const char* file = std::getenv("CURL_CA_BUNDLE");
    if (file == nullptr) file = std::getenv("SSL_CERT_FILE");
    const char* directory = std::getenv("SSL_CERT_DIR");
    return (file == nullptr || set(CURLOPT_CAINFO, file)) && (directory == nullptr || set(CURLOPT_CAPATH, directory));
  }

  const Curl& m_curl;
  const HttpPost& m_post;
  std::unique_ptr<CURL, decltype(&::curl_easy_cleanup)> m_handle;
  std::unique_ptr<curl_slist, decltype(&::curl_slist_free_all)> m_headers;
  std::array<char, CURL_ERROR_SIZE> m_error{};
};

}  // namespace

Status http_post(const HttpPost& post) {
  NB_TRY_ASSIGN(const Curl curl, load_curl());
  return Request(curl, post).send();
}

}  // namespace nb::transport
