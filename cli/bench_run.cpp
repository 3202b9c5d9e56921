// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_run.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.hpp"

namespace nb::cli {
namespace {

using std::chrono::milliseconds;

constexpr unsigned k_kex_tries = 3;
constexpr unsigned k_pings = 10;
constexpr unsigned k_link_tries = 3;
constexpr std::array k_zstd_levels{-5, 1, 3, 9};
constexpr std::uint64_t k_most_disk_bytes = std::uint64_t{4} << 30;

class BenchRun {
 public:
  BenchRun(BenchLinks& links, const BenchOptions& options, const BenchProgress& progress, const Clock& clock)
      : m_links(links), m_options(options), m_progress(progress), m_clock(clock), m_begin(clock.steady()) {}

  Result<BenchResult> run() {
    m_result.host = m_options.host;
    NB_TRY(meet());
    NB_TRY(measure_kex(share_of(BenchPhase::kex, left())));
    NB_TRY(measure_pairs(share_of(BenchPhase::pairs, left())));
    NB_TRY(measure_link(share_of(BenchPhase::link, left())));
    NB_TRY(measure_disks(share_of(BenchPhase::disks, left())));
    NB_TRY(measure_processors(share_of(BenchPhase::processors, left())));
    m_result.seconds = elapsed();
    return std::move(m_result);
  }

 private:
  [[nodiscard]] double elapsed() const { return std::chrono::duration<double>(m_clock.steady() - m_begin).count(); }
  [[nodiscard]] milliseconds left() const {
    return m_options.time - std::chrono::duration_cast<milliseconds>(m_clock.steady() - m_begin);
  }
  void say(const std::string& what) const {
    m_progress(what, elapsed() / std::chrono::duration<double>(m_options.time).count());
  }

  Status meet();
  Status measure_kex(milliseconds time);
  Status measure_pairs(milliseconds time);
  Status measure_pair(const CipherPair& pair, const PairTimes& times);
  Result<BenchLink> open_for(const CipherPair& pair) const;
  Status measure_link(milliseconds time);
  Status measure_round_trips();
  Status need_link();
  template <class Request>
  auto over_link(const Request& request) -> decltype(request(std::declval<FarBench&>()));
  Status measure_disks(milliseconds time);
  Status measure_processors(milliseconds time);
  Status note(const Error& error, const std::string& kind, const std::string& name);

