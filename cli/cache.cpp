// SPDX-License-Identifier: Apache-2.0
// cache: what this client remembers of contents (digests, signatures) and hosts: how much it is, and taking it away. Never
// touches what it knows of sets; that is `status --forget`.
#include <fmt/format.h>

#include "base/text.hpp"
#include "cache/upkeep.hpp"
#include "cli/commands.hpp"
#include "cli/json_events.hpp"
#include "cli/memory.hpp"
#include "cli/print.hpp"
#include "cli/quantities.hpp"
#include "cli/terminal.hpp"
#include "cli/user_files.hpp"

namespace nb::cli {
namespace {

// A run goes on without its memory; a command about it cannot.
Result<std::shared_ptr<cache::Store>> usable_memory() {
  auto store = open_memory([](const std::string& text) { print_message(escape(text)); });
  if (!store->usable()) return fail(Errc::unsupported, "this client's memory cannot be used");
  return store;
}

Status print_path() {
  NB_TRY_ASSIGN(const std::string path, memory_path());
  print_out("{}\n", escape(path));
  return {};
}

Status show(const Settings& settings) {
  NB_TRY_ASSIGN(const auto store, usable_memory());
  const auto use = cache::measure(*store);
  if (!use) return fail(Errc::io, store->path());
  if (settings.json) {
    print_out("{}\n", json_cache_use(*use, store->path()));
    return {};
  }
  print_out("path        {}\n", escape(store->path()));
  print_out("size        {}\n", format_bytes(use->file_bytes));
  print_out("digests     {}\n", format_counted(use->digests, "file", "files"));
  print_out("signatures  {}, {}\n", format_counted(use->signatures, "file", "files"),
            format_bytes(use->signature_bytes));
  print_out("attributes  none in {}\n", format_counted(use->bare_directories, "directory", "directories"));
  print_out("sets        {}\n", format_count(use->sets));
  return {};
}

Status take_away(const Settings& settings, const cache::Store& store, const std::optional<cache::Pruned>& gone) {
  if (!gone) return fail(Errc::io, store.path());
  if (settings.json) {
    print_out("{}\n", json_cache_pruned(*gone));
  } else {
    print_out("removed {}, {}, {} and {}\n", format_counted(gone->digests, "digest", "digests"),
              format_counted(gone->signatures, "signature", "signatures"),
              format_counted(gone->bare_directories, "note of a directory", "notes of directories"),
              format_counted(gone->hosts, "host", "hosts"));
  }
  return {};
}

Status prune(const Settings& settings, Clock& clock) {
  NB_TRY_ASSIGN(const auto store, usable_memory());
  cache::PruneLimits limits;
  if (settings.max_age) limits.unseen_for = std::chrono::ceil<std::chrono::days>(*settings.max_age);
  return take_away(settings, *store, cache::prune(*store, limits, clock.wall()));
}

Status clear(const Settings& settings) {
  NB_TRY_ASSIGN(const auto store, usable_memory());
  return take_away(settings, *store, cache::clear(*store));
}

Status cache_command(const Settings& settings, Clock& clock) {
  const std::string& verb = settings.arguments.front();
  if (settings.max_age && verb != "prune") return fail(Errc::usage, "--max-age goes with prune");
  if (verb == "path") return print_path();
  if (verb == "show") return show(settings);
  if (verb == "prune") return prune(settings, clock);
  if (verb == "clear") return clear(settings);
  return fail(Errc::usage, "cache takes show, prune, clear or path, not " + verb);
}

}  // namespace

int run_cache(const Settings& settings, Clock& clock) {
  const auto done = cache_command(settings, clock);
  return done ? 0 : report_failure(done.error());
}

}  // namespace nb::cli
