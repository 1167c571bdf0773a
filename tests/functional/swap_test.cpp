// A thousand swaps while packets come as fast as a ring port takes them: what an operator's reload must
// not cost.
#include "tests/support/dataplane_client.hpp"
#include "tests/support/eal.hpp"
#include "tests/support/packets.hpp"
#include "tests/support/process.hpp"
#include "tests/support/ring_gate.hpp"
#include "tests/support/test_image.hpp"

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <thread>
#include <unistd.h>

namespace weir::test::swap_test {
namespace {

// Twenty thousand hosts, so that lookups reach over many pages of each image.
TestImage image_of_many_hosts() {
  RuleSet rules;
  rules.policy.match = Match::source;
  rules.lists = {{"bad", Side::deny, {}}};
  for (std::uint32_t i = 0; i < 20'000; ++i)
    rules.lists[0].prefixes.push_back({Address::from_host(0x0A000000u + 7 * i), 32});
  return TestImage(rules);
}

// Frames from listed and unlisted sources in turn, until told to stop.
class Flood {
public:
  explicit Flood(RingGate &gate) : gate_(gate) {
    for (std::uint32_t i = 0; i < 1024; ++i) {
      const std::uint32_t host = i % 2 * 7 * 13 * i;
      frames_.push_back(
          FrameBuilder()
              .ethernet()
              .ipv4({.source = to_string(Address::from_host(0x0A000000u + host + (i % 2 ? 0 : 1)))})
              .udp(1, 2)
              .payload(16)
              .frame()
              .bytes);
    }
    thread_ = std::thread([this] { run(); });
  }
  ~Flood() { stop(); }
  Flood(const Flood &) = delete;
  Flood &operator=(const Flood &) = delete;

  void stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  std::atomic<std::uint64_t> offered{0}, came_out{0};

private:
  void run() {
    for (std::size_t next = 0; !stop_;) {
      for (int i = 0; i < 256 && gate_.offer(0, frames_[next]); ++i, ++offered)
        next = (next + 1) % frames_.size();
      came_out += gate_.take(1);
      std::this_thread::yield(); // CPUs may be fewer than threads
    }
  }

  RingGate &gate_;
  std::vector<std::vector<std::uint8_t>> frames_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

std::uint64_t worker_faults() {
  std::uint64_t sum = 0;
  for (const pid_t thread : threads_named("rte-worker")) sum += page_faults_of(thread);
  return sum;
}

TEST(PageFaults, of_a_thread_are_counted_one_by_one) {
  constexpr std::size_t pages = 16, page_bytes = 4096;
  void *memory =
      mmap(nullptr, pages * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  madvise(memory, pages * page_bytes, MADV_NOHUGEPAGE);
  (void)page_faults_of(gettid());
  const std::uint64_t before = page_faults_of(gettid());
  for (std::size_t i = 0; i < pages; ++i) static_cast<volatile char *>(memory)[i * page_bytes] = 1;
  EXPECT_GE(page_faults_of(gettid()), before + pages);
  munmap(memory, pages * page_bytes);
}

TEST(Swap, a_thousand_at_full_rate_lose_no_packet_and_cost_the_worker_no_page_fault) {
  constexpr std::uint64_t swaps = 1000;
  ASSERT_TRUE(start_eal());
  ASSERT_FALSE(threads_named("rte-worker").empty());
  RingGate gate;
  DataplaneClient control(gate.socket());
  const TestImage image = image_of_many_hosts();
  const auto swap_to = [&](std::uint64_t generation) {
    const WireMessage staged = control.stage(relabelled(image.bytes(), generation, 0));
    ASSERT_TRUE(staged.is(wire::Type::staged)) << staged.refusal();
    const WireMessage committed = control.commit(generation, 0);
    ASSERT_TRUE(committed.is(wire::Type::committed)) << committed.refusal();
  };
  swap_to(1);
  Flood flood(gate);
  ASSERT_TRUE(wait_until([&] { return gate.judged() > 50'000; }, std::chrono::seconds(30)));

  const std::uint64_t faults_before = worker_faults(), judged_before = gate.judged();
  for (std::uint64_t g = 2; g < 2 + swaps && !HasFatalFailure(); ++g) swap_to(g);
  const std::uint64_t faults = worker_faults() - faults_before;
  const std::uint64_t judged_meanwhile = gate.judged() - judged_before;
  flood.stop();
  ASSERT_TRUE(wait_until([&] { return gate.judged() >= flood.offered; }, std::chrono::seconds(30)))
      << flood.offered - gate.judged() << " packets were lost";
  flood.came_out += gate.take(1);

  const auto &denied =
      gate.dataplane().counters.worker(0).verdicts[static_cast<std::size_t>(Reason::deny)][1];
  EXPECT_EQ(faults, 0u);
  EXPECT_EQ(gate.judged(), flood.offered);
  EXPECT_EQ(flood.came_out + denied[0].get(), flood.offered) << "a packet was neither dropped nor sent";
  EXPECT_GT(denied[0].get(), 0u);
  EXPECT_GT(flood.came_out, 0u);
  EXPECT_GT(judged_meanwhile, swaps) << "hardly any packet met a swap";
  EXPECT_EQ(gate.dataplane().generations.swap_count(), 1 + swaps);
}

} // namespace
} // namespace weir::test::swap_test
