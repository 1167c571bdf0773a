// One writer fills, empties and moves at full speed in a nearly full cuckoo filter; readers ask, one at a
// time and in batches, for keys that are present all the while, and for keys as they learn of them. Not one
// may be missed.
#include "tests/support/cuckoo_section.hpp"
#include "tests/support/filter_checks.hpp"
#include "tests/support/quiescence.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <numeric>
#include <random>
#include <thread>

namespace weir::filter::cuckoo_race_test {
namespace {

constexpr unsigned readers = 2;
constexpr std::size_t residents = 64, passers = 400; // the latter in steps of 20

class CuckooRace : public testing::TestWithParam<unsigned> {};

TEST_P(CuckooRace, readers_never_miss_a_key_while_others_come_go_and_move) {
  const std::uint64_t seed = test::seed_or(3);
  WEIR_TRACE_SEED(seed);
  using Put = CuckooWriter::Put;
  const auto stay = test::random_keys(residents, seed), pass = test::absent_keys(passers, seed);
  test::CuckooSection section({70, GetParam()}, stay); // 280 slots
  test::Quiescence<readers> quiescence;
  std::atomic<std::uint64_t> asked = 0, missed = 0;
  std::atomic<std::size_t> newest = passers; // of `pass`; passers: none is sure to stay
  std::vector<std::thread> threads;
  for (unsigned reader = 0; reader < readers; ++reader)
    threads.emplace_back([&, reader] {
      const CuckooView view = section.view();
      std::uint64_t lost = 0, n = 0;
      while (!quiescence.stop.load()) {
        if (const std::size_t learnt = newest.load(); learnt < passers) lost += !view.contains(pass[learnt]);
        if (reader == 0)
          for (const KeyHash key : stay) lost += !view.contains(key);
        else
          lost += residents - static_cast<unsigned>(std::popcount(view.contains_batch(stay)));
        n += residents;
        quiescence.passed[reader].fetch_add(1);
      }
      asked += n;
      missed += lost;
    });
  auto writer = section.writer();
  const auto pass_grace = [&] {
    quiescence.wait();
    writer.grace_passed();
  };
  std::mt19937_64 random(seed);
  std::vector<std::size_t> present, absent(passers); // of `pass`
  std::iota(absent.begin(), absent.end(), 0);
  std::uint64_t waited = 0;
  for (unsigned round = 0; round < 100; ++round) {
    std::ranges::shuffle(absent, random);
    while (present.size() + residents < 262 && !absent.empty()) { // 94 % of the slots
      std::vector<std::size_t> arriving(absent.end() - 20, absent.end()), waiting;
      absent.resize(absent.size() - 20);
      for (; !arriving.empty(); arriving.swap(waiting), waiting.clear()) {
        for (const std::size_t number : arriving) {
          const Put put = writer.insert_beside_readers(pass[number]);
          (put == Put::in ? present : put == Put::full ? absent : waiting).push_back(number);
          if (put == Put::in) newest.store(number);
        }
        waited += waiting.size();
        if (!waiting.empty()) pass_grace();
      }
    }
    newest.store(passers);
    pass_grace(); // no reader asks any more for what leaves now
    std::ranges::shuffle(present, random);
    for (int i = 0; i < 40; ++i) {
      EXPECT_TRUE(writer.erase(pass[present.back()]));
      absent.push_back(present.back());
      present.pop_back();
    }
  }
  quiescence.stop = true;
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(missed, 0u);
  EXPECT_GT(asked, 10'000u);
  EXPECT_GT(waited, 100u) << "hardly anything had to move";
}

INSTANTIATE_TEST_SUITE_P(FingerprintBits, CuckooRace, testing::Values(9u, 19u),
                         [](const auto &bits) { return std::to_string(bits.param); });

} // namespace
} // namespace weir::filter::cuckoo_race_test
