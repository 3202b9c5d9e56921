// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "cli/bench_verdict.hpp"
#include "cli/quantities.hpp"

namespace nb::cli {
namespace {

// For a column: whose the name is is of no matter there.
std::string_view short_name(std::string_view name) {
  constexpr std::string_view k_owner = "@openssh.com";
  if (name.ends_with(k_owner)) name.remove_suffix(k_owner.size());
  return name;
}

std::string server_cost(const CpuCost& cost) {
  return cost.sshd ? fmt::format("{:.2f}", cost.server()) : fmt::format("{:.2f}+?", cost.there);
}

std::string rate_columns(const RateResult& result) {
  return fmt::format("{:7.1f} {:7.1f} {:7.1f} {:6.2f} {:>6}", result.rate.min, result.rate.mean, result.rate.max,
                     result.cpu.here, server_cost(result.cpu));
}

std::string machine_line(const char* name, const MachineFacts& facts) {
  return fmt::format("{:<8} {}, {}, {} {}, {}; nbackup {}\n", name,
                     facts.cpu_model.empty() ? facts.architecture : escape(facts.cpu_model), escape(facts.kernel),
                     facts.cores, facts.cores == 1 ? "processor" : "processors", facts.has_aes ? "AES" : "no AES",
                     escape(facts.version));
}

std::string head(const BenchResult& result) {
  std::string text = machine_line("here", result.here) + machine_line("there", result.there);
  text += fmt::format("{:<8} {}\n", "over", escape(result.carrier));
  if (!result.server_version.empty()) text += fmt::format("{:<8} {}\n", "server", escape(result.server_version));
  return text;
}

std::vector<PairResult> fastest_first(std::vector<PairResult> pairs) {
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const PairResult& a, const PairResult& b) { return a.result.rate.mean > b.result.rate.mean; });
  return pairs;
}

std::string pair_rows(const BenchResult& result) {
  std::string text = fmt::format("\n{:<18}{:<18}{:>7} {:>7} {:>7} {:>13}\n", "UPLOAD, CIPHER", "MAC", "MIN", "MEAN",
                                 "MAX", "CPU s/GB");
  text += fmt::format("{:<18}{:<18}{:>7} {:>7} {:>7} {:>6} {:>6}\n", "", "", "MB/s", "MB/s", "MB/s", "here", "there");
  const PairResult* used = default_pair(result);
  for (const PairResult& one : fastest_first(result.pairs)) {
    const bool is_used = used != nullptr && one.pair == used->pair;
    text += fmt::format("{:<18}{:<18}{}{}\n", short_name(one.pair.cipher), short_name(one.pair.mac),
                        rate_columns(one.result), is_used ? " in use" : "");
  }
  return text;
}

std::string kex_rows(const BenchResult& result) {
  if (result.kex.empty()) return {};
  std::string text =
      fmt::format("\n{:<36}{:>7} {:>7} {:>7}\n", "CONNECTING, KEY EXCHANGE", "MIN ms", "MEAN ms", "MAX ms");
  for (const KexResult& one : result.kex) {
    text += fmt::format("{:<36}{:7.0f} {:7.0f} {:7.0f}{}\n", one.name, one.milliseconds.min, one.milliseconds.mean,
                        one.milliseconds.max, result.negotiated && result.negotiated->kex == one.name ? " in use" : "");
  }
  return text;
}

std::string link_rows(const BenchResult& result) {
  std::string text = "\n";
  if (result.round_trip.tries > 0) {
    text += fmt::format("{:<36}{:7.2f} {:7.2f} {:7.2f}\n", "round trip, ms", result.round_trip.min,
                        result.round_trip.mean, result.round_trip.max);
  }
  if (result.upload) text += fmt::format("{:<36}{}\n", "upload as a push has it", rate_columns(*result.upload));
  if (result.download) text += fmt::format("{:<36}{}\n", "download as a pull has it", rate_columns(*result.download));
  return text;
}

std::string work_row(const std::string& name, const Work& work, const std::string& note = "") {
  return fmt::format("{:<36}{:7} {:7.1f}{}\n", name, "", work.megabytes_per_second(), note);
}

