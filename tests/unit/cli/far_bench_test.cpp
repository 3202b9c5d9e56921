// SPDX-License-Identifier: Apache-2.0
// bench's two ends against each other over a socket pair, and each against what breaks the rules.
#include "cli/far_bench.hpp"

#include <sys/socket.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <thread>

#include "cli/bench_far_end.hpp"
#include "support/memory_stream.hpp"
#include "support/temp_dir.hpp"
#include "transport/fd_stream.hpp"

using namespace nb;
using namespace nb::cli;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds k_limit{5000};
const FlowTimes k_short{milliseconds(5), milliseconds(20)};

class Rig {
 public:
  Rig() {
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
    m_far = *transport::open_socket_stream(Fd(ends[1]));
    m_thread = std::jthread([this] {
      m_end = serve_bench(*m_far, facts_of_this_machine(-1, m_clock), m_clock);
      m_far->close_now();
    });
    auto far = FarBench::greet(*transport::open_socket_stream(Fd(ends[0])), k_limit, m_clock);
    REQUIRE(far);
    bench = std::move(*far);
  }
  ~Rig() { bench.reset(); }  // which ends the thread
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;

  // How the far end saw it.
  Status finish() {
    bench.reset();
    m_thread.join();
    return m_end;
  }
  std::unique_ptr<FarBench> bench;

 private:
  SystemClock m_clock;
  std::unique_ptr<transport::ByteStream> m_far;
  Status m_end;
  std::jthread m_thread;
};

// Silent for `reads` of 100 ms before what follows the greeting.
class SlowStream final : public transport::ByteStream {
 public:
  SlowStream(ByteView said, int reads) : m_said(said), m_left(reads) {}
  Result<std::size_t> read(std::span<std::byte> out, std::chrono::milliseconds limit) override {
    if (m_greeted && m_left-- > 0) return fail(Errc::timeout, "");
    return (std::exchange(m_greeted, true) ? m_said : m_greeting).read(out, limit);
  }
  Status write(ByteView) override { return {}; }
  Status finish_writing() override { return {}; }
  void close_now() override {}
  transport::PeerEnd wait_end(std::chrono::milliseconds) override { return {}; }
  [[nodiscard]] std::string describe() const override { return "slow"; }

 private:
  test::MemoryStream m_greeting{as_bytes("nbackup-bench 1\n")};
  test::MemoryStream m_said;
  int m_left;
  bool m_greeted = false;
};

Result<std::unique_ptr<FarBench>> greeted_by(std::string_view said) {
  const SystemClock clock;
  return FarBench::greet(std::make_unique<test::MemoryStream>(as_bytes(said)), k_limit, clock);
}

std::unique_ptr<FarBench> after_greeting(const std::string& said) {
  static const SystemClock clock;
  const std::string text = "nbackup-bench 1\n" + said;
  auto far = FarBench::greet(std::make_unique<test::MemoryStream>(as_bytes(text)), k_limit, clock);
  REQUIRE(far);
  return std::move(*far);
}

std::string answer_to(const std::string& requests) {
  const SystemClock clock;
  test::MemoryStream stream(as_bytes("nbackup-bench client 1\n" + requests));
  static_cast<void>(serve_bench(stream, {}, clock));
  return std::string(as_text(stream.written));
}

}  // namespace

TEST_CASE("facts come over as they are", "[cli][bench]") {
  Rig rig;
  const auto facts = rig.bench->facts();
  REQUIRE(facts);
  const MachineFacts here = facts_of_this_machine(-1, SystemClock());
  CHECK(facts->version == here.version);
  CHECK(facts->kernel == here.kernel);
  CHECK(facts->cores == here.cores);
  CHECK(facts->has_aes == here.has_aes);
  CHECK(facts->memory_bytes == here.memory_bytes);
  CHECK(facts->memory_bytes > 0);
  CHECK(facts->open_files == here.open_files);
  CHECK(rig.finish());
}

