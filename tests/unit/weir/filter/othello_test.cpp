// Othello hashing: every key that is in has its value after any change, and nothing else is promised.
#include "tests/support/filter_checks.hpp"
#include "weir/build/othello_builder.hpp"
#include "weir/filter/binary_fuse.hpp"

#include <gtest/gtest.h>

#include <unordered_map>

namespace weir::build::othello_test {
namespace {

using filter::OthelloShape;
using test::absent_keys;
using test::random_keys;

OthelloShape shape_of(std::size_t keys, unsigned bits) {
  return OthelloShape::for_keys(static_cast<double>(keys), bits).value();
}
std::uint32_t value_of(KeyHash key, unsigned bits) {
  return static_cast<std::uint32_t>(remix(key, 99)) & ((1u << bits) - 1);
}
Othello made(std::size_t keys, unsigned bits, std::uint64_t seed = 0) {
  return Othello::make(shape_of(keys, bits), 1, seed).value();
}

template <class Keys> std::size_t wrong(const Othello &othello, const Keys &keys, unsigned bits) {
  return static_cast<std::size_t>(
      std::ranges::count_if(keys, [&](KeyHash k) { return othello.value(k) != value_of(k, bits); }));
}
void insert_all(Othello &othello, std::span<const KeyHash> keys, unsigned bits) {
  for (const KeyHash key : keys) {
    const Status in = othello.insert(key, value_of(key, bits));
    ASSERT_TRUE(in) << in.error().message;
  }
}

TEST(Othello, has_the_value_of_every_key_at_every_width_and_size) {
  const std::uint64_t seed = test::seed_or(81);
  WEIR_TRACE_SEED(seed);
  for (unsigned bits = 1; bits <= filter::cell_bits_max; ++bits)
    for (const std::size_t count : {0u, 1u, 2u, 7u, 100u, 5'000u}) {
      const std::vector<KeyHash> keys = random_keys(count, seed + bits);
      Othello othello = made(count, bits, seed);
      insert_all(othello, keys, bits);
      EXPECT_EQ(wrong(othello, keys, bits), 0u) << count << " keys, " << bits << " bits";
      EXPECT_EQ(othello.keys(), count);
    }
}

// Against a map, through circles and seeds.
TEST(Othello, has_the_value_of_every_key_after_any_changes) {
  const std::uint64_t seed = test::seed_or(82);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  constexpr std::size_t most = 200;
  Othello othello = made(most, 3, seed);
  const std::vector<KeyHash> pool = random_keys(4 * most, seed);
  std::unordered_map<std::uint64_t, std::uint32_t> in;
  for (unsigned step = 0; step < 40'000; ++step) {
    const KeyHash key = pool[random() % pool.size()];
    const auto value = static_cast<std::uint32_t>(random() % 8);
    const bool present = in.contains(key.bits);
    if (!present && in.size() < most) {
      ASSERT_TRUE(othello.insert(key, value));
      in[key.bits] = value;
    } else if (present && random() % 4 != 0) {
      ASSERT_TRUE(othello.change(key, value));
      in[key.bits] = value;
    } else {
      ASSERT_EQ(othello.erase(key), present);
      in.erase(key.bits);
    }
    ASSERT_EQ(othello.declared(key).has_value(), in.contains(key.bits));
    if (step % 16 != 0) continue;
    for (const auto &[bits, is] : in) ASSERT_EQ(othello.value({bits}), is) << "after step " << step;
  }
  EXPECT_EQ(othello.keys(), in.size());
  EXPECT_GT(othello.seeds_tried(), 4u) << "hardly a circle came: this test says nothing of them";
}

TEST(Othello, changes_a_value_and_no_other) {
  const std::vector<KeyHash> keys = random_keys(10'000, 83);
  Othello othello = made(keys.size(), 2);
  insert_all(othello, keys, 2);
  for (std::size_t i = 0; i < keys.size(); i += 10) {
    ASSERT_TRUE(othello.change(keys[i], value_of(keys[i], 2) ^ 3));
    ASSERT_EQ(othello.value(keys[i]), value_of(keys[i], 2) ^ 3);
    ASSERT_TRUE(othello.change(keys[i], value_of(keys[i], 2)));
  }
  EXPECT_EQ(wrong(othello, keys, 2), 0u);
}

// [Chained §4.3.1] has 2.33 bits for a key. -ln of the share of seeds without a circle is how many circles are met on the way.
TEST(Othello, takes_two_and_a_third_bits_a_key_and_few_seeds) {
  const std::uint64_t seed = test::seed_or(84);
  WEIR_TRACE_SEED(seed);
  constexpr std::size_t count = 100'000;
  Othello othello = made(count, 1, seed);
  EXPECT_NEAR(static_cast<double>(othello.bits()) / count, 2.33, 0.01);
  const std::vector<KeyHash> keys = random_keys(count, seed);
  insert_all(othello, keys, 1);
  EXPECT_LE(othello.seeds_tried(), 20u); // two expected, each circle asking for two
  EXPECT_EQ(wrong(othello, keys, 1), 0u);
  std::uint64_t alone = 0; // seeds under which no circle comes
  for (std::uint64_t s = 1; s <= 200; ++s) {
    Othello small = made(2'000, 1, seed + s);
    insert_all(small, std::span(keys).first(2'000), 1);
    alone += small.seeds_tried() == 0 ? 1 : 0;
  }
  EXPECT_TRUE(test::rate_is(0.51, alone, 200));
}

TEST(Othello, answers_batches_like_single_questions) {
  for (const std::size_t count : {std::size_t{1'000}, std::size_t{400'000}}) { // in cache, and not
    const unsigned bits = count == 1'000 ? 1 : 8;
    const std::vector<KeyHash> keys = random_keys(count, 85);
    Othello othello = made(count, bits);
    insert_all(othello, keys, bits);
    std::vector<KeyHash> asked = absent_keys(2'100, 86);
    asked.insert(asked.begin(), keys.begin(), keys.begin() + 200);
    std::array<std::uint32_t, filter::batch_max> values;
    for (std::size_t size = 0; size <= filter::batch_max; ++size) {
      othello.view().values(std::span(asked).first(size), values.data());
      for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(values[i], othello.value(asked[i])) << size;
    }
    EXPECT_TRUE(test::batch_equals_single(othello, asked));
  }
}

TEST(Othello, attaches_to_its_section_and_refuses_what_is_none) {
  const std::vector<KeyHash> keys = random_keys(3'000, 87);
  Othello othello = made(keys.size(), 5);
  insert_all(othello, keys, 5); // through other seeds than the first
  const auto view = filter::OthelloView::attach(othello.section());
  ASSERT_TRUE(view) << view.error().message;
  for (const KeyHash key : keys) ASSERT_EQ(view->value(key), value_of(key, 5));
  EXPECT_FALSE(filter::OthelloView::attach(othello.section().first(othello.section().size() - 64)));
  const auto other = filter::BinaryFuseView::attach(othello.section());
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Errc::bad_image);
}

TEST(Othello, is_copied_with_its_keys) {
  const std::vector<KeyHash> keys = random_keys(2'000, 88);
  Othello first = made(keys.size(), 1);
  insert_all(first, std::span(keys).first(1'500), 1);
  Othello second = first;
  insert_all(second, keys, 1);
  EXPECT_EQ(first.keys(), 1'500u);
  EXPECT_EQ(wrong(first, std::span(keys).first(1'500), 1), 0u);
  EXPECT_EQ(wrong(second, keys, 1), 0u);
}

TEST(Othello, refuses_a_key_with_two_values_by_name) {
  const std::vector<KeyHash> keys = random_keys(1'000, 89);
  const auto built = Othello::build({{keys, 2}, {std::span(keys).subspan(17, 1), 5}}, shape_of(1'000, 3));
  ASSERT_FALSE(built);
  EXPECT_EQ(built.error().code, Errc::usage);
  EXPECT_NE(built.error().message.find(fmt::format("key {:016x} has two values, 2 and 5", keys[17].bits)),
            std::string::npos)
      << built.error().message;
  const auto twice = Othello::build({{keys, 2}, {std::span(keys).first(300), 2}}, shape_of(1'000, 3));
  ASSERT_TRUE(twice) << twice.error().message;
  EXPECT_EQ(twice->keys(), 1'000u);
}

TEST(Othello, refuses_what_cannot_be_and_stays_as_it_was) {
  Othello othello = made(100, 2);
  const std::uint64_t most = othello.shape().keys_max();
  const std::vector<KeyHash> keys = random_keys(most + 1, 90);
  insert_all(othello, std::span(keys).first(most), 2);
  const auto says = [](const Status &status, Errc code, const char *what) {
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, code);
    EXPECT_NE(status.error().message.find(what), std::string::npos) << status.error().message;
  };
  says(othello.insert(keys[most], 1), Errc::needs_rebuild, "keys find no place");
  says(othello.insert(keys[most], 4), Errc::usage, "value 4 does not fit in 2 bits");
  says(othello.change(keys[0], 4), Errc::usage, "value 4 does not fit in 2 bits");
  says(othello.change(keys[most], 1), Errc::not_found, "is not in");
  EXPECT_FALSE(othello.erase(keys[most]));
  EXPECT_EQ(wrong(othello, std::span(keys).first(most), 2), 0u);
  for (const std::uint32_t bits : {0u, 17u}) {
    EXPECT_FALSE(OthelloShape::for_keys(100, bits));
    EXPECT_FALSE(Othello::make({.side_words = 4, .value_bits = bits}));
  }
  EXPECT_FALSE(Othello::make({.side_words = 0, .value_bits = 1}));
  EXPECT_FALSE(OthelloShape::for_bits(127, 1));
}

} // namespace
} // namespace weir::build::othello_test
