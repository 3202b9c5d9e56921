// SPDX-License-Identifier: Apache-2.0
// Runs every file of a corpus through one fuzz target: `replay_<name> DIRECTORY`. Needs no libFuzzer, so that each
// build tests what fuzzing has found.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "fuzz/fuzz.hpp"

namespace {

// False if the file cannot be read.
bool replay(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::vector<char> content{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!in.is_open() || in.bad()) return false;
  std::printf("%s\n", path.filename().c_str());
  std::fflush(stdout);  // so that a crash has its file named
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(content.data()), content.size());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
    return 2;
  }
  std::size_t count = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1], error)) {
    if (!entry.is_regular_file()) continue;
    if (!replay(entry.path())) {
      std::fprintf(stderr, "cannot read %s\n", entry.path().c_str());
      return 1;
    }
    ++count;
  }
  if (error || count == 0) {
    std::fprintf(stderr, "no corpus in %s\n", argv[1]);
    return 1;
  }
  return 0;
}
