// SPDX-License-Identifier: Apache-2.0
// The text records of a file set as bytes from a damaged disk. There is one spelling of each record: what decodes must
// encode to the very same bytes.
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "txn/records.hpp"
#include "txn/text_record.hpp"

namespace {

using namespace nb;

template <class Decode>
void one_spelling(ByteView data, const Decode& decode) {
  const auto value = decode(data);
  if (value && !std::ranges::equal(txn::encode(*value), data)) std::abort();
}

// The lines under a check that matches, which a fuzzer would never find by itself.
Bytes with_check(ByteView data) {
  const std::string_view text = as_text(data);
  const std::size_t end = std::min(text.find('\n'), text.size());
  txn::TextRecordWriter out(text.substr(0, end));
  for (std::size_t at = end + 1; at < text.size();) {
    const std::size_t next = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, next - at);
    const std::size_t space = std::min(line.find(' '), line.size());
    if (line.substr(0, space) != "check") {
      out.line(line.substr(0, space), space < line.size() ? line.substr(space + 1) : std::string_view());
    }
    at = next + 1;
  }
  return out.finish();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const ByteView raw = std::as_bytes(std::span(bytes, size));
  const Bytes checked = with_check(raw);
  for (const ByteView data : {raw, ByteView(checked)}) {
    one_spelling(data, txn::decode_format);
    one_spelling(data, txn::decode_head);
    // The client's name in a lock note is free text; only that it decodes without harm matters.
    static_cast<void>(txn::decode_lock_note(data));
  }
  return 0;
}
