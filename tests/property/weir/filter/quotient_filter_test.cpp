// The counting quotient filter against a multiset of fingerprints: random insertions and deletions in
// tables so small that runs meet, wrap blocks and fill up, and counts that grow long.
#include "tests/support/base_filter_cases.hpp"
#include "tests/support/filter_spread.hpp"

#include <gtest/gtest.h>
#include <map>
#include <random>

namespace weir::filter::quotient_filter_test {
namespace {

using test::absent_keys;
using test::random_keys;

// The filter's own fingerprints, by the filter's own hash: what a key is to be taken for.
class Model {
public:
  explicit Model(const QuotientShape &shape) : universe_(shape.universe()) {}

  [[nodiscard]] std::uint64_t count(KeyHash key) const {
    const auto found = counts_.find(fingerprint(key));
    return found == counts_.end() ? 0 : found->second;
  }
  void insert(KeyHash key) { ++counts_[fingerprint(key)], ++size_; }
  bool erase(KeyHash key) {
    const auto found = counts_.find(fingerprint(key));
    if (found == counts_.end()) return false;
    if (--found->second == 0) counts_.erase(found);
    --size_;
    return true;
  }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] std::size_t distinct() const { return counts_.size(); }

private:
  [[nodiscard]] std::uint64_t fingerprint(KeyHash key) const {
    constexpr std::uint64_t own_view = 0x900713E27F117E25ull; // layer 0
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>(Wide{remix(key, own_view)} * universe_ >> 64);
  }

