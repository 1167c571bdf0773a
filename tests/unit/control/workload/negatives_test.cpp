// What samples of negative questions are taken for, beside the traffic that they were taken from.
#include "control/workload/negatives.hpp"
#include "tests/support/seed.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>
#include <random>

namespace weir::workload::negatives_test {
namespace {

Address source(std::uint32_t rank) { return Address::from_host(0x0A000000 + rank); }

class Zipf {
public:
  Zipf(std::uint32_t sources, double skew) {
    for (std::uint32_t rank = 1; rank <= sources; ++rank) weights_.push_back(std::pow(rank, -skew));
    total_ = std::accumulate(weights_.begin(), weights_.end(), 0.0);
    draw_ = std::discrete_distribution<std::uint32_t>(weights_.begin(), weights_.end());
  }
  std::uint32_t operator()(std::mt19937_64 &random) { return draw_(random); }
  [[nodiscard]] double share(std::uint32_t rank) const { return weights_[rank] / total_; }

private:
  std::vector<double> weights_;
  double total_ = 0;
  std::discrete_distribution<std::uint32_t> draw_;
};

TEST(Negatives, of_no_samples_say_nothing) {
  const Negatives seen = NegativeCounter().look();
  EXPECT_TRUE(seen.hottest.empty());
  EXPECT_EQ(seen.total, 0);
  EXPECT_EQ(seen.psi(10), 0);
}

TEST(Negatives, that_came_once_each_are_strangers) {
  NegativeCounter counter;
  for (std::uint32_t i = 0; i < 500; ++i) counter.add(source(i));
  const Negatives seen = counter.look();
  EXPECT_EQ(seen.total, 500);
  EXPECT_TRUE(seen.hottest.empty()) << "nothing says that any of them will come again";
}

// How far the share that samples promise may be from the real one. Good and Turing say that the share n1 / n
// has not come yet, of n samples with n1 and n2 addresses that came once and twice; their error has a
// variance of at most (n1 + 2 n2) / n^2 (Robbins 1968). One discount for all counts takes off another share.
double error_of_share(const std::map<Address, unsigned> &counts, unsigned samples) {
  double once = 0, twice = 0;
  for (const auto &[address, count] : counts) once += count == 1, twice += count == 2;
  const double taken_off = once / (once + 2 * twice) * static_cast<double>(counts.size());
  return (std::abs(taken_off - once) + 5 * std::sqrt(once + 2 * twice)) / samples;
}

// The share of the traffic that the hottest so many of the samples really have.
TEST(Negatives, have_the_share_of_coming_traffic_that_few_samples_promise) {
  const std::uint64_t seed = test::seed_or(17);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  for (const double skew : {0.8, 1.0, 1.3})
    for (const unsigned samples : {500u, 5'000u}) {
      SCOPED_TRACE(testing::Message() << "skew " << skew << ", " << samples << " samples");
      Zipf zipf(20'000, skew);
      NegativeCounter counter;
      std::map<Address, unsigned> counts;
      unsigned most = 0;
      for (unsigned i = 0; i < samples; ++i) {
        const Address address = source(zipf(random));
        counter.add(address);
        most = std::max(most, ++counts[address]);
      }
      const Negatives seen = counter.look();
      double real = 0;
      for (const HotSource &hot : seen.hottest) real += zipf.share(hot.address.host() - 0x0A000000);
      EXPECT_NEAR(seen.psi(seen.hottest.size()), real, error_of_share(counts, samples));
      EXPECT_GT(seen.hottest.size(), 5u);
      EXPECT_EQ(counts[seen.hottest[0].address], most) << "the hottest comes first";
    }
}

TEST(Negatives, of_two_windows_ago_are_forgotten) {
  NegativeCounter counter({.rows_max = 64, .window = 100, .recent_max = 10});
  for (unsigned i = 0; i < 100; ++i) counter.add(source(1));
  for (unsigned i = 0; i < 100; ++i) counter.add(source(2));
  EXPECT_EQ(counter.look().hottest.size(), 2u);
  for (unsigned i = 0; i < 100; ++i) counter.add(source(3));
  const Negatives seen = counter.look();
  ASSERT_EQ(seen.hottest.size(), 2u);
  EXPECT_EQ(seen.total, 200);
  EXPECT_EQ(counter.held(), 200u);
  EXPECT_EQ(counter.samples(), 300u);
  for (const HotSource &hot : seen.hottest) EXPECT_NE(hot.address, source(1));
}

TEST(Negatives, begun_anew_are_the_recent_ones_alone) {
  NegativeCounter counter({.rows_max = 64, .window = 1000, .recent_max = 50});
  for (unsigned i = 0; i < 400; ++i) counter.add(source(1));
  counter.forget_recent();
  for (unsigned i = 0; i < 70; ++i) counter.add(source(2 + i % 2));
  EXPECT_EQ(counter.recent().size(), 50u);
  counter.begin_anew();
  const Negatives seen = counter.look();
  EXPECT_EQ(seen.total, 50);
  ASSERT_EQ(seen.hottest.size(), 2u);
  EXPECT_EQ(seen.hottest[0].cost + seen.hottest[1].cost, 50) << "nobody came once, so nothing is taken off";
}

TEST(Negatives, seen_in_several_intervals_come_before_those_that_were_seen_often_in_one) {
  NegativeCounter counter;
  for (unsigned interval = 0; interval < 3; ++interval) {
    counter.add(source(1));
    for (unsigned i = 0; interval == 1 && i < 1000; ++i) counter.add(source(2));
    counter.next_interval();
  }
  const Negatives seen = counter.look();
  ASSERT_EQ(seen.hottest.size(), 2u);
  EXPECT_EQ(seen.hottest[0].address, source(1));
  EXPECT_EQ(seen.hottest[1].address, source(2));
  EXPECT_LT(seen.psi(1), 0.01) << "it asks as seldom as it does";
}

TEST(Negatives, give_way_to_others_that_come_again_and_again) {
  NegativeCounter counter({.rows_max = 64, .window = 4000, .recent_max = 400});
  for (unsigned i = 0; i < 4000; ++i) {
    if (i % 400 == 0) counter.next_interval();
    counter.add(source(i % 8));
  }
  counter.forget_recent();
  for (unsigned i = 0; i < 400; ++i) counter.add(source(100 + i % 8));
  counter.begin_anew();
  for (unsigned i = 0; i < 4000; ++i) {
    if (i % 400 == 0) counter.next_interval();
    counter.add(source(100 + i % 8));
  }
  const Negatives seen = counter.look();
  for (std::size_t i = 0; i < 8; ++i) EXPECT_GE(seen.hottest[i].address, source(100));
  EXPECT_GT(seen.psi(8), 0.8);
}

// What share of their traffic the hottest thousand legitimate sources have among so many known ones.
double known_share(const NegativeCounter &counter, const Zipf &zipf, std::uint32_t sources) {
  constexpr std::size_t known = 4096;
  constexpr std::uint32_t hottest = 1000;
  double all = 0, of_known = 0;
  for (std::uint32_t rank = 0; rank < hottest; ++rank) all += zipf.share(rank);
  const Negatives seen = counter.look();
  for (std::size_t i = 0; i < std::min(known, seen.hottest.size()); ++i) {
    const std::uint32_t rank = seen.hottest[i].address.host() - source(0).host();
    if (rank < std::min(hottest, sources)) of_known += zipf.share(rank);
  }
  return of_known / all;
}

TEST(Negatives, keep_legitimate_sources_through_floods_of_fresh_ones) {
  const std::uint64_t seed = test::seed_or(29);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  constexpr std::uint32_t sources = 20'000;
  Zipf zipf(sources, 0.9);
  for (const double flood : {0.9, 0.99, 0.999}) {
    NegativeCounter counter({.rows_max = 1u << 14, .window = 1u << 16, .recent_max = 4096});
    for (unsigned i = 0; i < 2u << 16; ++i) {
      if (i % 8192 == 0) counter.next_interval();
      counter.add(source(zipf(random)));
    }
    const double before = known_share(counter, zipf, sources);
    std::bernoulli_distribution is_fresh(flood);
    counter.forget_recent();
    for (unsigned i = 0; i < 4u << 16; ++i) { // four windows
      if (i % 8192 == 0) counter.next_interval();
      if (i % (2u << 16) == (1u << 16)) counter.begin_anew(); // the watch takes it for a shift
      counter.add(is_fresh(random)
                      ? Address::from_host(0x50000000 + static_cast<std::uint32_t>(random() >> 36))
                      : source(zipf(random)));
    }
    const double after = known_share(counter, zipf, sources);
    RecordProperty("kept_" + std::to_string(flood), std::to_string(after / before));
    EXPECT_GT(before, 0.95) << flood;
    EXPECT_GE(after, 0.95 * before) << flood;
    EXPECT_NEAR(counter.look().psi(4096), (1 - flood) * 0.8, 0.15 * (1 - flood) + 0.002)
        << "and what they ask is no more than it is";
  }
}

} // namespace
} // namespace weir::workload::negatives_test
