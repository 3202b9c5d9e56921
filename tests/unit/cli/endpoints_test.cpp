// SPDX-License-Identifier: Apache-2.0
#include "cli/endpoints.hpp"

#include <catch2/catch.hpp>
#include <filesystem>

using namespace nb;
using namespace nb::cli;

namespace {

Endpoints resolved(CommandId command, const std::vector<std::string>& arguments) {
  auto ends = resolve_endpoints(command, arguments);
  if (!ends) FAIL(ends.error().message());
  return std::move(*ends);
}

std::string refused(CommandId command, const std::vector<std::string>& arguments) {
  const auto ends = resolve_endpoints(command, arguments);
  REQUIRE_FALSE(ends);
  CHECK(ends.error().code == Errc::usage);
  return ends.error().context;
}

}  // namespace

TEST_CASE("a push keeps its sources as written and sends the path to the host", "[cli]") {
  const auto ends = resolved(CommandId::push, {"/usr/", "lib", "me@h:/pool/"});
  CHECK(ends.operation == wire::Operation::push);
  REQUIRE(ends.host);
  CHECK(ends.host->name == "h");
  CHECK(ends.sources == std::vector<std::string>{"/usr/", "lib"});
  CHECK(ends.destination == "/pool/");
  CHECK(ends.destination_key == "me@h:/pool");
}

TEST_CASE("a local far end gets absolute paths", "[cli]") {
  const std::string here = std::filesystem::current_path().string();
  CHECK(resolved(CommandId::push, {"a", "b/"}).destination == here + "/b/");
  const auto pull = resolved(CommandId::pull, {"a/", "b"});
  CHECK(pull.operation == wire::Operation::pull);
  CHECK(pull.sources == std::vector<std::string>{here + "/a/"});
  CHECK(pull.destination == "b");
  CHECK_FALSE(pull.host);
}

TEST_CASE("verify works in either direction", "[cli]") {
  CHECK(resolved(CommandId::verify, {"/a", "h:/b"}).operation == wire::Operation::push);
  CHECK(resolved(CommandId::verify, {"h:/a", "/b"}).operation == wire::Operation::pull);
  CHECK(resolved(CommandId::verify, {"/a", "/b"}).operation == wire::Operation::push);
}

TEST_CASE("a past source may be POOL:PATH, and is always the far end's", "[cli]") {
  const auto past = [](CommandId command, const std::vector<std::string>& arguments) {
    return resolve_endpoints(command, arguments, SourceTime::past);
  };
  const auto far =
      past(CommandId::restore, {"me@h:/pool:docs/a", "me@h:/pool/b/", "me@h:/pool:", "me@h:/p/:a:b", "/out"});
  REQUIRE(far);
  CHECK(far->operation == wire::Operation::pull);
  CHECK(far->host->name == "h");
  CHECK(far->sources == std::vector<std::string>{"/pool/./docs/a", "/pool/b/", "/pool/", "/p/./a:b"});
  CHECK(far->shown_sources.front() == "me@h:/pool:docs/a");
  CHECK(far->destination == "/out");
  const auto near = past(CommandId::verify, {"/pool:docs/", "/out"});
  REQUIRE(near);
  CHECK(near->operation == wire::Operation::pull);
  CHECK(near->sources == std::vector<std::string>{"/pool/./docs/"});
  CHECK(past(CommandId::restore, {"/:etc", "/out"})->sources == std::vector<std::string>{"/./etc"});
  // What separates place and path is nothing that a user writes.
  CHECK(past(CommandId::restore, {"/a/././b/./c", "/out"})->sources == std::vector<std::string>{"/a/b/c"});
  CHECK(past(CommandId::restore, {"h:./a/./b:c/./d", "/out"})->sources == std::vector<std::string>{"./a/b/./c/d"});
  // Without --at a colon is a part of the name.
  CHECK(resolved(CommandId::pull, {"h:/pool:docs", "/b"}).sources == std::vector<std::string>{"/pool:docs"});
  CHECK(past(CommandId::restore, {"/pool:a", "h:/b"}).error().context.find("restore on h") != std::string::npos);
  CHECK(past(CommandId::verify, {"/pool:a", "h:/b"}).error().code == Errc::usage);
  CHECK(past(CommandId::restore, {"/pool:../a", "/b"}).error().code == Errc::path);
}

TEST_CASE("sides that do not fit are refused with what to do", "[cli]") {
  CHECK(refused(CommandId::push, {"h:/a", "/b"}).find("pull") != std::string::npos);
  CHECK(refused(CommandId::pull, {"/a", "h:/b"}).find("push") != std::string::npos);
  CHECK(refused(CommandId::verify, {"h:/a", "g:/b"}).find("both be remote") != std::string::npos);
  CHECK(refused(CommandId::pull, {"h:/a", "g:/b", "/c"}).find("one host") != std::string::npos);
  CHECK(refused(CommandId::push, {"/a", "-h:/b"}).find('h') != std::string::npos);
}

TEST_CASE("one place has one key however it is spelled", "[cli]") {
  CHECK(destination_key("H:/pool//x/").value() == destination_key("h:/pool/./x").value());
  CHECK(destination_key("h:pool").value() == "h:pool");
  CHECK(destination_key("h:").value() == "h:.");
  CHECK(destination_key("ssh://me@h:2222/p").value() == "me@h:2222:/p");
  CHECK(destination_key("h:/p").value() != destination_key("ssh://h:2222/p").value());
  CHECK(destination_key("/usr/../usr/").value() == "/usr");
  CHECK(destination_key("/nowhere/./x").value() == "/nowhere/x");
  CHECK(destination_key("/").value() == "/");
}

TEST_CASE("a source's key knows its trailing slash", "[cli]") {
  const auto with = resolved(CommandId::push, {"/usr/", "/d"});
  const auto without = resolved(CommandId::push, {"/usr", "/d"});
  CHECK(with.source_key == "/usr/");
  CHECK(without.source_key == "/usr");
  CHECK(resolved(CommandId::push, {"/usr", "/lib/..", "/d"}).source_key.find('\n') != std::string::npos);
}