  std::uint64_t universe_, size_ = 0;
  std::map<std::uint64_t, std::uint64_t> counts_;
};

struct Course {
  QuotientShape shape;
  std::size_t keys;    // that take part
  unsigned favourites; // out of 8 operations, how many are about the first four keys
};

void follow(const Course &course, std::uint64_t seed, int steps) {
  SCOPED_TRACE(std::to_string(course.shape.slots) + " slots of " +
               std::to_string(course.shape.remainder_bits) + " bits, " + std::to_string(course.keys) +
               " keys");
  std::mt19937_64 random(seed);
  QuotientFilter filter = QuotientFilter::make(course.shape).value();
  Model model(course.shape);
  const std::vector<KeyHash> keys = random_keys(course.keys, seed);
  unsigned refused = 0;
  for (int step = 0; step < steps; ++step) {
    const bool favourite = random() % 8 < course.favourites;
    const KeyHash key = keys[random() % (favourite ? std::min<std::size_t>(4, keys.size()) : keys.size())];
    const bool growing = step % 4'000 < 2'400; // fills up, then empties
    if (random() % 10 < (growing ? 7u : 3u)) {
      if (filter.insert(key))
        model.insert(key);
      else
        ++refused;
    } else {
      ASSERT_EQ(filter.erase(key), model.erase(key)) << "step " << step;
    }
    ASSERT_EQ(filter.count(key), model.count(key)) << "step " << step;
    ASSERT_EQ(filter.keys(), model.size()) << "step " << step;
    if (step % 97 == 0)
      for (const KeyHash k : keys) {
        ASSERT_EQ(filter.count(k), model.count(k)) << "step " << step;
        ASSERT_EQ(filter.contains(k), model.count(k) > 0) << "step " << step;
      }
  }
  EXPECT_GE(filter.slots_used(), model.distinct());
  if (course.keys > course.shape.slots) {
    EXPECT_GT(refused, 0u) << "the course was to fill the table";
  }
  for (const KeyHash key : keys)
    while (model.erase(key)) ASSERT_TRUE(filter.erase(key));
  EXPECT_EQ(filter.slots_used(), 0u);
  const Bytes cells = filter.section().subspan(sizeof(FilterHeader));
  EXPECT_TRUE(std::ranges::all_of(cells, [](std::byte b) { return b == std::byte{0}; })) << "a trace is left";
}

TEST(QuotientFilter, counts_as_a_multiset_of_fingerprints_does) {
  const std::uint64_t seed = test::seed_or(71);
  WEIR_TRACE_SEED(seed);
  const std::vector<Course> courses{
      {{1, 1}, 4, 0},      {{3, 2}, 12, 2},        {{50, 1}, 60, 2},    {{64, 3}, 90, 1},
      {{65, 2}, 200, 4},   {{130, 4}, 150, 0},     {{200, 7}, 260, 3},  {{200, 7}, 30, 8},
      {{333, 13}, 400, 1}, {{1'000, 5}, 1'100, 0}, {{1'000, 1}, 40, 8}, {{257, 20}, 300, 2},
      {{500, 8}, 100, 6},
  };
  for (const Course &course : courses) follow(course, seed, 12'000);
}

TEST(QuotientFilter, keeps_what_it_counts_when_doubled_and_halved) {
  const std::uint64_t seed = test::seed_or(72);
  WEIR_TRACE_SEED(seed);
  const QuotientShape shape{1'500, 9};
  QuotientFilter filter = QuotientFilter::make(shape, 5).value();
  const std::vector<KeyHash> keys = random_keys(1'400, seed), absent = absent_keys(20'000, seed);
  for (std::size_t i = 0; i < keys.size(); ++i) ASSERT_TRUE(filter.insert(keys[i % 1'100]));
  for (const int doublings : {1, 3, 8}) {
    const auto larger = filter.resized(doublings);
    ASSERT_TRUE(larger) << larger.error().message;
    EXPECT_EQ(larger->shape().slots, 1'500u << doublings);
    EXPECT_EQ(larger->shape().remainder_bits, 9u - static_cast<unsigned>(doublings));
    EXPECT_EQ(larger->keys(), filter.keys());
    for (const KeyHash key : keys) ASSERT_EQ(larger->count(key), filter.count(key));
    for (const KeyHash key : absent) ASSERT_EQ(larger->contains(key), filter.contains(key));
    const auto again = larger->resized(-doublings);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_TRUE(std::ranges::equal(again->section(), filter.section())) << doublings << " doublings";
  }
  EXPECT_EQ(filter.resized(9).error().code, Errc::usage) << "no bit would be left";
  EXPECT_EQ(filter.resized(-3).error().code, Errc::usage) << "1500 is not eight times anything";
  EXPECT_EQ(filter.resized(-1).error().code, Errc::needs_rebuild) << "1100 do not fit into 750";
}

TEST(QuotientFilter, errs_as_predicted_at_every_length_of_remainders_and_any_size) {
  const std::uint64_t seed = test::seed_or(75);
  WEIR_TRACE_SEED(seed);
  const std::vector<KeyHash> keys = random_keys(9'000, seed), absent = absent_keys(200'000, seed);
  for (unsigned bits = 1; bits <= QuotientShape::remainder_bits_max; ++bits) {
    const QuotientShape shape{9'877 + 101 * bits + (bits < 3 ? 3'000 : 0), bits};
    const QuotientFilter filter = test::filled<QuotientFilter>(shape, keys, bits);
    EXPECT_EQ(test::missed(filter, keys), 0u) << bits << " bits";
    EXPECT_TRUE(test::rate_is(QuotientFilter::rate(shape, 9'000), test::accepted(filter, absent),
                              absent.size(), test::rate_variance(shape, 9'000)))
        << bits << " bits";
    EXPECT_TRUE(test::batch_equals_single(filter, test::mixed_keys(keys, absent)));
  }
}

TEST(QuotientFilter, takes_more_keys_once_it_is_doubled) {
  QuotientFilter filter = QuotientFilter::make({1'000, 12}).value();
  const std::vector<KeyHash> keys = random_keys(1'900, 73);
  std::size_t in = 0;
  while (filter.insert(keys[in])) ++in;
  EXPECT_GE(in, 990u);
  filter = filter.resized(1).value();
  for (std::size_t i = in; i < keys.size(); ++i) ASSERT_TRUE(filter.insert(keys[i]));
  EXPECT_EQ(test::missed(filter, keys), 0u);
}

TEST(QuotientFilter, counts_a_million_times_in_a_few_slots) {
  for (const unsigned bits : {4u, 8u, 16u}) {
    QuotientFilter filter = QuotientFilter::make({100, bits}).value();
    const KeyHash key{42};
    for (int i = 0; i < 1'000'000; ++i) ASSERT_TRUE(filter.insert(key));
    EXPECT_EQ(filter.count(key), 1'000'000u);
    EXPECT_LE(filter.slots_used(), 21u) << bits;
  }
}

TEST(QuotientFilter, goes_on_in_a_section_that_it_is_given) {
  const std::vector<KeyHash> keys = random_keys(900, 74);
  const QuotientFilter filter = test::filled<QuotientFilter>({1'000, 10}, std::span(keys).first(500), 2);
  test::SectionCopy copy(filter.section());
  QuotientFilter adopted = QuotientFilter::adopt(copy.bytes()).value();
  EXPECT_EQ(adopted.slots_used(), filter.slots_used());
  for (const KeyHash key : std::span(keys).subspan(500)) ASSERT_TRUE(adopted.insert(key));
  const auto view = QuotientView::attach(copy.bytes());
  ASSERT_TRUE(view);
  EXPECT_EQ(test::missed(*view, keys), 0u);
}

} // namespace
} // namespace weir::filter::quotient_filter_test
