// One writer lets keys come and go at full speed in a stack of counting layers whose counts soon are stuck;
// readers ask, one at a time and in batches, for keys that are present all the while, and for keys as they
// learn of them. Not one may be missed.
#include "tests/support/filter_checks.hpp"
#include "weir/filter/stacked_counting.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <random>
#include <thread>

namespace weir::filter::stacked_counting_race_test {
namespace {

constexpr std::size_t residents = 64, passers = 400;

class StackedCountingRace : public testing::TestWithParam<unsigned> {};

TEST_P(StackedCountingRace, readers_never_miss_a_key_while_others_come_and_go) {
  const std::uint64_t seed = test::seed_or(3);
  WEIR_TRACE_SEED(seed);
  const unsigned cell_bits = GetParam();
  StackedCounting stack = StackedCounting::make({{16, cell_bits, 3}, {4, 1, 2}, {8, cell_bits, 3}}).value();
  const auto stay = test::random_keys(residents, seed), pass = test::absent_keys(passers, seed);
  // So many that layer 2 takes most keys, and among them some that become positives.
  for (const KeyHash known : test::keys_from(std::uint64_t{1} << 41, 150, seed))
    ASSERT_TRUE(stack.learn(known));
  for (std::size_t i = 0; i < passers; i += 20) ASSERT_TRUE(stack.learn(pass[i]));
  for (const KeyHash key : stay) stack.insert(key);

  std::atomic<bool> stop = false;
  std::atomic<std::uint64_t> asked = 0, missed = 0;
  std::atomic<std::size_t> newest = passers; // of `pass`; passers: none is sure to stay
  std::atomic<std::uint64_t> asking[2] = {0, 0};
  std::vector<std::thread> threads;
  for (unsigned reader = 0; reader < 2; ++reader)
    threads.emplace_back([&, reader] {
      const StackedCountingView view = StackedCountingView::attach(stack.section()).value();
      std::uint64_t lost = 0, n = 0;
      while (!stop.load()) {
        if (const std::size_t learnt = newest.load(); learnt < passers) lost += !view.contains(pass[learnt]);
        asking[reader].fetch_add(1);
        if (reader == 0)
          for (const KeyHash key : stay) lost += !view.contains(key);
        else
          lost += residents - static_cast<unsigned>(std::popcount(view.contains_batch(stay)));
        n += residents;
      }
      asked += n;
      missed += lost;
    });
  // Whoever learnt of a key has asked for it.
  const auto wait_for_readers = [&] {
    for (auto &turns : asking)
      for (const std::uint64_t before = turns.load(); turns.load() < before + 2;) std::this_thread::yield();
  };
  std::mt19937_64 random(seed);
  std::vector<std::size_t> present;
  std::vector<bool> is_present(passers);
  for (unsigned round = 0; round < 60; ++round) {
    for (unsigned i = 0; i < 120; ++i)
      if (const std::size_t number = random() % passers; !is_present[number]) {
        stack.insert(pass[number]);
        is_present[number] = true;
        present.push_back(number);
        newest.store(number);
      }
    newest.store(passers);
    wait_for_readers();
    std::ranges::shuffle(present, random);
    for (; present.size() > 20; present.pop_back()) {
      EXPECT_TRUE(stack.erase(pass[present.back()]));
      is_present[present.back()] = false;
    }
  }
  stop = true;
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(missed, 0u);
  EXPECT_GT(asked, 10'000u);
  EXPECT_EQ(cell_bits < 4, stack.cells_stuck() > 0) << "counts of three are reached, counts of 255 are not";
}

INSTANTIATE_TEST_SUITE_P(CellBits, StackedCountingRace, testing::Values(2u, 8u),
                         [](const auto &bits) { return std::to_string(bits.param); });

} // namespace
} // namespace weir::filter::stacked_counting_race_test
