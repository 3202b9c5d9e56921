// SPDX-License-Identifier: Apache-2.0
// Contents of a known kind, the same in every run.
#pragma once

#include <random>
#include <string>

#include "base/bytes.hpp"

namespace nb::test {

inline Bytes random_content(std::size_t bytes, unsigned seed) {
  std::mt19937 random(seed);
  Bytes content(bytes);
  for (std::byte& b : content) b = static_cast<std::byte>(random());
  return content;
}

// Lines as a log has them: a few words over and over, with numbers between.
inline Bytes text_content(std::size_t bytes, unsigned seed) {
  std::mt19937 random(seed);
  std::string text;
  while (text.size() < bytes) {
    text += "2024-03-0" + std::to_string(random() % 10) + " host service[" + std::to_string(random() % 1000) +
            "]: request " + std::to_string(random()) + " served in " + std::to_string(random() % 100) + " ms\n";
  }
  text.resize(bytes);
  const ByteView view = as_bytes(text);
  return {view.begin(), view.end()};
}

}  // namespace nb::test