TEST_CASE("blocks pass in both directions, one transfer after the other", "[cli][bench]") {
  Rig rig;
  for (int i = 0; i < 2; ++i) {
    const auto up = rig.bench->upload(k_short);
    REQUIRE(up);
    CHECK(up->there.bytes > 0);
    CHECK(up->there.bytes % k_bench_block_bytes == 0);
    CHECK(up->here.bytes == up->there.bytes + k_bench_block_bytes);  // the one that began is not counted there
    CHECK(up->there.seconds > 0);
    const auto down = rig.bench->download(k_short);
    REQUIRE(down);
    CHECK(down->here.bytes > 0);
    CHECK(down->there.bytes == down->here.bytes + k_bench_block_bytes);
    CHECK(rig.bench->ping());
  }
  CHECK(rig.finish());
}

TEST_CASE("work is done there, and nothing stays on the disk", "[cli][bench]") {
  const test::TempDir dir;
  Rig rig;
  const auto disk = rig.bench->disk(dir.path(""), {milliseconds(50), 64 << 20});
  REQUIRE(disk);
  CHECK(disk->written.bytes >= std::uint64_t{4} << 20);
  CHECK(disk->read.bytes > 0);
  CHECK(disk->read.bytes <= disk->written.bytes);
  CHECK(std::filesystem::is_empty(dir.path("")));
  const auto hash = rig.bench->hash(milliseconds(5));
  REQUIRE(hash);
  CHECK(hash->bytes > 0);
  const auto zstd = rig.bench->zstd(1, milliseconds(5));
  REQUIRE(zstd);
  CHECK(zstd->kept_share > 0.1);
  CHECK(zstd->kept_share < 0.7);
  const auto passes = rig.bench->zstd(9, milliseconds(300));  // more than once through the text, in one window
  REQUIRE(passes);
  CHECK(passes->kept_share > 0.2);
  CHECK(rig.finish());
}

TEST_CASE("what cannot be done is told with its code, and the next request is answered", "[cli][bench]") {
  Rig rig;
  const auto nowhere = rig.bench->disk("/nonexistent/dir", {milliseconds(5), 64 << 20});
  REQUIRE_FALSE(nowhere);
  CHECK(nowhere.error().code == Errc::not_found);
  CHECK(nowhere.error().context.find("/nonexistent/dir") != std::string::npos);
  CHECK_FALSE(rig.bench->zstd(99, milliseconds(5)));
  CHECK(rig.bench->ping());
}

