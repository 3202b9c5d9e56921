// SPDX-License-Identifier: Apache-2.0
// bench's protocol, from both sides: the first byte chooses whether the rest is what a far end or a client says. Requests
// that would take time, or touch the disk, are left to the tests.
#include "cli/bench_far_end.hpp"
#include "cli/far_bench.hpp"
#include "fuzz/fuzz.hpp"
#include "support/memory_stream.hpp"

namespace {

using namespace nb;

void as_far_end(ByteView data, const Clock& clock) {
  const std::string greeting = std::string(cli::k_bench_greeting) + "\n";
  Bytes said(as_bytes(greeting).begin(), as_bytes(greeting).end());
  said.insert(said.end(), data.begin(), data.end());
  auto far = cli::FarBench::greet(std::make_unique<test::MemoryStream>(said), std::chrono::seconds(1), clock);
  fuzz::require(far.has_value(), "the greeting is right");
  static_cast<void>((*far)->facts());
  static_cast<void>((*far)->place("/"));
  static_cast<void>((*far)->hash({}));
  static_cast<void>((*far)->disk("/", {}));
  static_cast<void>((*far)->download({}));
}

bool takes_time(std::string_view text) {
  for (const std::string_view verb : {"send", "disk", "hash", "zstd", "place"}) {
    if (text.find(verb) != std::string_view::npos) return true;
  }
  return false;
}

void as_client(ByteView data, const Clock& clock) {
  if (takes_time(as_text(data))) return;
  test::MemoryStream stream(data);
  static_cast<void>(cli::serve_bench(stream, {}, clock));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  const ByteView data = fuzz::view(bytes, size);
  const SystemClock clock;
  data[0] == std::byte{'f'} ? as_far_end(data.subspan(1), clock) : as_client(data.subspan(1), clock);
  return 0;
}
