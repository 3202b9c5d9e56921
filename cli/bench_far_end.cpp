// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_far_end.hpp"

#include <fmt/format.h>

#include <array>

#include "base/text.hpp"
#include "cli/bench_blocks.hpp"
#include "cli/bench_speed.hpp"
#include "cli/place_facts.hpp"
#include "cli/quantities.hpp"
#include "codec/compression.hpp"

namespace nb::cli {
namespace {

using Words = std::vector<std::string>;

constexpr std::uint64_t k_most_disk_bytes = std::uint64_t{16} << 30;
constexpr std::chrono::hours k_silence{2};  // the longest bench leaves a connection alone for less

struct Far {
  BenchChannel& channel;
  const MachineFacts& facts;
  const Clock& clock;
};

Result<std::uint64_t> count_of(const std::string& word, std::uint64_t most) {
  const auto number = parse_u64(word);
  if (!number || *number > most) return fail(Errc::protocol, "no number for bench: " + word);
  return *number;
}

Result<std::chrono::milliseconds> time_of(const std::string& word) {
  NB_TRY_ASSIGN(const std::uint64_t number, count_of(word, k_bench_longest.count()));
  return std::chrono::milliseconds(number);
}

Result<std::string> path_of(const std::string& word) {
  const auto bytes = from_hex(word);
  if (!bytes || bytes->empty()) return fail(Errc::protocol, "no path for bench");
  std::string path(as_text(*bytes));
  if (path.find('\0') != std::string::npos) return fail(Errc::path, "a NUL in a path");
  return path;
}

std::string number(double value) { return fmt::format("{:.9g}", value); }

void add_work(BenchFields& fields, const std::string& prefix, const Work& work) {
  fields[prefix + "bytes"] = std::to_string(work.bytes);
  fields[prefix + "seconds"] = number(work.seconds);
}

BenchFields fields_of(const Flow& flow) {
  BenchFields fields{{"bytes", std::to_string(flow.bytes)},
                     {"seconds", number(flow.seconds)},
                     {"cpu_seconds", number(flow.cpu_seconds)}};
  if (flow.sshd_cpu_seconds) fields["sshd_cpu_seconds"] = number(*flow.sshd_cpu_seconds);
  return fields;
}

Result<BenchFields> on_facts(const Far& far, const Words&) { return fields_of(far.facts); }
Result<BenchFields> on_ping(const Far&, const Words&) { return BenchFields(); }

Result<BenchFields> on_place(const Far&, const Words& words) {
  NB_TRY_ASSIGN(const std::string path, path_of(words[1]));
  NB_TRY_ASSIGN(const PlaceFacts place, facts_of_place(path));
  return fields_of(place);
}

Result<BenchFields> on_swallow(const Far& far, const Words&) {
  NB_TRY_ASSIGN(const Flow flow, receive_blocks(far.channel, 2 * k_bench_longest, far.clock));
  return fields_of(flow);
}

Result<BenchFields> on_send(const Far& far, const Words& words) {
  FlowTimes times;
  NB_TRY_ASSIGN(times.warm_up, time_of(words[1]));
  NB_TRY_ASSIGN(times.counted, time_of(words[2]));
  NB_TRY_ASSIGN(const Flow flow, send_blocks(far.channel, times, far.clock));
  return fields_of(flow);
}

Result<BenchFields> on_disk(const Far& far, const Words& words) {
  DiskLimits limits;
  NB_TRY_ASSIGN(limits.time, time_of(words[1]));
  NB_TRY_ASSIGN(limits.most_bytes, count_of(words[2], k_most_disk_bytes));
  NB_TRY_ASSIGN(const std::string path, path_of(words[3]));
  NB_TRY_ASSIGN(const DiskWork work, disk_speed(path, limits, far.clock));
  BenchFields fields;
  add_work(fields, "written_", work.written);
  add_work(fields, "read_", work.read);
  return fields;
}

Result<BenchFields> on_hash(const Far& far, const Words& words) {
  NB_TRY_ASSIGN(const auto time, time_of(words[1]));
  NB_TRY_ASSIGN(const Work work, hash_speed(time, far.clock));
  BenchFields fields;
  add_work(fields, "", work);
  return fields;
}

Result<BenchFields> on_zstd(const Far& far, const Words& words) {
  NB_TRY_ASSIGN(const int level, parse_level(words[1]));
  NB_TRY(codec::compression_of_level(level));
  NB_TRY_ASSIGN(const auto time, time_of(words[2]));
  NB_TRY_ASSIGN(const ZstdWork zstd, zstd_speed(level, time, far.clock));
  BenchFields fields{{"kept_share", number(zstd.kept_share)}};
  add_work(fields, "", zstd.work);
  return fields;
}

struct Verb {
  std::string_view name;
  std::size_t words;
  Result<BenchFields> (*answer)(const Far& far, const Words& words);
};

constexpr std::array k_verbs{
    Verb{"facts", 1, on_facts}, Verb{"ping", 1, on_ping}, Verb{"place", 2, on_place}, Verb{"swallow", 1, on_swallow},
    Verb{"send", 3, on_send},   Verb{"disk", 4, on_disk}, Verb{"hash", 2, on_hash},   Verb{"zstd", 3, on_zstd},
};

Result<BenchFields> answer(const Far& far, const Words& words) {
  for (const Verb& verb : k_verbs) {
    if (verb.name == words[0] && verb.words == words.size()) return verb.answer(far, words);
  }
  return fail(Errc::protocol, "bench knows no such request: " + words[0]);
}

}  // namespace

Status serve_bench(transport::ByteStream& stream, const MachineFacts& facts, const Clock& clock) {
  BenchChannel channel(stream, k_silence);
  const Far far{channel, facts, clock};
  NB_TRY(channel.write_line(k_bench_greeting));
  NB_TRY_ASSIGN(const std::string greeting, channel.read_line());
  if (greeting != k_bench_client_greeting) return fail(Errc::protocol, "no bench of this version began this");
  while (true) {
    NB_TRY_ASSIGN(const Words words, channel.read_words());
    if (words.empty()) return {};
    const auto fields = answer(far, words);
    if (fields) {
      NB_TRY(channel.write_answer(*fields));
    } else {
      NB_TRY(channel.write_error(fields.error()));
      if (ends_connection(fields.error().code)) return tl::make_unexpected(fields.error());
    }
  }
}

}  // namespace nb::cli
