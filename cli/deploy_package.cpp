// SPDX-License-Identifier: Apache-2.0
#include "cli/deploy_package.hpp"

#include <cstdlib>
#include <filesystem>

#include "base/text.hpp"
#include "transport/process_stream.hpp"

namespace nb::cli {
namespace {

namespace stdfs = std::filesystem;

constexpr std::size_t k_most_output_bytes = 64 << 10;
constexpr std::chrono::seconds k_limit{60};

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// As nssh/source.sh finds it.
stdfs::path package_folder() {
  const std::string named = environment("NSSH_CACHE");
  if (!named.empty()) return stdfs::path(named) / "packages";
  const std::string caches = environment("XDG_CACHE_HOME");
  return (caches.empty() ? stdfs::path(environment("HOME")) / ".cache" : stdfs::path(caches)) / "nbackup/nssh/packages";
}

// Whether dpkg takes `one` for an older version than `other`.
Result<bool> is_older(const std::string& one, const std::string& other) {
  NB_TRY_ASSIGN(const auto done, transport::run_and_capture({"dpkg", "--compare-versions", one, "lt", other},
                                                            k_most_output_bytes, k_limit));
  return done.end.ended_well();
}

// The value of "Name: value" in `text`.
std::string field(const std::string& text, const std::string& name) {
  for (const std::string_view line : split(text, '\n')) {
    if (line.starts_with(name + ": ")) return std::string(line.substr(name.size() + 2));
  }
  return {};
}

}  // namespace

Result<std::string> find_nssh_package(const std::string& architecture) {
  const stdfs::path folder = package_folder();
  stdfs::path newest;
  stdfs::file_time_type newest_time{};
  std::error_code ignored;
  for (const auto& entry : stdfs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("nssh_") || !name.ends_with("_" + architecture + ".deb")) continue;
    const auto time = entry.last_write_time(ignored);
    if (!newest.empty() && time <= newest_time) continue;
    newest = entry.path();
    newest_time = time;
  }
  if (!newest.empty()) return newest.string();
  return fail(Errc::not_found, "a package of nssh for " + architecture +
                                   " (on such a machine, in nbackup's source: nssh/build --package " + folder.string() +
                                   "; or name one: --nssh-package FILE)");
}

Result<PackageOffer> describe_nssh_package(const std::string& file, const std::string& installed) {
  std::error_code error;
  const std::uint64_t size = stdfs::file_size(file, error);
  if (error) return fail_errno(file, error.value());
  const auto told = transport::run_and_capture({"dpkg-deb", "--field", file, "Package", "Version", "Architecture"},
                                               k_most_output_bytes, k_limit);
  if (!told) return wrap(told.error(), "dpkg-deb, which tells what a package is");
  PackageOffer offer{file, field(told->output, "Version"), field(told->output, "Architecture"), size, false};
  if (field(told->output, "Package") != "nssh" || offer.version.empty()) {
    return fail(Errc::usage, file + " is not a Debian package of nssh");
  }
  if (!installed.empty()) {
    NB_TRY_ASSIGN(offer.older_than_there, is_older(offer.version, installed));
  }
  return offer;
}

}  // namespace nb::cli
