// SPDX-License-Identifier: Apache-2.0
#include "cli/option_table.hpp"

#include <array>
#include <limits>

#include "base/assert.hpp"
#include "base/text.hpp"
#include "cli/change_mail.hpp"
#include "cli/drill_sample.hpp"
#include "cli/ping.hpp"
#include "cli/quantities.hpp"

namespace nb::cli {
namespace {

using enum OptionKind;
using Text = const std::string&;

constexpr CommandMask k_push = mask_of(CommandId::push);
constexpr CommandMask k_restore = mask_of(CommandId::restore);
constexpr CommandMask k_writes = k_push | mask_of(CommandId::pull) | k_restore;
constexpr CommandMask k_runs = k_writes | mask_of(CommandId::verify);
constexpr CommandMask k_serve = mask_of(CommandId::serve);
constexpr CommandMask k_status = mask_of(CommandId::status);
constexpr CommandMask k_bench = mask_of(CommandId::bench);
constexpr CommandMask k_doctor = mask_of(CommandId::doctor);
constexpr CommandMask k_generations = mask_of(CommandId::generations);
constexpr CommandMask k_ls = mask_of(CommandId::ls);
constexpr CommandMask k_diff = mask_of(CommandId::diff);
constexpr CommandMask k_rollback = mask_of(CommandId::rollback);
constexpr CommandMask k_looks = k_generations | k_ls | mask_of(CommandId::cat) | k_diff | k_rollback;
constexpr CommandMask k_prune = mask_of(CommandId::prune);
constexpr CommandMask k_policy = mask_of(CommandId::policy);
constexpr CommandMask k_drill = mask_of(CommandId::drill);
constexpr CommandMask k_scrub = mask_of(CommandId::scrub);
constexpr CommandMask k_heal = mask_of(CommandId::heal);
constexpr CommandMask k_keeps = k_prune | k_policy | mask_of(CommandId::init);
constexpr CommandMask k_works = k_runs | mask_of(CommandId::init) | mask_of(CommandId::recover);
constexpr CommandMask k_connects =
    k_works | k_bench | k_doctor | k_looks | k_prune | k_policy | k_drill | k_scrub | k_heal;
constexpr CommandMask k_cache = mask_of(CommandId::cache);
constexpr CommandMask k_deploy = mask_of(CommandId::deploy);
// What can be reported on: cli/reported_run.hpp.
constexpr CommandMask k_reports = k_runs | k_prune | k_drill | k_scrub | k_heal;
constexpr CommandMask k_all = (1U << 22) - 1;

constexpr const char* k_what = "What is transferred";
constexpr const char* k_guards = "Guards";
constexpr const char* k_link = "Connection and waiting";
constexpr const char* k_output = "Output";
constexpr const char* k_tells = "Reports";
constexpr const char* k_own = "Options";
constexpr const char* k_keep = "What stays";
constexpr const char* k_hidden = "";
constexpr std::size_t k_any_number = std::numeric_limits<std::size_t>::max();

template <wire::OpenFlag bit>
Status set_flag(Settings& settings, Text) {
  settings.flags |= bit;
  return {};
}

template <bool Settings::*member>
Status set_true(Settings& settings, Text) {
  settings.*member = true;
  return {};
}

template <std::optional<std::string> Settings::*member>
Status set_text(Settings& settings, Text value) {
  settings.*member = value;
  return {};
}

template <auto member>
Status set_seconds(Settings& settings, Text value) {
  NB_TRY_ASSIGN(settings.*member, parse_seconds(value));
  return {};
}

template <FilterKind kind>
Status add_filter(Settings& settings, Text value) {
  settings.filters.push_back({kind, value});
  return {};
}

template <ProgressChoice choice>
Status set_progress(Settings& settings, Text) {
  settings.progress = choice;
  return {};
}

Status add_verbosity(Settings& settings, Text) {
  ++settings.verbosity;
  return {};
}

Status set_max_delete(Settings& settings, Text value) {
  if (value == "-1") {
    settings.max_delete = session::k_no_max_delete;
    return {};
  }
  const auto number = parse_u64(value);
  if (!number || *number > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
    return fail(Errc::usage, "'" + std::string(value) + "' is not a number of entries (-1 lifts the limit)");
  }
  settings.max_delete = static_cast<std::int64_t>(*number);
  return {};
}

Status set_rate(Settings& settings, Text value) {
  NB_TRY_ASSIGN(settings.bytes_per_second, parse_rate(value));
  return {};
}

Status set_max_age(Settings& settings, Text value) {
  NB_TRY_ASSIGN(settings.max_age, parse_age(value));
  return {};
}

Status set_part(Settings& settings, Text value) {
  constexpr std::uint64_t k_most_parts = 10'000;
  const std::size_t slash = value.find('/');
  const auto number = parse_u64(value.substr(0, slash));
  const auto count = slash == std::string::npos ? std::nullopt : parse_u64(value.substr(slash + 1));
  const bool is_part = number && count && *number >= 1 && *number <= *count && *count <= k_most_parts;
  if (!is_part) return fail(Errc::usage, "'" + std::string(value) + "' is no part: 1/30 is the first of 30");
  settings.part = {*number, *count};
  return {};
}

Status set_scrub_time(Settings& settings, Text value) {
  NB_TRY_ASSIGN(settings.scrub_time, parse_age(value));
  return {};
}

Status set_retries(Settings& settings, Text value) {
  const auto number = parse_u64(value);
  if (!number || *number > 1'000'000) return fail(Errc::usage, "'" + std::string(value) + "' is not a number of tries");
  settings.retries = static_cast<unsigned>(*number);
  return {};
}

Status set_ping_url(Settings& settings, Text value) {
  NB_TRY(check_ping_url(value));
  settings.ping_url = value;
  return {};
}

Status set_mail(Settings& settings, Text value) {
  NB_TRY(check_mail_address(value));
  settings.mail_on_change = value;
  return {};
}

Status set_sample(Settings& settings, Text value) {
  const auto number = parse_u64(value);
  if (!number || *number == 0 || *number > k_most_sampled) {
    return fail(Errc::usage, "'" + std::string(value) + "' is not a number of files to restore: 1 to 10000");
  }
  settings.sample = *number;
  return {};
}

Status set_limit(Settings& settings, Text value) {
  NB_TRY_ASSIGN(settings.limit_bytes, parse_size(value));
  return {};
}

Status add_drill_source(Settings& settings, Text value) {
  settings.drill_sources.push_back(value);
  return {};
}

Status set_bench_time(Settings& settings, Text value) {
  constexpr std::chrono::seconds k_most{3600};
  NB_TRY_ASSIGN(settings.bench_time, parse_seconds(value));
  if (settings.bench_time.count() >= 1 && settings.bench_time <= k_most) return {};
  return fail(Errc::usage, "'" + std::string(value) + "' is not a time to measure in: 1 to 3600 seconds");
}

Result<std::uint64_t> parse_keep_count(Text value) {
  if (value == "all") return txn::k_keep_all;
  const auto number = parse_u64(value);
  if (!number) return fail(Errc::usage, "'" + std::string(value) + "' is not a number of generations, nor 'all'");
  return *number;
}

template <std::uint64_t txn::RetentionPolicy::*rule>
Status set_keep(Settings& settings, Text value) {
  NB_TRY_ASSIGN(const std::uint64_t count, parse_keep_count(value));
  if (!settings.keep) settings.keep.emplace();
  (*settings.keep).*rule = count;
  return {};
}

Status set_keep_within(Settings& settings, Text value) {
  NB_TRY_ASSIGN(const std::chrono::seconds age, parse_age(value));
  if (!settings.keep) settings.keep.emplace();
  settings.keep->within_seconds = static_cast<std::uint64_t>(age.count());
  return {};
}

Status accept(Settings&, Text) { return {}; }

template <Deltas choice>
Status set_deltas(Settings& settings, Text) {
  settings.deltas = choice;
  return {};
}

Status set_compression_level(Settings& settings, Text value) {
  NB_TRY_ASSIGN(const int level, parse_level(value));
  NB_TRY_ASSIGN(settings.compression, codec::compression_of_level(level));
  return {};
}

template <codec::CompressionMode mode>
Status set_compression(Settings& settings, Text) {
  settings.compression = codec::Compression{mode, 0};
  return {};
}

Status set_security(Settings& settings, Text value) {
  const auto named = ssh::security_from_name(value);
  if (!named) return fail(Errc::usage, "'" + std::string(value) + "' is none of encrypted, integrity and off");
  settings.security = *named;
  return {};
}

template <std::optional<std::string> ssh::AlgorithmLists::*member>
Status set_algorithms(Settings& settings, Text value) {
  NB_TRY_ASSIGN(settings.algorithms.*member, ssh::parse_algorithm_list(value));
  return {};
}

constexpr std::array k_options{
    OptionRow{"--at", valued, "WHEN", k_restore, k_what,
              "as it was then: 7 (a generation), yesterday,\n-3d, -12h, 2026-11-30, 2026-11-30T14:05;\ndefault: latest",
              set_text<&Settings::at>},
    OptionRow{"--at", valued, "WHEN", mask_of(CommandId::pull) | mask_of(CommandId::verify), k_what,
              "SRC lies in a file set, as it was then: 7 (a\ngeneration), yesterday, -3d, 2026-11-30, latest",
              set_text<&Settings::at>},
    OptionRow{"--verify", toggle, "", k_restore, k_what, "read back what was restored, and compare",
              set_true<&Settings::read_back>},
    OptionRow{"-n,--dry-run", toggle, "", k_writes, k_what, "show what would be done, change nothing",
              set_flag<wire::k_flag_dry_run>},
    OptionRow{"--delete", toggle, "", k_writes, k_what, "remove from DEST what SRC does not have",
              set_flag<wire::k_flag_delete>},
    OptionRow{"--delete", toggle, "", mask_of(CommandId::verify), k_what, "what SRC does not have is a difference too",
              set_flag<wire::k_flag_delete>},
    OptionRow{"-c,--checksum", toggle, "", k_writes, k_what, "compare contents, not size and time",
              set_flag<wire::k_flag_checksum>},
    OptionRow{"-W,--whole-file", toggle, "", k_writes, k_what,
              "send changed files whole (default if both\nends are this machine)", set_deltas<Deltas::never>},
    OptionRow{"--no-whole-file", toggle, "", k_writes, k_what, "send what differs from the old file",
              set_deltas<Deltas::always>},
    OptionRow{"--paranoid", toggle, "", k_runs, k_what, "believe no digest of an earlier run: read it all",
              set_true<&Settings::paranoid>},
    OptionRow{"--no-history", toggle, "", k_push, k_what, "do not keep what this run replaces and removes",
              set_flag<wire::k_flag_no_history>},
    OptionRow{"-x,--one-file-system", toggle, "", k_runs, k_what, "do not enter other file systems",
              set_flag<wire::k_flag_one_file_system>},
    OptionRow{"--exclude", valued, "PATTERN", k_runs, k_what,
              "leave out what matches; the first matching\nrule decides", add_filter<FilterKind::exclude>},
    OptionRow{"--include", valued, "PATTERN", k_runs, k_what, "keep what matches", add_filter<FilterKind::include>},
    OptionRow{"--exclude-from", valued, "FILE", k_runs, k_what, "read exclude patterns from FILE (- is stdin)",
              add_filter<FilterKind::exclude_from>},

    OptionRow{"--max-delete", valued, "N", k_writes, k_guards,
              "stop before anything changes if more than N\nentries would go; -1: no limit. Default: as the\n"
              "set's policy says, else half of it or 1,000",
              set_max_delete},
    OptionRow{"--allow-empty", toggle, "", k_writes, k_guards, "an empty source may empty the set",
              set_flag<wire::k_flag_allow_empty>},
    OptionRow{"--allow-unmounted", toggle, "", k_push, k_guards, "a mount point of the last push may be gone",
              set_true<&Settings::allow_unmounted>},
    OptionRow{"--new-set", toggle, "", k_push, k_guards, "DEST may hold another set than last time",
              set_flag<wire::k_flag_new_set>},

    OptionRow{"-e,--rsh", valued, "COMMAND", k_connects | k_deploy, k_link, "remote shell to use: 'ssh -p 2222'",
              set_text<&Settings::rsh>},
    OptionRow{"--remote-path,--rsync-path", valued, "COMMAND", k_connects, k_link,
              "what to run on the remote host for nbackup", set_text<&Settings::remote_path>},
    OptionRow{"--ssh-config", valued, "FILE", k_connects | k_deploy, k_link, "instead of ~/.ssh/config",
              set_text<&Settings::ssh_config>},
    OptionRow{"--ssh-security", valued, "LEVEL", k_connects, k_link,
              "encrypted (default); integrity: readable on the\nwire, not forgeable; off: neither. For trusted\n"
              "networks; needs nssh there",
              set_security},
    OptionRow{"--allow-tampering", toggle, "", k_connects, k_link, "what --ssh-security=off needs beside it",
              set_true<&Settings::allow_tampering>},
    OptionRow{"--ciphers", valued, "LIST", k_connects | k_deploy, k_link,
              "SSH ciphers, best first, with commas between", set_algorithms<&ssh::AlgorithmLists::ciphers>},
    OptionRow{"--macs", valued, "LIST", k_connects | k_deploy, k_link, "the same for MACs",
              set_algorithms<&ssh::AlgorithmLists::macs>},
    OptionRow{"--kex", valued, "LIST", k_connects | k_deploy, k_link, "the same for key exchange methods",
              set_algorithms<&ssh::AlgorithmLists::kex>},
    OptionRow{"--bwlimit", valued, "RATE", k_scrub, k_own, "read at most RATE KiB a second; 1.5m, 10MB, ...", set_rate},
    OptionRow{"--part", valued, "K/N", k_scrub, k_own,
              "the K-th of N parts: 30 nights of 1/30 to 30/30\nread all of it", set_part},
    OptionRow{"--time", valued, "TIME", k_scrub, k_own,
              "stop after TIME (90s, 30m, 1h); the next scrub\ngoes on from there", set_scrub_time},
    OptionRow{"--bwlimit", valued, "RATE", k_runs | k_serve | k_drill, k_link,
              "at most RATE KiB a second; 1.5m, 10MB, ...", set_rate},
    OptionRow{"-z,--compress", toggle, "", k_runs, k_link, "compress with zstd as the link asks for (default)",
              set_compression<codec::CompressionMode::automatic>},
    OptionRow{"--compress-level,--zl", valued, "NUM", k_runs, k_link, "always at this zstd level: -7 to 19; 0: none",
              set_compression_level},
    OptionRow{"--no-compress", toggle, "", k_runs, k_link, "do not compress",
              set_compression<codec::CompressionMode::off>},
    OptionRow{"--timeout", valued, "SECONDS",
              k_runs | k_serve | k_deploy | k_looks | k_prune | k_policy | k_drill | k_scrub | k_heal, k_link,
              "give up after this long without data (300)", set_seconds<&Settings::timeout>},
    OptionRow{"--contimeout", valued, "SECONDS", k_connects | k_deploy, k_link, "give up connecting after this long",
              set_seconds<&Settings::connect_timeout>},
    OptionRow{"--retry", valued, "N", k_runs, k_link, "connect again up to N times and resume", set_retries},
    OptionRow{"--wait", valued, "SECONDS",
              k_writes | mask_of(CommandId::recover) | k_rollback | k_prune | k_policy | k_heal, k_link,
              "wait for another writer of the set", set_seconds<&Settings::wait>},
    OptionRow{"--wait-readers", valued, "SECONDS", k_writes | k_rollback | k_prune | k_heal, k_link,
              "wait for readers at the commit (60)", set_seconds<&Settings::wait_readers>},

    OptionRow{"-v,--verbose", toggle, "", k_runs, k_output, "name each file that changes", add_verbosity},
    OptionRow{"-i,--itemize-changes", toggle, "", k_runs, k_output, "name each change in rsync's short form",
              set_true<&Settings::itemize>},
    OptionRow{"-q,--quiet", toggle, "", k_works | k_deploy | k_prune | k_policy | k_drill | k_scrub | k_heal, k_output,
              "print nothing but errors and warnings", set_true<&Settings::quiet>},
    OptionRow{"-q,--quiet", toggle, "", k_bench, k_output, "print nothing but the result and errors",
              set_true<&Settings::quiet>},
    OptionRow{"-q,--quiet", toggle, "", k_doctor, k_output, "print hints and problems only",
              set_true<&Settings::quiet>},
    OptionRow{"--stats", toggle, "", k_runs, k_output, "print counts at the end", set_true<&Settings::stats>},
    OptionRow{"--progress", toggle, "", k_runs | k_bench, k_output, "show progress on a terminal (default there)",
              set_progress<ProgressChoice::always>},
    OptionRow{"--no-progress", toggle, "", k_runs | k_bench, k_output, "never show progress",
              set_progress<ProgressChoice::never>},
    OptionRow{"--json", toggle, "",
              k_runs | k_status | k_cache | k_generations | k_ls | k_diff | k_rollback | k_prune | k_policy | k_drill |
                  k_scrub | k_heal,
              k_output, "one JSON object a line on standard output", set_true<&Settings::json>},
    OptionRow{"--json", toggle, "", k_bench | k_doctor, k_output, "one JSON document on standard output",
              set_true<&Settings::json>},
    OptionRow{"--csv", toggle, "", k_bench, k_output, "the pairs of cipher and MAC as CSV", set_true<&Settings::csv>},
    OptionRow{"--log-file", valued, "FILE", k_runs, k_output, "append what happens to FILE, with times",
              set_text<&Settings::log_file>},

    OptionRow{"--before", valued, "COMMAND", k_reports, k_tells,
              "run this first, by sh; if it fails, nothing\nelse is done", set_text<&Settings::before>},
    OptionRow{"--after", valued, "COMMAND", k_reports, k_tells, "run this when all went well",
              set_text<&Settings::after>},
    OptionRow{"--on-failure", valued, "COMMAND", k_reports, k_tells, "run this when it did not",
              set_text<&Settings::on_failure>},
    OptionRow{"--ping-url", valued, "URL", k_reports, k_tells,
              "tell URL/start, then URL, or URL/fail, as\nhealthchecks.io wants it", set_ping_url},
    OptionRow{"--mail-on-change", valued, "ADDRESS", k_reports, k_tells,
              "mail when the outcome is not that of last time", set_mail},

    OptionRow{"--at", valued, "WHEN", k_ls | mask_of(CommandId::cat), k_own,
              "what was there then: a generation (7), latest\n(default), yesterday, -3d, -12h, 2026-11-30,\n"
              "2026-11-30T14:05",
              set_text<&Settings::at>},
    OptionRow{"--at", valued, "WHEN", k_drill, k_own,
              "restore from then: a generation (7), yesterday,\n-3d, 2026-11-30; default: the live tree, and a\n"
              "quarter from some older generation",
              set_text<&Settings::at>},
    OptionRow{"--sample", valued, "N", k_drill, k_own, "how many files to restore, chosen by chance (100)", set_sample},
    OptionRow{"--limit", valued, "SIZE", k_drill, k_own, "restore no more bytes than this (1G)", set_limit},
    OptionRow{"--source", valued, "SRC", k_drill, k_own,
              "compare with this too, named as for push;\ndefault: what this client pushed there", add_drill_source},
    OptionRow{"--from", valued, "WHEN", k_diff, k_own,
              "the older side: a generation (7), yesterday,\n-3d, -12h, 2026-11-30, 2026-11-30T14:05",
              set_text<&Settings::from>},
    OptionRow{"--to", valued, "WHEN", k_diff, k_own, "the newer side (latest)", set_text<&Settings::to>},
    OptionRow{"--to", valued, "WHEN", k_rollback, k_own,
              "what becomes the live tree: a generation (7),\nyesterday, -3d, 2026-11-30, 2026-11-30T14:05",
              set_text<&Settings::to>},
    OptionRow{"-n,--dry-run", toggle, "", k_rollback, k_own, "list what would change, change nothing",
              set_flag<wire::k_flag_dry_run>},
    OptionRow{"-i,--itemize-changes", toggle, "", k_rollback, k_own, "name each change in rsync's short form",
              set_true<&Settings::itemize>},
    OptionRow{"-l,--long", toggle, "", k_ls, k_own, "mode, owner, size and time too", set_true<&Settings::long_form>},
    OptionRow{"-R,-r,--recursive", toggle, "", k_ls, k_own, "all that is below too, a path a line",
              set_true<&Settings::recursive>},
    OptionRow{"--max-age", valued, "AGE", k_status, k_own, "exit 50 if a last push is older: 90s, 30m,\n26h, 3d, 2w",
              set_max_age},
    OptionRow{"--max-age", valued, "AGE", k_cache, k_own, "prune: what was not used for so long goes (90d)",
              set_max_age},
    OptionRow{"--forget", toggle, "", k_status, k_own, "remove DEST from this client's memory",
              set_true<&Settings::forget>},
    OptionRow{"--keep-last", valued, "N", k_keeps, k_keep, "the N newest generations; all: no limit",
              set_keep<&txn::RetentionPolicy::last>},
    OptionRow{"--keep-hourly", valued, "N", k_keeps, k_keep, "the newest of each of the N newest hours",
              set_keep<&txn::RetentionPolicy::hourly>},
    OptionRow{"--keep-daily", valued, "N", k_keeps, k_keep, "the same for days",
              set_keep<&txn::RetentionPolicy::daily>},
    OptionRow{"--keep-weekly", valued, "N", k_keeps, k_keep, "for weeks (ISO 8601)",
              set_keep<&txn::RetentionPolicy::weekly>},
    OptionRow{"--keep-monthly", valued, "N", k_keeps, k_keep, "for months", set_keep<&txn::RetentionPolicy::monthly>},
    OptionRow{"--keep-yearly", valued, "N", k_keeps, k_keep, "for years", set_keep<&txn::RetentionPolicy::yearly>},
    OptionRow{"--keep-within", valued, "AGE", k_keeps, k_keep,
              "all that are at most AGE older than the\nnewest: 36h, 30d, 8w", set_keep_within},
    OptionRow{"--max-delete", valued, "N", k_policy | mask_of(CommandId::init), k_keep,
              "how many entries a push may delete that names\nno limit, or may only add; -1: any number",
              set_max_delete},
    OptionRow{"--default", toggle, "", k_policy, k_keep,
              "forget the set's own policy: the last 7 and all\nwithin 30 days", set_true<&Settings::default_policy>},
    OptionRow{"-n,--dry-run", toggle, "", k_prune, k_own, "say what would go and why, change nothing",
              set_flag<wire::k_flag_dry_run>},
    OptionRow{"--damaged", toggle, "", k_prune, k_own, "drop what damage keeps from being restored, too",
              set_true<&Settings::damaged>},
    OptionRow{"-v,--verbose", toggle, "", k_prune, k_own, "name each generation, and why it stays or goes",
              add_verbosity},
    OptionRow{"--from", valued, "DIR", k_heal, k_own,
              "look for sound copies in DIR there too, at the\nsame paths: another set, a mounted copy, a source",
              set_text<&Settings::from>},
    OptionRow{"-n,--dry-run", toggle, "", k_heal, k_own, "say what could be healed from where, change nothing",
              set_flag<wire::k_flag_dry_run>},
    OptionRow{"--seconds", valued, "N", k_bench, k_own, "how long it may take (60)", set_bench_time},
    OptionRow{"--save", toggle, "", k_bench, k_own, "remember the order of algorithms for this host",
              set_true<&Settings::save>},
    OptionRow{"--write-here", valued, "DIR", k_bench, k_own, "measure the disk of DIR on this machine too",
              set_text<&Settings::write_here>},
    OptionRow{"--far-end", toggle, "", k_bench, k_hidden, "", set_true<&Settings::far_end>},
    OptionRow{"-n,--dry-run", toggle, "", k_deploy, k_own, "say what would be done, change nothing",
              set_flag<wire::k_flag_dry_run>},
    OptionRow{"--sudo", toggle, "", k_deploy, k_own,
              "for the system (/usr/local/bin), by sudo there;\ndefault: for the user (~/.local/bin)",
              set_true<&Settings::sudo>},
    OptionRow{"--binary", valued, "FILE", k_deploy, k_own,
              "the nbackup to put there, for another machine;\ndefault: this very one", set_text<&Settings::binary>},
    OptionRow{"--nssh", toggle, "", k_deploy, k_own, "install nssh too (Debian; as root or by --sudo)",
              set_true<&Settings::nssh>},
    OptionRow{"--nssh-package", valued, "FILE", k_deploy, k_own, "the same, this package of nssh",
              set_text<&Settings::nssh_package>},
    OptionRow{"--force", toggle, "", k_deploy, k_own, "in place of a newer version too", set_true<&Settings::force>},
    OptionRow{"--root", valued, "DIR", k_serve, k_own, "nothing outside DIR exists for the client",
              set_text<&Settings::root>},
    OptionRow{"--read-only", toggle, "", k_serve, k_own, "refuse to change anything", set_true<&Settings::read_only>},
    OptionRow{"--append-only", toggle, "", k_serve, k_own, "refuse what takes an earlier state away",
              set_true<&Settings::append_only>},

    // What rsync's users type by habit, and what always holds here.
    OptionRow{"-a,--archive", toggle, "", k_runs, k_hidden, "", accept},
    OptionRow{"-r,--recursive", toggle, "", k_runs, k_hidden, "", accept},
    OptionRow{"-l,--links", toggle, "", k_runs, k_hidden, "", accept},
    OptionRow{"-p,--perms", toggle, "", k_runs, k_hidden, "", accept},
    OptionRow{"-t,--times", toggle, "", k_runs, k_hidden, "", accept},
    OptionRow{"-g,--group", toggle, "", k_runs, k_hidden, "", accept},
    OptionRow{"-o,--owner", toggle, "", k_runs, k_hidden, "", accept},
    OptionRow{"-D", toggle, "", k_runs, k_hidden, "", accept},
    OptionRow{"-H,--hard-links", toggle, "", k_runs, k_hidden, "", accept},
    OptionRow{"-A,--acls", toggle, "", k_runs, k_hidden, "", accept},
    OptionRow{"-X,--xattrs", toggle, "", k_runs, k_hidden, "", accept},
    OptionRow{"-S,--sparse", toggle, "", k_runs, k_hidden, "", accept},
    OptionRow{"-h,--human-readable", toggle, "", k_runs, k_hidden, "", accept},
    OptionRow{"--numeric-ids", toggle, "", k_runs, k_hidden, "", accept},
    OptionRow{"--partial", toggle, "", k_runs, k_hidden, "", accept},
    OptionRow{"-P", toggle, "", k_runs, k_hidden, "", set_progress<ProgressChoice::always>},
    OptionRow{"-c,--checksum", toggle, "", mask_of(CommandId::verify), k_hidden, "", accept},
    OptionRow{"-n,--dry-run", toggle, "", mask_of(CommandId::verify), k_hidden, "", accept},
};

constexpr std::array k_commands{
    CommandRow{CommandId::push, "push", "SRC... DEST", "make DEST equal to SRC, as one transaction", 2, k_any_number},
    CommandRow{CommandId::pull, "pull", "SRC... DEST", "the same, from the remote side to here", 2, k_any_number},
    CommandRow{CommandId::restore, "restore", "POOL[:PATH]... DEST", "bring back a set or a part of it, as it was", 2,
               k_any_number},
    CommandRow{CommandId::verify, "verify", "SRC... DEST", "compare contents; list what differs, change nothing", 2,
               k_any_number},
    CommandRow{CommandId::init, "init", "DIR", "make an empty file set; push does it by itself", 1, 1},
    CommandRow{CommandId::recover, "recover", "DIR", "finish or undo an interrupted commit", 1, 1},
    CommandRow{CommandId::status, "status", "[DEST]", "list the sets this client has pushed to", 0, 1},
    CommandRow{CommandId::cache, "cache", "show|prune|clear|path", "what this client remembers of contents", 1, 1},
    CommandRow{CommandId::bench, "bench", "HOST[:DIR] [SRC]", "measure ciphers, link, disks and processors", 0, 2},
    CommandRow{CommandId::doctor, "doctor", "HOST[:DIR]", "find out what would stop or slow down a push", 1, 1},
    CommandRow{CommandId::deploy, "deploy", "HOST", "put nbackup, or nssh too, on a host by ssh", 1, 1},
    CommandRow{CommandId::generations, "generations", "POOL", "list what a file set keeps of its past", 1, 1},
    CommandRow{CommandId::ls, "ls", "POOL[:PATH]", "list files of a set, now or earlier", 1, 1},
    CommandRow{CommandId::cat, "cat", "POOL:PATH", "write a file of a set out, as it is or was", 1, 1},
    CommandRow{CommandId::diff, "diff", "POOL[:PATH]", "what changed between two generations", 1, 1},
    CommandRow{CommandId::rollback, "rollback", "POOL", "make an old generation the live tree, as a new one", 1, 1},
    CommandRow{CommandId::prune, "prune", "POOL", "drop the generations that no rule keeps", 1, 1},
    CommandRow{CommandId::policy, "policy", "POOL", "show or set which generations a set keeps", 1, 1},
    CommandRow{CommandId::drill, "drill", "POOL[:PATH]", "restore a sample for a try, and compare it", 1, 1},
    CommandRow{CommandId::scrub, "scrub", "POOL", "read a set's files and tell which are damaged", 1, 1},
    CommandRow{CommandId::heal, "heal", "POOL", "restore damaged files from sound copies", 1, 1},
    CommandRow{CommandId::serve, "serve", "", "the remote end; started by the other side", 0, 0},
};

static_assert(k_all == (1U << k_commands.size()) - 1);

}  // namespace

std::span<const OptionRow> option_table() { return k_options; }

std::string_view long_name(const OptionRow& row) {
  for (const std::string_view name : split(row.names, ',')) {
    if (name.starts_with("--")) return name;
  }
  return row.names;
}

bool is_of_connection(const OptionRow& row) { return std::string_view(row.group) == k_link; }

std::span<const CommandRow> command_table() { return k_commands; }

const CommandRow& command_row(CommandId id) {
  for (const CommandRow& row : k_commands) {
    if (row.id == id) return row;
  }
  NB_ASSERT(false && "every command has a row");
  return k_commands.front();
}

}  // namespace nb::cli