  BenchLinks& m_links;
  const BenchOptions& m_options;
  const BenchProgress& m_progress;
  const Clock& m_clock;
  const SteadyTime m_begin;
  BenchLink m_link;  // as a run would have it
  BenchPlan m_plan;
  bool m_none_refused = false;
  BenchResult m_result;
};

// An interruption ends the run; anything else becomes a line of the result.
Status BenchRun::note(const Error& error, const std::string& kind, const std::string& name) {
  if (error.code == Errc::interrupted) return tl::make_unexpected(error);
  m_result.unmeasured.push_back({kind, name, error.message()});
  return {};
}

Status BenchRun::meet() {
  say("connecting");
  NB_TRY_ASSIGN(m_link, m_links.meet({}));
  m_result.carrier = m_link.description;
  m_result.negotiated = m_link.negotiated;
  m_result.here = facts_of_this_machine(-1, m_clock);
  NB_TRY_ASSIGN(m_result.there, m_link.far->facts());
  BenchEnds ends;
  ends.ours = m_links.our_algorithms();
  ends.carrier = m_links.carrier();
  const auto offer = m_links.probe();
  if (offer) {
    ends.theirs = offer->algorithms;
    m_result.server_version = offer->version;
  }
  m_plan = plan_bench(ends, m_options.wish);
  m_result.named_alone = m_options.wish.names_any();
  m_result.unmeasured = m_plan.unmeasured;
  if (!m_link.fallback.empty()) {
    m_result.unmeasured.push_back({"link", "libssh", m_link.fallback + "; a run takes the ssh program too"});
  }
  return {};
}

Status BenchRun::measure_kex(milliseconds time) {
  const SteadyTime until = m_clock.steady() + time;
  std::vector<std::vector<double>> times(m_plan.kex.size());
  std::vector<bool> failed(m_plan.kex.size());
  for (unsigned round = 0; round < k_kex_tries; ++round) {
    for (std::size_t i = 0; i < m_plan.kex.size(); ++i) {
      if (failed[i] || m_clock.steady() > until) continue;
      const std::string& name = m_plan.kex[i];
      say("key exchange " + name);
      LinkRequest request;
      request.words = Words::kept;
      request.demanded.kex = name;
      const auto link = m_links.open(request);
      if (link) times[i].push_back(link->seconds * 1000);
      if (!link) NB_TRY(note(link.error(), "key exchange", name));
      failed[i] = !link;
    }
  }
  for (std::size_t i = 0; i < m_plan.kex.size(); ++i) {
    if (!times[i].empty()) m_result.kex.push_back({m_plan.kex[i], spread_of(times[i])});
    if (times[i].empty() && !failed[i]) m_result.unmeasured.push_back({"key exchange", m_plan.kex[i], k_no_time});
  }
  return {};
}

Status BenchRun::measure_pairs(milliseconds time) {
  const SteadyTime until = m_clock.steady() + time;
  const milliseconds connecting(static_cast<long>(m_link.seconds * 1000));
  const PairTimes times = pair_times(m_plan.pairs.size(), time, connecting);
  for (const CipherPair& pair : m_plan.pairs) {
    if (m_clock.steady() > until) {
      m_result.unmeasured.push_back({"pair", pair_name(pair), k_no_time});
      continue;
    }
    say(pair_name(pair));
    if (pair.cipher == ssh::k_none && m_none_refused) continue;
    if (const auto done = measure_pair(pair, times); !done) NB_TRY(note(done.error(), "pair", pair_name(pair)));
  }
  return {};
}

Result<BenchLink> BenchRun::open_for(const CipherPair& pair) const {
  LinkRequest request;
  request.words = Words::kept;
  if (pair.mac != k_implicit_mac && pair.mac != ssh::k_none) request.demanded.macs = pair.mac;
  if (pair.cipher != ssh::k_none) {
    request.demanded.ciphers = pair.cipher;
    request.security = ssh::Security::encrypted;  // whatever --ssh-security says: else `none` would be measured
  } else {
    request.security = pair.mac == ssh::k_none ? ssh::Security::off : ssh::Security::integrity;
  }
  return m_links.open(request);
}

Status BenchRun::measure_pair(const CipherPair& pair, const PairTimes& times) {
  NB_TRY_ASSIGN(const BenchLink link, open_for(pair));
  if (link.negotiated && !has_pair(*link.negotiated, pair)) {
    m_result.unmeasured.push_back(not_had(*link.negotiated, pair));
    if (m_result.unmeasured.back().kind == "cipher") m_none_refused = true;
    return {};
  }
  std::vector<TwoSidedFlow> tries;
  for (unsigned i = 0; i < times.tries; ++i) {
    NB_TRY_ASSIGN(const TwoSidedFlow flow, link.far->upload({times.warm_up, times.counted}));
    tries.push_back(flow);
  }
  m_result.pairs.push_back({pair, rate_of(tries, Direction::upload)});
  return {};
}

Status BenchRun::need_link() {
  if (m_link.far) return {};
  LinkRequest request;
  request.words = Words::kept;
  NB_TRY_ASSIGN(m_link, m_links.open(request));
  return {};
}

// A request over the link as a run would have it, which is made anew where the one before lost it.
template <class Request>
auto BenchRun::over_link(const Request& request) -> decltype(request(std::declval<FarBench&>())) {
  NB_TRY(need_link());
  auto answer = request(*m_link.far);
  if (!answer && ends_connection(answer.error().code)) m_link.far.reset();
  return answer;
}

Status BenchRun::measure_round_trips() {
  say("round trips");
  std::vector<double> pings;
  for (unsigned i = 0; i < k_pings; ++i) {
    const auto seconds = over_link([](FarBench& far) { return far.ping(); });
    if (!seconds) return note(seconds.error(), "link", "round trips");
    pings.push_back(*seconds * 1000);
  }
  m_result.round_trip = spread_of(pings);
  return {};
}

Status BenchRun::measure_link(milliseconds time) {
  NB_TRY(measure_round_trips());
  const PairTimes each = pair_times(2 * k_link_tries, time, milliseconds(0));
  const FlowTimes times{each.warm_up, each.counted};
  std::vector<TwoSidedFlow> up;
  std::vector<TwoSidedFlow> down;
  const auto measure = [&](const char* name, std::vector<TwoSidedFlow>& flows, const auto& request) -> Status {
    say(name);
    const auto flow = over_link(request);
    if (!flow) return note(flow.error(), "link", name);
    flows.push_back(*flow);
    return {};
  };
  for (unsigned i = 0; i < k_link_tries; ++i) {
    NB_TRY(measure("upload", up, [&](FarBench& far) { return far.upload(times); }));
    NB_TRY(measure("download", down, [&](FarBench& far) { return far.download(times); }));
  }
  if (!up.empty()) m_result.upload = rate_of(up, Direction::upload);
  if (!down.empty()) m_result.download = rate_of(down, Direction::download);
  return {};
}

Status interrupted_only(const Error& error) {
  return error.code == Errc::interrupted ? Status(tl::make_unexpected(error)) : Status();
}

template <class Found, class Work>
Status keep(Found& found, Result<Work> work) {
  if (work) {
    found.work = *work;
    return {};
  }
  found.reason = work.error().message();
  return interrupted_only(work.error());
}

Status BenchRun::measure_disks(milliseconds time) {
  const int parts = 1 + (m_options.source ? 1 : 0) + (m_options.write_here ? 1 : 0);
  const DiskLimits limits{request_time(time, parts), k_most_disk_bytes};
  say("disk of the destination");
  m_result.disk_there.directory = m_options.directory;
  NB_TRY(keep(m_result.disk_there, over_link([&](FarBench& far) { return far.disk(m_options.directory, limits); })));
  if (m_options.source) {
    say("reading the source");
    m_result.source = TreeResult{*m_options.source, std::nullopt, {}};
    NB_TRY(keep(*m_result.source, tree_read_speed(*m_options.source, limits.time, m_clock)));
  }
  if (m_options.write_here) {
    say("writing here");
    m_result.disk_here = DiskResult{*m_options.write_here, std::nullopt, {}};
    NB_TRY(keep(*m_result.disk_here, disk_speed(*m_options.write_here, limits, m_clock)));
  }
  return {};
}

ZstdResult as_result(int level, const ZstdWork& zstd) {
  return {level, zstd.work.megabytes_per_second(), zstd.kept_share};
}

Status BenchRun::measure_processors(milliseconds time) {
  const milliseconds each = request_time(time, static_cast<int>(2 * (k_zstd_levels.size() + 1)));
  say("hashing");
  NB_TRY_ASSIGN(const Work hash_here, hash_speed(each, m_clock));
  m_result.processor_here = ProcessorResult{hash_here.megabytes_per_second(), {}};
  const auto hash_there = over_link([&](FarBench& far) { return far.hash(each); });
  if (!hash_there) return note(hash_there.error(), "processor", "hashing there");
  m_result.processor_there = ProcessorResult{hash_there->megabytes_per_second(), {}};
  for (const int level : k_zstd_levels) {
    const std::string name = "zstd " + std::to_string(level);
    say(name);
    NB_TRY_ASSIGN(const ZstdWork zstd_here, zstd_speed(level, each, m_clock));
    m_result.processor_here->zstd.push_back(as_result(level, zstd_here));
    const auto zstd_there = over_link([&](FarBench& far) { return far.zstd(level, each); });
    if (!zstd_there) return note(zstd_there.error(), "processor", name + " there");
    m_result.processor_there->zstd.push_back(as_result(level, *zstd_there));
  }
  return {};
}

}  // namespace

Result<BenchResult> run_measurements(BenchLinks& links, const BenchOptions& options, const BenchProgress& progress,
                                     const Clock& clock) {
  return BenchRun(links, options, progress, clock).run();
}

}  // namespace nb::cli
