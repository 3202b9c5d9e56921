// SPDX-License-Identifier: Apache-2.0
#include "transport/stderr_keeper.hpp"

#include <catch2/catch.hpp>
#include <vector>

namespace nb::transport {

TEST_CASE("standard error is passed on in lines, however it arrives", "[transport]") {
  std::vector<std::string> lines;
  StderrKeeper keeper([&](std::string_view line) { lines.emplace_back(line); });
  for (const char* piece : {"on", "e\ntwo\r\n\nth", "ree"}) keeper.append(as_bytes(piece));
  CHECK(lines == std::vector<std::string>{"one", "two", ""});
  keeper.finish();
  CHECK(lines.back() == "three");
  CHECK(keeper.tail() == "one\ntwo\r\n\nthree");
}

TEST_CASE("lines that the filter takes are kept from everybody else", "[transport]") {
  std::vector<std::string> lines;
  std::vector<std::string> taken;
  const auto takes = [&](std::string_view line) {
    if (!line.starts_with("x")) return false;
    taken.emplace_back(line);
    return true;
  };
  StderrKeeper keeper([&](std::string_view line) { lines.emplace_back(line); }, takes);
  keeper.append(as_bytes("x1\r\na\nx"));
  CHECK(keeper.tail() == "a\nx");  // it might become anything yet
  keeper.append(as_bytes("2\nb"));
  keeper.finish();
  CHECK(lines == std::vector<std::string>{"a", "b"});
  CHECK(taken == std::vector<std::string>{"x1", "x2"});
  CHECK(keeper.tail() == "a\nb");
}

TEST_CASE("only the last 4 KiB are kept, and an endless line comes in pieces", "[transport]") {
  std::vector<std::size_t> sizes;
  StderrKeeper keeper([&](std::string_view line) { sizes.push_back(line.size()); });
  keeper.append(as_bytes(std::string(10'000, 'a')));
  keeper.append(as_bytes("end"));
  keeper.finish();
  CHECK(sizes == std::vector<std::size_t>{4096, 4096, 1811});
  CHECK(keeper.tail().size() == k_stderr_tail_bytes);
  CHECK(keeper.tail().ends_with("aend"));
}

}  // namespace nb::transport
