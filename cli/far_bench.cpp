// SPDX-License-Identifier: Apache-2.0
#include "cli/far_bench.hpp"

#include "base/text.hpp"

namespace nb::cli {
namespace {

constexpr std::uint64_t k_most_bytes = std::uint64_t{1} << 50;

Result<Work> work_in(const BenchFields& fields, const std::string& prefix) {
  NB_TRY_ASSIGN(const double bytes, number_in(fields, prefix + "bytes"));
  NB_TRY_ASSIGN(const double seconds, number_in(fields, prefix + "seconds"));
  if (bytes > static_cast<double>(k_most_bytes)) return fail(Errc::protocol, "bench: more bytes than there can be");
  return Work{static_cast<std::uint64_t>(bytes), seconds};
}

Result<Flow> flow_in(const BenchFields& fields) {
  NB_TRY_ASSIGN(const Work work, work_in(fields, ""));
  Flow flow{work.bytes, work.seconds, 0, std::nullopt};
  NB_TRY_ASSIGN(flow.cpu_seconds, number_in(fields, "cpu_seconds"));
  if (fields.find("sshd_cpu_seconds") != fields.end()) {
    NB_TRY_ASSIGN(flow.sshd_cpu_seconds, number_in(fields, "sshd_cpu_seconds"));
  }
  return flow;
}

std::string milliseconds(std::chrono::milliseconds time) { return std::to_string(time.count()); }

tl::unexpected<Error> no_bench(const std::string& what) {
  return fail(Errc::remote_missing,
              what + " (the key may be for another command, the login may print, or nbackup be of another version)");
}

}  // namespace

std::vector<std::string> far_bench_words() { return {"bench", "--far-end"}; }

FarBench::FarBench(std::unique_ptr<transport::ByteStream> stream, const Clock& clock)
    : m_stream(std::move(stream)), m_clock(clock), m_channel(*m_stream, k_bench_silence) {}

Result<std::unique_ptr<FarBench>> FarBench::greet(std::unique_ptr<transport::ByteStream> stream,
                                                  std::chrono::milliseconds limit, const Clock& clock) {
  std::unique_ptr<FarBench> far(new FarBench(std::move(stream), clock));
  far->m_channel.set_silence(limit);
  // What ended already cannot be written to, and reading tells why it did.
  static_cast<void>(far->m_channel.write_line(k_bench_client_greeting));
  const auto greeting = far->m_channel.read_line();
  far->m_channel.set_silence(k_bench_silence);
  if (greeting && *greeting == k_bench_greeting) return far;
  if (greeting) return no_bench("what answers is no bench but '" + greeting->substr(0, 60) + "'");
  const Errc code = greeting.error().code;
  if (code == Errc::connection_lost || code == Errc::timeout || code == Errc::protocol) {
    return no_bench("no bench answers");
  }
  return tl::make_unexpected(greeting.error());
}

Result<BenchFields> FarBench::ask(const std::string& request, std::chrono::milliseconds time) {
  NB_TRY(m_channel.write_line(request));
  m_channel.set_silence(time + k_bench_silence);
  auto fields = m_channel.read_answer();
  m_channel.set_silence(k_bench_silence);
  return fields;
}

Result<MachineFacts> FarBench::facts() {
  NB_TRY_ASSIGN(const BenchFields fields, ask("facts"));
  return machine_facts_in(fields);
}

Result<PlaceFacts> FarBench::place(const std::string& path) {
  NB_TRY_ASSIGN(const BenchFields fields, ask("place " + to_hex(as_bytes(path))));
  return place_facts_in(fields);
}

Result<double> FarBench::ping() {
  const SteadyTime begin = m_clock.steady();
  NB_TRY(ask("ping"));
  return std::chrono::duration<double>(m_clock.steady() - begin).count();
}

Result<TwoSidedFlow> FarBench::upload(const FlowTimes& times) {
  NB_TRY(m_channel.write_line("swallow"));
  NB_TRY_ASSIGN(const Flow here, send_blocks(m_channel, times, m_clock));
  NB_TRY_ASSIGN(const BenchFields fields, m_channel.read_answer());
  NB_TRY_ASSIGN(const Flow there, flow_in(fields));
  return TwoSidedFlow{here, there};
}

Result<TwoSidedFlow> FarBench::download(const FlowTimes& times) {
  NB_TRY(m_channel.write_line("send " + milliseconds(times.warm_up) + " " + milliseconds(times.counted)));
  NB_TRY_ASSIGN(const Flow here, receive_blocks(m_channel, times.warm_up + times.counted, m_clock));
  NB_TRY_ASSIGN(const BenchFields fields, m_channel.read_answer());
  NB_TRY_ASSIGN(const Flow there, flow_in(fields));
  return TwoSidedFlow{here, there};
}

Result<DiskWork> FarBench::disk(const std::string& directory, const DiskLimits& limits) {
  NB_TRY_ASSIGN(const BenchFields fields, ask("disk " + milliseconds(limits.time) + " " +
                                                  std::to_string(limits.most_bytes) + " " + to_hex(as_bytes(directory)),
                                              limits.time));
  DiskWork work;
  NB_TRY_ASSIGN(work.written, work_in(fields, "written_"));
  NB_TRY_ASSIGN(work.read, work_in(fields, "read_"));
  return work;
}

Result<Work> FarBench::hash(std::chrono::milliseconds time) {
  NB_TRY_ASSIGN(const BenchFields fields, ask("hash " + milliseconds(time), time));
  return work_in(fields, "");
}

Result<ZstdWork> FarBench::zstd(int level, std::chrono::milliseconds time) {
  NB_TRY_ASSIGN(const BenchFields fields, ask("zstd " + std::to_string(level) + " " + milliseconds(time), time));
  ZstdWork zstd;
  NB_TRY_ASSIGN(zstd.work, work_in(fields, ""));
  NB_TRY_ASSIGN(zstd.kept_share, number_in(fields, "kept_share"));
  return zstd;
}

}  // namespace nb::cli
