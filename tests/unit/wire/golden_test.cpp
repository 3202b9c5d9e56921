// SPDX-License-Identifier: Apache-2.0
// The bytes of every message are those in tests/golden/wire. NB_REGOLD=1 rewrites these files and the seed corpora of
// the fuzz targets; do that only together with a new protocol version and docs/protocol.md.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "base/text.hpp"
#include "codec/frame_compressor.hpp"
#include "unit/wire/samples.hpp"

using namespace nb;
using namespace nb::wire;

namespace {

std::string golden_path(const std::string& name) { return std::string(NB_GOLDEN_DIR) + "/" + name + ".hex"; }

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void write_file(const std::string& path, std::string_view content) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream out(path, std::ios::binary);
  out << content;
  REQUIRE(out.flush().good());
}

// 32 bytes a line, so that a change can be read in a diff.
std::string to_lines(ByteView bytes) {
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 32) {
    text += to_hex(bytes.subspan(at, std::min<std::size_t>(32, bytes.size() - at))) + "\n";
  }
  return text;
}

Bytes frame_of_all() {
  FrameBuilder frame;
  for (const NamedSample& sample : all_samples()) sample.add(frame);
  return frame.take();
}

Bytes compressed_frame_of_all() {
  const Bytes plain = frame_of_all();
  codec::FrameCompressor compressor;
  Bytes frame(k_frame_header_bytes);
  REQUIRE(compressor.compress(ByteView(plain).subspan(k_frame_header_bytes), 3, frame).has_value());
  seal_frame(frame, FrameEncoding::zstd);
  return frame;
}

void check_golden(const std::string& name, ByteView bytes) {
  INFO(name);
  if (std::getenv("NB_REGOLD") != nullptr) write_file(golden_path(name), to_lines(bytes));
  REQUIRE(std::filesystem::exists(golden_path(name)));
  CHECK(read_file(golden_path(name)) == to_lines(bytes));
}

void write_corpora() {
  const std::string corpus = NB_CORPUS_DIR;
  for (const NamedSample& sample : all_samples()) {
    const std::string type(1, static_cast<char>(sample.type));
    write_file(corpus + "/messages/" + sample.name, type + std::string(as_text(sample.body)));
    FrameBuilder frame;
    sample.add(frame);
    write_file(corpus + "/frame/" + sample.name, as_text(frame.take()));
  }
  write_file(corpus + "/frame/all", as_text(frame_of_all()));
  write_file(corpus + "/frame/compressed", as_text(compressed_frame_of_all()));
}

}  // namespace

TEST_CASE("wire: every message has its golden bytes", "[wire]") {
  std::set<MessageType> seen;
  for (const NamedSample& sample : all_samples()) {
    check_golden(sample.name, sample.body);
    seen.insert(sample.type);
  }
  CHECK(seen.size() == static_cast<std::size_t>(MessageType::command_end));
  check_golden("frame", frame_of_all());
  if (std::getenv("NB_REGOLD") != nullptr) write_corpora();
}

TEST_CASE("wire: what was encoded decodes to the same", "[wire]") {
  for (const NamedSample& sample : all_samples()) {
    INFO(sample.name);
    const Result<Bytes> again = sample.recode(sample.body);
    REQUIRE(again);
    CHECK(*again == sample.body);
  }
}

TEST_CASE("wire: a body cut anywhere or with a byte too many is refused or means something else", "[wire]") {
  for (const NamedSample& sample : all_samples()) {
    for (std::size_t size = 0; size < sample.body.size(); ++size) {
      INFO(sample.name << " cut to " << size);
      const Result<Bytes> again = sample.recode(ByteView(sample.body).first(size));
      // Tagged fields and content may end early: then the rest is just not there.
      if (again)
        CHECK(again->size() <= size);
      else
        CHECK(again.error().code == Errc::protocol);
    }
    Bytes longer = sample.body;
    longer.push_back(std::byte{0});
    INFO(sample.name << " with a byte more");
    const bool open_ended = sample.type == MessageType::data || sample.type == MessageType::small_file ||
                            sample.type == MessageType::signature || sample.type == MessageType::text;
    CHECK(sample.recode(longer).has_value() == open_ended);
  }
}
