// SPDX-License-Identifier: Apache-2.0
// One HTTP(S) POST, by libcurl, which is loaded for it and not linked: it brings twenty libraries that no run needs.
#pragma once

#include <chrono>
#include <string>

#include "base/result.hpp"

namespace nb::transport {

struct HttpPost {
  std::string url;                     // http:// or https://; redirects may lead from http to https, not back
  std::string body;                    // UTF-8 text
  std::string agent;                   // "nbackup/0.1.0"
  std::chrono::milliseconds limit{0};  // for all of it
};

// The answer was a success (2xx). CURL_CA_BUNDLE, SSL_CERT_FILE and SSL_CERT_DIR say whom to trust, as with curl(1),
// and http_proxy and its like whom to ask. Errors: Errc::unsupported where libcurl is not installed, Errc::connect
// otherwise; their context is the whole reason, and the URL, which may be a secret, is not in it. One thread at a time.
Status http_post(const HttpPost& post);

}  // namespace nb::transport
