// SPDX-License-Identifier: Apache-2.0
// What `deploy` makes of what a host says, before anything is sent there.
#include "cli/deploy_plan.hpp"

#include <elf.h>
#include <catch2/catch.hpp>

using namespace nb;
using namespace nb::cli;

namespace {

const std::vector<std::string> k_empty_host{"machine x86_64",
                                            "bits 64",
                                            "system Debian GNU/Linux 12 (bookworm)",
                                            "root no",
                                            "directory /home/me/.local/bin",
                                            "room-kib 1000000",
                                            "sums yes",
                                            "dpkg amd64",
                                            "nssh-package ",
                                            "something new"};

HostFacts facts_of(const std::vector<std::string>& more = {}) {
  auto lines = k_empty_host;
  lines.insert(lines.end(), more.begin(), more.end());
  auto facts = parse_host_facts(lines);
  REQUIRE(facts);
  return *facts;
}

DeployRequest request() {
  return {"rpi4", DeployPlace::user, false, {"this nbackup", {EM_X86_64, 64}, 5 << 20, "abc", "nbackup 0.2.0"}, {}};
}

DeployRequest with_package() {
  DeployRequest asked = request();
  asked.package = PackageOffer{"nssh.deb", "1.2", "amd64", 1 << 20, false};
  return asked;
}

Errc refusal(const HostFacts& facts, const DeployRequest& asked) {
  const auto plan = make_deploy_plan(facts, asked);
  REQUIRE_FALSE(plan);
  return plan.error().code;
}

}  // namespace

TEST_CASE("facts are read, unknown ones passed over, and the machine is needed", "[cli]") {
  const HostFacts facts = facts_of({"target file", "target-sum abc", "nssh-package installed 9.2"});
  CHECK(facts.system == "Debian GNU/Linux 12 (bookworm)");
  CHECK(facts.bits == 64);
  CHECK(facts.room_kib == 1'000'000U);
  CHECK(facts.target == HostFacts::Target::file);
  CHECK(facts.nssh_version == "9.2");
  CHECK(facts_of({"nssh-package deinstalled 9.2"}).nssh_version.empty());
  CHECK_FALSE(facts_of({"room-kib much"}).room_kib);
  CHECK_FALSE(parse_host_facts({"machine x86_64"}));
  CHECK_FALSE(parse_host_facts({"directory /home/me/.local/bin"}));
}

TEST_CASE("a host without nbackup gets it", "[cli]") {
  const auto plan = make_deploy_plan(facts_of(), request());
  REQUIRE(plan);
  CHECK(plan->send_program);
  CHECK(plan->lines.back() == "put nbackup 0.2.0 (5.0 MiB) at /home/me/.local/bin/nbackup");
}

TEST_CASE("what is there already is not sent again", "[cli]") {
  const HostFacts placed = facts_of({"target file", "target-sum abc", "target-version nbackup 0.2.0"});
  const auto same = make_deploy_plan(placed, request());
  REQUIRE(same);
  CHECK_FALSE(same->send_program);
  const HostFacts packaged = facts_of({"found /usr/bin/nbackup", "found-version nbackup 0.2.0"});
  CHECK_FALSE(make_deploy_plan(packaged, request())->send_program);
  DeployRequest forced = request();
  forced.force = true;
  CHECK(make_deploy_plan(packaged, forced)->send_program);
}

TEST_CASE("an older program is replaced, a newer one only by force", "[cli]") {
  const auto old = make_deploy_plan(facts_of({"target file", "target-version nbackup 0.1.10"}), request());
  REQUIRE(old);
  CHECK(old->lines.back().starts_with("replace nbackup 0.1.10 at /home/me/.local/bin/nbackup by"));
  const HostFacts newer = facts_of({"target file", "target-version nbackup 0.10.0"});
  CHECK(refusal(newer, request()) == Errc::unsupported);
  DeployRequest forced = request();
  forced.force = true;
  CHECK(make_deploy_plan(newer, forced)->send_program);
}

TEST_CASE("a host that cannot take the program is refused before anything is sent", "[cli]") {
  CHECK(refusal(facts_of({"machine aarch64"}), request()) == Errc::unsupported);
  CHECK(refusal(facts_of({"machine pdp11"}), request()) == Errc::unsupported);
  CHECK(refusal(facts_of({"bits 32"}), request()) == Errc::unsupported);
  CHECK(refusal(facts_of({"sums no"}), request()) == Errc::unsupported);
  CHECK(refusal(facts_of({"room-kib 5200"}), request()) == Errc::no_space);
  CHECK(refusal(facts_of({"target directory"}), request()) == Errc::exists);
  DeployRequest for_all = request();
  for_all.place = DeployPlace::system;
  CHECK(refusal(facts_of({"sudo sudo: a password is required"}), for_all) == Errc::unsupported);
}

TEST_CASE("nssh needs root, the right package, and no nssh of another kind", "[cli]") {
  CHECK(refusal(facts_of(), with_package()) == Errc::unsupported);
  const auto plan = make_deploy_plan(facts_of({"root yes"}), with_package());
  REQUIRE(plan);
  CHECK(plan->send_package);
  CHECK_FALSE(make_deploy_plan(facts_of({"root yes", "nssh-package installed 1.2"}), with_package())->send_package);
  CHECK(refusal(facts_of({"root yes", "dpkg arm64"}), with_package()) == Errc::unsupported);
  CHECK(refusal(facts_of({"root yes", "dpkg "}), with_package()) == Errc::unsupported);
  CHECK(refusal(facts_of({"root yes", "nssh-sshd yes"}), with_package()) == Errc::unsupported);
  DeployRequest older = with_package();
  older.package->older_than_there = true;
  CHECK(refusal(facts_of({"root yes", "nssh-package installed 2.0"}), older) == Errc::unsupported);
}

TEST_CASE("a program that a command does not find is named by --remote-path", "[cli]") {
  const HostFacts facts = facts_of();
  CHECK(path_note(facts, DeployPlace::user, "/home/me/.local/bin/nbackup").empty());
  CHECK(path_note(facts, DeployPlace::user, "/bin/nbackup").find("--remote-path=.local/bin/nbackup") !=
        std::string::npos);
  CHECK(path_note(facts, DeployPlace::user, "/usr/bin/nbackup").find("/usr/bin/nbackup") != std::string::npos);
}

TEST_CASE("versions and protocols are compared as numbers", "[cli]") {
  CHECK(check_not_older("nbackup 0.10.0", "nbackup 0.9.9", false));
  CHECK_FALSE(check_not_older("nbackup 0.9.9", "nbackup 0.10.0", false));
  CHECK(check_not_older("nbackup 0.9.9", "something else", false));
  CHECK(speaks_our_protocol("protocol 1 to 1"));
  CHECK_FALSE(speaks_our_protocol("protocol 1000 to 1001"));
  CHECK_FALSE(speaks_our_protocol("protocol"));
  CHECK_FALSE(speaks_our_protocol(""));
}
