// What readers see in between: after every single store of the writer each present key is asked, so
// every intermediate state is looked at, without threads and without luck. And what the writer reports
// about its load is held against a count of its own.
#include "tests/support/seed.hpp"
#include "tests/support/seesaw_section.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <random>

namespace weir::filter::seesaw_stores_test {
namespace {

using test::SeesawSection;

std::function<void()> on_store; // of the test that runs

struct Watched : SeesawRules {
  static void stored() { on_store(); }
};
struct TwoStores : Watched {
  static constexpr bool stores_at_once = false;
};

struct Seen {
  std::uint64_t stores = 0, missed = 0;
};

// Keys and negatives come and go at random in a filter where all of them share cells.
template <class Rules> Seen watch(std::uint64_t seed, unsigned sequences) {
  std::mt19937_64 random(seed);
  Seen seen;
  for (unsigned sequence = 0; sequence < sequences; ++sequence) {
    build::SeesawParams params;
    params.cell_words = 1 + random() % 4;
    params.hashes = 1 + random() % 4;
    params.adaptive = random() % 2 == 0;
    params.positive_bits = 2 + random() % 2;
    params.count_bits = 1 + random() % 4;
    SeesawSection section(params);
    auto writer = section.writer<Rules>();
    const SeesawView view = section.view();
    std::map<std::uint64_t, unsigned> settled; // present before and after the operation under way
    on_store = [&] {
      ++seen.stores;
      for (const auto &[key, count] : settled) seen.missed += count > 0 && !view.contains({key});
    };
    for (unsigned i = 0; i < 10; ++i) writer.learn(test::numbered_key(seed, 1, random() % 20));
    for (unsigned i = 0; i < 300; ++i) {
      const KeyHash key = test::numbered_key(seed, 0, random() % 16);
      const unsigned choice = random() % 9;
      if (choice == 0)
        writer.learn(test::numbered_key(seed, 1, random() % 20));
      else if (choice < 5) {
        writer.insert(key);
        ++settled[key.bits];
      } else if (settled[key.bits] > 0) {
        --settled[key.bits];
        writer.erase(key);
      }
    }
  }
  on_store = nullptr;
  return seen;
}

TEST(SeesawStores, no_single_store_hides_a_present_key) {
  const std::uint64_t seed = test::seed_or(1);
  WEIR_TRACE_SEED(seed);
  const Seen seen = watch<Watched>(seed, 1'000);
  EXPECT_GT(seen.stores, 300'000u);
  EXPECT_EQ(seen.missed, 0u);
}

TEST(SeesawStores, rule_8_count_and_index_apart_hide_keys) {
  const std::uint64_t seed = test::seed_or(2);
  WEIR_TRACE_SEED(seed);
  EXPECT_GT(watch<TwoStores>(seed, 200).missed, 0u);
}

std::uint64_t count_cells(const CellArray &cells, const std::uint64_t *words, auto wanted) {
  std::uint64_t n = 0;
  for (std::uint32_t word = 0; word < cells.words; ++word)
    for (std::uint32_t slot = 0; slot < cells.per_word; ++slot)
      n += wanted(load_cell(words, {word, slot * cells.width}) & cells.mask());
  return n;
}

TEST(SeesawStores, rule_9_the_load_reported_is_the_load_there_is) {
  const std::uint64_t seed = test::seed_or(3);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  build::SeesawParams params;
  params.planned_keys = 3'000;
  params = build::seesaw_split(params, 3'000 * 14, 0.05);
  params.count_bits = 2;
  SeesawSection section(params, test::numbered_keys(seed, 0, 3'000), test::numbered_keys(seed, 1, 900));
  auto writer = section.writer();
  for (unsigned i = 0; i < 6'000; ++i) {
    writer.erase(test::numbered_key(seed, 0, i));
    writer.insert(test::numbered_key(seed, 0, i + 3'000));
  }
  const SeesawLoad load = writer.load();
  const SeesawShape shape = section.view().shape();
  const auto *cells =
      reinterpret_cast<const std::uint64_t *>(section.bytes().data() + sizeof(filter::SeesawHeader));
  const auto *modulator = cells + seesaw_words_aligned(shape.cells.words);
  EXPECT_EQ(load.keys, 3'000u);
  EXPECT_EQ(load.cells, shape.cells.cells());
  EXPECT_EQ(load.cells_stuck, count_cells(shape.cells, cells, [&](std::uint32_t c) {
              return (c & shape.positive_mask) == shape.positive_mask;
            }));
  EXPECT_EQ(load.modulator_used,
            count_cells(shape.modulator, modulator, [&](std::uint32_t c) { return shape.count_of(c) != 0; }));
  EXPECT_EQ(load.modulator_stuck, count_cells(shape.modulator, modulator, [&](std::uint32_t c) {
              return shape.count_of(c) == shape.count_mask;
            }));
  EXPECT_GT(load.cells_stuck, 0u);
  EXPECT_GT(load.modulator_stuck, 0u);
  EXPECT_GT(load.modulator_share(), 0.5);
}

TEST(SeesawStores, rule_9_a_tiny_modulator_costs_the_guarded_dearly) {
  const std::uint64_t seed = test::seed_or(4);
  WEIR_TRACE_SEED(seed);
  const std::uint64_t keys = 30'000, guarded = 9'000;
  const auto rate = [&](std::uint64_t modulator_words) {
    build::SeesawParams params;
    params.cell_words = keys * 18 / 64;
    params.modulator_words = modulator_words;
    SeesawSection section(params, test::numbered_keys(seed, 0, keys), test::numbered_keys(seed, 1, guarded));
    unsigned hits = 0;
    for (const KeyHash key : test::numbered_keys(seed, 1, guarded)) hits += section.view().contains(key);
    return std::pair(hits, section.load().modulator_share());
  };
  const auto tiny = rate(8), ample = rate(4'000);
  EXPECT_GT(tiny.first, 2 * ample.first) << ample.first;
  EXPECT_EQ(tiny.second, 1.0);
  EXPECT_LT(ample.second, 0.5);
}

TEST(SeesawStores, a_late_negative_seals_its_cells_as_their_keys_go) {
  const std::uint64_t seed = test::seed_or(5);
  WEIR_TRACE_SEED(seed);
  const std::uint64_t keys = 20'000, late = 2'000;
  build::SeesawParams params;
  params.planned_keys = keys;
  params.adaptive = true;
  params = build::seesaw_split(params, keys * 20, 0.1);
  SeesawSection section(params, test::numbered_keys(seed, 0, keys));
  auto writer = section.writer();
  const SeesawView view = section.view();
  const auto hits = [&] {
    unsigned n = 0;
    for (const KeyHash key : test::numbered_keys(seed, 1, late)) n += view.contains(key);
    return n;
  };
  const unsigned before = hits();
  unsigned waiting = 0;
  for (const KeyHash key : test::numbered_keys(seed, 1, late)) {
    const Learned g = writer.learn(key);
    EXPECT_EQ(g.sealed + g.waiting, params.hashes);
    waiting += g.waiting;
  }
  EXPECT_GT(waiting, 0u);
  for (std::uint64_t i = 0; i < keys; ++i) { // every key is replaced once
    ASSERT_TRUE(writer.erase(test::numbered_key(seed, 0, i)));
    writer.insert(test::numbered_key(seed, 0, keys + i));
  }
  for (std::uint64_t i = 0; i < keys; ++i) ASSERT_TRUE(view.contains(test::numbered_key(seed, 0, keys + i)));
  EXPECT_GT(before, 50u);
  EXPECT_LT(hits(), before / 3); // a fifth is to be expected
}

TEST(SeesawStores, without_an_adaptive_bit_a_late_negative_is_told_what_it_cannot_have) {
  build::SeesawParams params;
  params = build::seesaw_split(params, 1'000 * 20, 0.1);
  SeesawSection section(params, test::numbered_keys(6, 0, 1'000));
  auto writer = section.writer();
  unsigned refused = 0;
  for (const KeyHash key : test::numbered_keys(6, 1, 100)) {
    const Learned g = writer.learn(key);
    EXPECT_EQ(g.sealed + g.refused, params.hashes);
    refused += g.refused;
  }
  EXPECT_GT(refused, 0u);
}

} // namespace
} // namespace weir::filter::seesaw_stores_test
