// One writer inserts, erases and guards at full speed in a filter so small that everything shares cells;
// readers ask, one at a time and in batches, for keys that are present all the while. Not one may be
// missed.
#include "tests/support/seed.hpp"
#include "tests/support/seesaw_section.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

namespace weir::filter::seesaw_race_test {
namespace {

using test::SeesawSection;

constexpr std::uint64_t residents = 60, passers = 60, negatives = 40;
constexpr std::uint64_t turns_min = 10; // of each reader while the writer is at work

TEST(SeesawRace, readers_never_miss_a_key_while_others_come_and_go) {
  const std::uint64_t seed = test::seed_or(1);
  WEIR_TRACE_SEED(seed);
  build::SeesawParams params;
  params.cell_words = 20, params.hashes = 4, params.adaptive = true, params.positive_bits = 3;
  std::atomic<std::uint64_t> asked = 0, missed = 0, changes = 0;
  for (unsigned round = 0; round < 20; ++round) {
    const auto stay = test::numbered_keys(seed + round, 0, residents);
    SeesawSection section(params, stay, test::numbered_keys(seed + round, 1, negatives / 2));
    std::atomic<bool> stop = false;
    std::array<std::atomic<std::uint64_t>, 2> turns{};
    std::vector<std::thread> threads;
    for (unsigned reader = 0; reader < 2; ++reader)
      threads.emplace_back([&, reader] {
        const SeesawView view = section.view();
        std::uint64_t n = 0, lost = 0;
        while (!stop.load(std::memory_order_relaxed)) {
          n += residents;
          if (reader == 0)
            for (const KeyHash key : stay) lost += !view.contains(key);
          else
            lost += residents - static_cast<unsigned>(std::popcount(view.contains_batch(stay)));
          turns[reader].fetch_add(1, std::memory_order_relaxed);
        }
        asked += n;
        missed += lost;
      });
    auto writer = section.writer();
    std::mt19937_64 random(seed + round);
    std::array<unsigned, passers> present{};
    const auto readers_wait = [&] { return turns[0] < turns_min || turns[1] < turns_min; };
    for (unsigned i = 0; i < 30'000 || readers_wait(); ++i) {
      const std::uint64_t number = random() % passers;
      const KeyHash key = test::numbered_key(seed + round, 2, number);
      if (i % 1'000 == 0) writer.learn(test::numbered_key(seed + round, 1, random() % negatives));
      if (present[number] == 0 || random() % 4 == 0)
        writer.insert(key), ++present[number];
      else if (writer.erase(key))
        --present[number];
      ++changes;
    }
    stop = true;
    for (std::thread &thread : threads) thread.join();
  }
  EXPECT_EQ(missed, 0u);
  EXPECT_GT(asked, 10'000u);
  EXPECT_GE(changes, 600'000u);
}

TEST(SeesawRace, a_key_is_found_by_whoever_learns_of_its_insertion) {
  const std::uint64_t seed = test::seed_or(2);
  WEIR_TRACE_SEED(seed);
  constexpr std::uint64_t keys = 40'000;
  build::SeesawParams params;
  params.planned_keys = keys;
  params = build::seesaw_split(params, keys * 20, 0.1);
  SeesawSection section(params, {}, test::numbered_keys(seed, 1, keys / 5));
  std::atomic<std::uint64_t> inserted = 0;
  std::uint64_t missed = 0, asked = 0;
  std::thread reader([&] {
    const SeesawView view = section.view();
    std::mt19937_64 random(seed);
    for (std::uint64_t known = 0; known < keys;) {
      known = inserted.load(std::memory_order_acquire);
      if (known == 0) continue;
      for (const std::uint64_t number : {known - 1, random() % known}) {
        ++asked;
        missed += !view.contains(test::numbered_key(seed, 0, number));
      }
    }
  });
  auto writer = section.writer();
  for (std::uint64_t i = 0; i < keys; ++i) {
    writer.insert(test::numbered_key(seed, 0, i));
    inserted.store(i + 1, std::memory_order_release);
  }
  reader.join();
  EXPECT_EQ(missed, 0u);
  EXPECT_GT(asked, 0u);
}

} // namespace
} // namespace weir::filter::seesaw_race_test
