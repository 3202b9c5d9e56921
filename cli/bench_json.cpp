// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cli/bench_table.hpp"
#include "cli/bench_verdict.hpp"

namespace nb::cli {
namespace {

using Json = nlohmann::ordered_json;

Json spread(const Spread& values) {
  return Json{{"min", values.min}, {"mean", values.mean}, {"max", values.max}, {"tries", values.tries}};
}

Json rate(const RateResult& result) {
  Json cpu{{"here", result.cpu.here}, {"there", result.cpu.there}, {"sshd", nullptr}};
  if (result.cpu.sshd) cpu["sshd"] = *result.cpu.sshd;
  return Json{{"mb_per_s", spread(result.rate)}, {"cpu_s_per_gb", std::move(cpu)}};
}

Json machine(const MachineFacts& facts) {
  return Json{{"version", escape(facts.version)},
              {"kernel", escape(facts.kernel)},
              {"architecture", escape(facts.architecture)},
              {"cpu_model", escape(facts.cpu_model)},
              {"cores", facts.cores},
              {"aes", facts.has_aes},
              {"memory_bytes", facts.memory_bytes}};
}

Json negotiated(const std::optional<ssh::Negotiated>& found) {
  if (!found) return nullptr;
  return Json{{"kex", escape(found->kex)},
              {"host_key", escape(found->host_key_type)},
              {"cipher_in", escape(found->cipher_in)},
              {"cipher_out", escape(found->cipher_out)},
              {"mac_in", escape(found->mac_in)},
              {"mac_out", escape(found->mac_out)}};
}

Json pairs(const std::vector<PairResult>& found) {
  Json list = Json::array();
  for (const PairResult& one : found) {
    Json row = rate(one.result);
    row["cipher"] = one.pair.cipher;
    row["mac"] = one.pair.mac;
    list.push_back(std::move(row));
  }
  return list;
}

Json kex(const std::vector<KexResult>& found) {
  Json list = Json::array();
  for (const KexResult& one : found) list.push_back({{"kex", one.name}, {"connect_ms", spread(one.milliseconds)}});
  return list;
}

Json unmeasured(const std::vector<Unmeasured>& found) {
  Json list = Json::array();
  for (const Unmeasured& one : found) {
    list.push_back({{"kind", one.kind}, {"name", escape(one.name)}, {"reason", escape(one.reason)}});
  }
  return list;
}

Json disk(const DiskResult& found) {
  Json row{{"directory", escape(found.directory)}};
  if (!found.work) row["reason"] = escape(found.reason);
  if (!found.work) return row;
  row["write_mb_per_s"] = found.work->written.megabytes_per_second();
  row["read_mb_per_s"] = found.work->read.megabytes_per_second();
  return row;
}

Json source(const TreeResult& found) {
  Json row{{"directory", escape(found.directory)}};
  if (!found.work) row["reason"] = escape(found.reason);
  if (!found.work) return row;
  row["read_mb_per_s"] = found.work->work.megabytes_per_second();
  row["files"] = found.work->files;
  row["bytes"] = found.work->work.bytes;
  return row;
}

Json processor(const std::optional<ProcessorResult>& found) {
  if (!found) return nullptr;
  Json levels = Json::array();
  for (const ZstdResult& one : found->zstd) {
    levels.push_back({{"level", one.level}, {"mb_per_s", one.megabytes_per_second}, {"kept_share", one.kept_share}});
  }
  return Json{{"hash_mb_per_s", found->hash}, {"zstd", std::move(levels)}};
}

Json legs(const BenchResult& result) {
  Json list = Json::array();
  for (const Leg& one : push_legs(result)) list.push_back({{"leg", one.name}, {"mb_per_s", one.rate}});
  return list;
}

Json document(const BenchResult& result) {
  Json all{{"host", escape(result.host)},
           {"carrier", escape(result.carrier)},
           {"server", escape(result.server_version)},
           {"negotiated", negotiated(result.negotiated)},
           {"here", machine(result.here)},
           {"there", machine(result.there)},
           {"pairs", pairs(result.pairs)},
           {"kex", kex(result.kex)},
           {"round_trip_ms", spread(result.round_trip)},
           {"upload", nullptr},
           {"download", nullptr},
           {"disk_there", disk(result.disk_there)},
           {"disk_here", nullptr},
           {"source", nullptr},
           {"processor_here", processor(result.processor_here)},
           {"processor_there", processor(result.processor_there)},
           {"legs", legs(result)},
           {"unmeasured", unmeasured(result.unmeasured)},
           {"verdict", verdict(result)},
           {"saved", result.saved},
           {"seconds", result.seconds}};
  if (result.upload) all["upload"] = rate(*result.upload);
  if (result.download) all["download"] = rate(*result.download);
  if (result.disk_here) all["disk_here"] = disk(*result.disk_here);
  if (result.source) all["source"] = source(*result.source);
  return all;
}

}  // namespace

std::string bench_json(const BenchResult& result) {
  return document(result).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace nb::cli
