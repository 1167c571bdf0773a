// What a worker remembers of addresses.
#include "dataplane/sources/seen_lately.hpp"
#include "tests/support/seed.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

namespace weir::dataplane::seen_lately_test {
namespace {

using Sight = SeenLately::Sight;

Sight meet(SeenLately &seen, std::uint32_t host, std::uint64_t salt, std::uint32_t tick) {
  auto place = SeenLately::place_of(hash_v4(host, 1), salt);
  return seen.meet(place, tick);
}

TEST(SeenLately, tells_the_first_time_the_second_and_those_that_were_told) {
  SeenLately seen;
  auto place = SeenLately::place_of(hash_v4(0x0A000001, 1), 7);
  const std::uint32_t tick = 0xFFFFFFF0; // it may wrap
  EXPECT_EQ(seen.meet(place, tick), Sight::first);
  EXPECT_EQ(seen.meet(place, tick), Sight::again) << "nobody was told";
  EXPECT_EQ(seen.meet(place, tick + 1), Sight::again);
  seen.told(place);
  EXPECT_EQ(seen.meet(place, tick + 2), Sight::silent);
  EXPECT_EQ(seen.meet(place, tick + 1 + SeenLately::silent_ticks), Sight::silent);
  EXPECT_EQ(seen.meet(place, tick + 2 + SeenLately::silent_ticks), Sight::again);
  EXPECT_EQ(seen.meet(place, tick + 3 + SeenLately::silent_ticks + SeenLately::remembered_ticks),
            Sight::first);
  EXPECT_EQ(meet(seen, 0x0A000001, 8, tick), Sight::first) << "another salt forgets";
}

TEST(SeenLately, takes_hardly_an_address_for_another) {
  const std::uint64_t seed = test::seed_or(3);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  SeenLately seen;
  unsigned again = 0;
  for (std::uint32_t i = 0; i < 1u << 20; ++i) again += meet(seen, i, random(), 1) != Sight::first;
  EXPECT_LT(again, 20u) << "2^20 addresses, each with a chance of 2^-18 at most";
}

// A source in a flood of others that each come once.
TEST(SeenLately, still_knows_a_source_after_a_hundred_thousand_others) {
  const std::uint64_t seed = test::seed_or(4);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  SeenLately seen;
  const std::uint64_t salt = random();
  unsigned known = 0;
  for (std::uint32_t source = 0; source < 200; ++source) {
    (void)meet(seen, 0x0A000000 + source, salt, 1);
    for (unsigned i = 0; i < 100'000; ++i)
      (void)meet(seen, static_cast<std::uint32_t>(random() >> 32), salt, 1);
    known += meet(seen, 0x0A000000 + source, salt, 1) == Sight::again;
  }
  EXPECT_GT(known, 160u) << "exp(-100,000 / 2^20) is 0.91";
}

// Hosts that come all the time, one of which shares its place with nearly every twentieth source.
TEST(SeenLately, knows_every_source_beside_fifty_thousand_hosts_that_come_all_the_time) {
  const std::uint64_t seed = test::seed_or(5);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  SeenLately seen;
  const std::uint64_t salt = random();
  std::vector<std::uint32_t> hosts(50'000);
  for (std::uint32_t &host : hosts) host = static_cast<std::uint32_t>(random() >> 32);
  constexpr std::uint32_t sources = 2000;
  unsigned first = 0;
  for (std::uint32_t tick = 0; tick < 8; ++tick) {
    for (const std::uint32_t host : hosts) (void)meet(seen, host, salt, tick);
    for (std::uint32_t i = 0; i < sources; ++i)
      first += tick != 0 && meet(seen, 0x0A000000 + i, salt, tick) == Sight::first;
    for (const std::uint32_t host : hosts) (void)meet(seen, host, salt, tick);
  }
  EXPECT_LE(first, sources + 4) << "once each";
}

} // namespace
} // namespace weir::dataplane::seen_lately_test
