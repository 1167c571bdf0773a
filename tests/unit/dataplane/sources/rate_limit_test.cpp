// Rate limits: what passes in a time, and after a pause.
#include "dataplane/sources/rate_limit.hpp"

#include <gtest/gtest.h>

#include <array>
#include <thread>
#include <vector>

namespace weir::dataplane::rate_limit_test {
namespace {

constexpr std::uint64_t second = 1'000'000'000;

TEST(RateLimit, passes_a_burst_and_then_its_rate) {
  RateLimit limit(100, 20, RulePer::rule);
  std::uint64_t now = 1'790'000'000 * second; // a capture's time
  unsigned passed = 0;
  for (int i = 0; i < 1000; ++i) passed += limit.takes(now);
  EXPECT_EQ(passed, 20u);
  passed = 0;
  for (int i = 0; i < 10'000; ++i, now += second / 1000) passed += limit.takes(now);
  EXPECT_NEAR(passed, 1000u, 2u) << "ten seconds of a hundred each";
}

TEST(RateLimit, of_a_sender_below_it_drops_nothing) {
  RateLimit limit(1000, 1, RulePer::rule);
  for (std::uint64_t i = 0; i < 5000; ++i) EXPECT_TRUE(limit.takes(second + i * 1'001'000));
}

TEST(RateLimit, gives_back_a_burst_after_a_pause_and_no_more) {
  RateLimit limit(10, 5, RulePer::rule);
  for (const std::uint64_t pause : {std::uint64_t{0}, 3600 * second}) {
    unsigned passed = 0;
    for (int i = 0; i < 100; ++i) passed += limit.takes(second + pause);
    EXPECT_EQ(passed, 5u);
  }
}

TEST(RateLimit, takes_a_clock_that_was_put_back_as_it_is) {
  RateLimit limit(1, 1, RulePer::rule);
  EXPECT_TRUE(limit.takes(100 * second));
  EXPECT_FALSE(limit.takes(100 * second));
  EXPECT_TRUE(limit.takes(10 * second)) << "a capture that begins anew";
  EXPECT_FALSE(limit.takes(10 * second));
}

TEST(RateLimit, holds_for_all_workers_together) {
  RateLimit limit(1, 1000, RulePer::rule);
  std::array<unsigned, 4> passed{};
  std::vector<std::jthread> workers;
  for (unsigned &mine : passed)
    workers.emplace_back([&limit, &mine] {
      for (int i = 0; i < 2000; ++i) mine += limit.takes(second);
    });
  workers.clear();
  EXPECT_EQ(passed[0] + passed[1] + passed[2] + passed[3], 1000u);
}

TEST(RateLimit, per_source_holds_each_alone) {
  RateLimit limit(10, 3, RulePer::source);
  const std::array<std::uint8_t, 4> a{192, 0, 2, 1}, b{192, 0, 2, 2};
  unsigned of_a = 0, of_b = 0;
  for (int i = 0; i < 50; ++i) of_a += limit.takes(limit.source_of(a.data(), false), second);
  for (int i = 0; i < 50; ++i) of_b += limit.takes(limit.source_of(b.data(), false), second);
  EXPECT_EQ(of_a, 3u);
  EXPECT_EQ(of_b, 3u);
}

TEST(RateLimit, a_host_of_ipv6_cannot_choose_another_address_of_its_net) {
  RateLimit limit(10, 3, RulePer::source);
  std::array<std::uint8_t, 16> address{0x20, 0x01, 0x0d, 0xb8};
  unsigned passed = 0;
  for (std::uint8_t host = 0; host < 50; ++host) {
    address[15] = host;
    passed += limit.takes(limit.source_of(address.data(), true), second);
  }
  EXPECT_EQ(passed, 3u);
}

// What a flood of addresses pushes out are sources that were idle for longest.
TEST(RateLimit, remembers_a_busy_source_beside_many_others) {
  RateLimit limit(1000, 10, RulePer::source);
  const std::array<std::uint8_t, 4> busy{10, 0, 0, 1};
  unsigned passed = 0;
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    const std::uint64_t now = second + i * 10'000; // a tenth of a second for all
    if (i % 10 == 0) passed += limit.takes(limit.source_of(busy.data(), false), now);
    const std::uint32_t other = 0x0B000000 + i;
    (void)limit.takes(limit.source_of(reinterpret_cast<const std::uint8_t *>(&other), false), now);
  }
  EXPECT_LE(passed, 10 + 200 + 5u);
}

} // namespace
} // namespace weir::dataplane::rate_limit_test