std::string disk_rows(const char* side, const DiskResult& disk) {
  const std::string place = escape(disk.directory) + " " + side;
  if (!disk.work) return fmt::format("disk at {}: {}\n", place, escape(disk.reason));
  return work_row("write and sync " + place + ", MB/s", disk.work->written) +
         work_row("read " + place + ", MB/s", disk.work->read);
}

std::string source_row(const TreeResult& source) {
  const std::string place = escape(source.directory) + " here";
  if (!source.work) return fmt::format("reading {}: {}\n", place, escape(source.reason));
  return work_row("read " + place + ", MB/s", source.work->work,
                  fmt::format("  {}, {}", format_counted(source.work->files, "file", "files"),
                              format_bytes(source.work->work.bytes)));
}

std::string processor_rows(const BenchResult& result) {
  if (!result.processor_here || !result.processor_there) return {};
  const ProcessorResult& here = *result.processor_here;
  const ProcessorResult& there = *result.processor_there;
  std::string text = fmt::format("\n{:<36}{:>7} {:>7}\n", "ONE PROCESSOR, MB/s", "HERE", "THERE");
  text += fmt::format("{:<36}{:7.0f} {:7.0f}\n", "hashing (XXH3-128)", here.hash, there.hash);
  for (std::size_t i = 0; i < std::min(here.zstd.size(), there.zstd.size()); ++i) {
    text +=
        fmt::format("{:<36}{:7.0f} {:7.0f}\n",
                    fmt::format("zstd {}, keeps {:.0f} % of text", here.zstd[i].level, here.zstd[i].kept_share * 100),
                    here.zstd[i].megabytes_per_second, there.zstd[i].megabytes_per_second);
  }
  return text;
}

std::string unmeasured_rows(const BenchResult& result) {
  std::string text = result.unmeasured.empty() ? "" : "\nNOT MEASURED\n";
  std::uint64_t late = 0;
  for (const Unmeasured& one : result.unmeasured) {
    if (one.reason == k_no_time) ++late;
    if (one.reason != k_no_time) text += fmt::format("{} {}: {}\n", one.kind, escape(one.name), escape(one.reason));
  }
  if (late > 0) {
    text += fmt::format("{} for which the time was too short: give more with --seconds\n",
                        format_counted(late, "pair or key exchange", "pairs and key exchanges"));
  }
  return text;
}

// "aes128-ctr with hmac-sha2-256" (pair_name) as two fields
std::string pair_fields(std::string name) {
  constexpr std::string_view k_between = " with ";
  if (const auto at = name.find(k_between); at != std::string::npos) name.replace(at, k_between.size(), ",");
  return name;
}

std::string quoted(const std::string& field) {
  std::string text = "\"";
  for (const char c : field) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + "\"";
}

}  // namespace

std::string bench_table(const BenchResult& result) {
  std::string text = head(result) + pair_rows(result) + kex_rows(result) + link_rows(result) + "\n" +
                     disk_rows("there", result.disk_there);
  if (result.disk_here) text += disk_rows("here", *result.disk_here);
  if (result.source) text += source_row(*result.source);
  text += processor_rows(result) + unmeasured_rows(result) + "\n";
  for (const std::string& sentence : verdict(result)) text += escape(sentence) + "\n";
  return text;
}

std::string bench_csv(const BenchResult& result) {
  std::string text = "cipher,mac,min_MBps,mean_MBps,max_MBps,tries,cpu_s_per_GB_here,cpu_s_per_GB_there,reason\n";
  for (const PairResult& one : result.pairs) {
    text += fmt::format("{},{},{:.2f},{:.2f},{:.2f},{},{:.3f},{:.3f},\n", one.pair.cipher, one.pair.mac,
                        one.result.rate.min, one.result.rate.mean, one.result.rate.max, one.result.rate.tries,
                        one.result.cpu.here, one.result.cpu.server());
  }
  for (const Unmeasured& one : result.unmeasured) {
    if (one.kind == "pair") text += fmt::format("{},,,,0,,,{}\n", pair_fields(one.name), quoted(escape(one.reason)));
    if (one.kind == "cipher") text += fmt::format("{},,,,,0,,,{}\n", one.name, quoted(escape(one.reason)));
    if (one.kind == "MAC") text += fmt::format(",{},,,,0,,,{}\n", one.name, quoted(escape(one.reason)));
  }
  return text;
}

}  // namespace nb::cli