TEST_CASE("only a bench is taken for one", "[cli][bench]") {
  for (const char* said :
       {"", "Welcome to Raspbian\n", "nbackup-bench 2\n", "nbackup-bench client 1\n", "nbackup-bench 1"}) {
    INFO(said);
    const auto far = greeted_by(said);
    REQUIRE_FALSE(far);
    CHECK(far.error().code == Errc::remote_missing);
  }
  CHECK_FALSE(greeted_by(std::string(100'000, 'x')));
}

TEST_CASE("answers that are none are refused", "[cli][bench]") {
  const auto refused = [](const std::string& said) {
    INFO(said);
    const auto work = after_greeting(said)->hash(milliseconds(1));
    REQUIRE_FALSE(work);
    CHECK(work.error().code == Errc::protocol);
  };
  refused("maybe\n");
  refused("ok\n");
  refused("ok many\n");
  refused("ok 65\n");
  refused("ok 1\nbytes\n");
  refused("ok 1\nbytes=5\n");
  refused("ok 2\nbytes=5\nseconds=\n");
  refused("ok 2\nbytes=5\nseconds=nan\n");
  refused("ok 2\nbytes=-5\nseconds=1\n");
  refused("ok 2\nbytes=1e300\nseconds=1\n");
  refused("ok 2\nbytes=5\nseconds=1 or so\n");
  refused("error\n");
  refused("error nonsense x\n");
  refused(std::string(5000, 'k') + "\n");
  CHECK(after_greeting("ok 2\nbytes=5\nseconds=1\n")->hash(milliseconds(1)));
  const auto lost = after_greeting("ok 2\nbytes=5\n")->hash(milliseconds(1));
  REQUIRE_FALSE(lost);
  CHECK(lost.error().code == Errc::connection_lost);
}

TEST_CASE("blocks of no known kind and answers to no block are refused", "[cli][bench]") {
  const auto down = after_greeting(std::string(k_bench_block_bytes, '\x07'))->download(k_short);
  REQUIRE_FALSE(down);
  CHECK(down.error().code == Errc::protocol);
  const auto up = after_greeting(std::string(64, '?'))->upload(k_short);
  REQUIRE_FALSE(up);
  CHECK(up.error().code == Errc::protocol);
}

TEST_CASE("an answer may take what was asked for and a minute, and no longer", "[cli][bench]") {
  const SystemClock clock;
  const auto answer = [&](int reads, milliseconds time) {
    const std::string said = "ok 2\nbytes=5\nseconds=1\n";
    auto far = FarBench::greet(std::make_unique<SlowStream>(as_bytes(said), reads), k_limit, clock);
    REQUIRE(far);
    return (*far)->hash(time);
  };
  CHECK(answer(590, milliseconds(1)));
  const auto late = answer(650, milliseconds(1));
  REQUIRE_FALSE(late);
  CHECK(late.error().code == Errc::timeout);
  CHECK(answer(6500, k_bench_longest));
}

TEST_CASE("a transfer without an end is given up", "[cli][bench]") {
  const SystemClock clock;
  const std::string blocks(10 * k_bench_block_bytes, '\0');
  test::MemoryStream stream(as_bytes(blocks));
  BenchChannel channel(stream, k_limit);
  const auto flow = receive_blocks(channel, -k_bench_rest - milliseconds(1), clock);
  REQUIRE_FALSE(flow);
  CHECK(flow.error().code == Errc::timeout);
}

TEST_CASE("a path too long to ask about is refused, and the connection stays", "[cli][bench]") {
  Rig rig;
  const std::string path = "/" + std::string(3000, 'd');
  const auto place = rig.bench->place(path);
  REQUIRE_FALSE(place);
  CHECK(place.error().code == Errc::path);
  CHECK(rig.bench->ping());
}

TEST_CASE("the walk through a tree without files ends with its time", "[cli][bench]") {
  const test::TempDir dir;
  for (int i = 0; i < 50; ++i) std::filesystem::create_directory(dir.path(std::to_string(i)));
  class StepClock final : public Clock {
   public:
    [[nodiscard]] SteadyTime steady() const override { return SteadyTime(std::chrono::seconds(m_looks++)); }
    [[nodiscard]] WallTime wall() const override { return {}; }
    void pause(std::chrono::milliseconds) override {}
    mutable int m_looks = 0;
  };
  const StepClock clock;
  const auto tree = tree_read_speed(dir.path(""), std::chrono::seconds(5), clock);
  REQUIRE(tree);
  CHECK(clock.m_looks < 10);
}

TEST_CASE("a client that breaks the rules gets an error and no more", "[cli][bench]") {
  CHECK(answer_to("ping\n") == "nbackup-bench 1\nok 0\n");
  for (const char* request : {"nonsense\n", "ping now\n", "hash\n", "hash -1\n", "hash 600001\n", "disk 1 1 zz\n",
                              "place 00\n", "zstd 1000 5\n", "send 1\n", "\n"}) {
    INFO(request);
    const std::string answer = answer_to(request);
    CHECK(answer.find("\nerror ") != std::string::npos);
    CHECK(answer.find("\nok") == std::string::npos);
  }
  const SystemClock clock;
  test::MemoryStream stranger(as_bytes("GET / HTTP/1.1\n"));
  CHECK_FALSE(serve_bench(stranger, {}, clock));
}
