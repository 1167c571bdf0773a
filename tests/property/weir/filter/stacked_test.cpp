// Stacked filters over any base and of any depth: nothing present is missed whatever comes and goes, known
// negatives pass as seldom as predicted, and building and asking cost what the formulas say
// [Stacked §3, §4].
#include "tests/support/filter_checks.hpp"
#include "tests/support/filter_spread.hpp"
#include "weir/build/peeled_filter.hpp"
#include "weir/build/stacked_builder.hpp"
#include "weir/build/stacked_model.hpp"
#include "weir/filter/bloom.hpp"
#include "weir/filter/counting_bloom.hpp"
#include "weir/filter/cuckoo_filter.hpp"
#include "weir/filter/quotient_filter.hpp"
#include "weir/filter/split_block_filter.hpp"

#include "tests/support/base_filter_cases.hpp"
#include <gtest/gtest.h>

namespace weir::build::stacked_test {
namespace {

using filter::CountingBloom;
using filter::Stacked;
using test::absent_keys;
using test::keys_from;
using test::random_keys;

constexpr std::uint64_t positives_count = 20'000, known_count = 30'000;

// Bases under test, with layers coarse enough that many keys reach the last one.
template <class F> struct AtRate {
  using Filter = F;
  static typename F::Shape shape(double keys, double rate) {
    return F::shape_for_rate(std::max(keys, 1.0), rate).value();
  }
};
struct Counting : AtRate<CountingBloom> {};
struct PlainBloom : AtRate<filter::Bloom> {};
struct SplitBlock : AtRate<filter::SplitBlockFilter> {};
struct Xor : AtRate<XorFilter> {};
struct Fuse : AtRate<BinaryFuse> {};

// Tables with room for what comes and goes.
template <class F> struct WithRoom {
  using Filter = F;
  static typename F::Shape shape(double keys, double rate) {
    return F::shape_for_rate(1.2 * keys + 100, rate).value();
  }
};
struct Cuckoo : WithRoom<filter::CuckooFilter> {};
struct Quotient : WithRoom<filter::QuotientFilter> {};

template <class Base> auto shapes_at(double rate) {
  return [rate]<class Filter>(std::size_t, std::uint64_t keys) -> Result<typename Filter::Shape> {
    return Base::shape(static_cast<double>(keys), rate);
  };
}
struct Predicted {
  double value = 0, variance = 0; // the latter: what differs from one stack of the same shapes to the next
};

template <class Base> struct Built {
  using Filter = typename Base::Filter;
  std::vector<KeyHash> positives, known, unknown;
  BuiltStack<Filter> built;
  std::vector<double> rates, variances; // of layers of these shapes with so many keys

  Built(unsigned depth, double rate, std::uint64_t seed)
      : positives(random_keys(positives_count, seed)), known(absent_keys(known_count, seed)),
        unknown(keys_from(std::uint64_t{1} << 50, 60'000, seed)),
        built(build_stack<Filter>(depth, shapes_at<Base>(rate), positives, known, seed).value()) {
    for (std::size_t i = 0; i < depth; ++i) {
      const auto &layers = i % 2 == 0 ? built.stack.odd() : built.stack.even();
      const auto keys = static_cast<double>(built.counts.keys[i]);
      rates.push_back(Filter::rate(layers[i / 2].shape(), keys));
      variances.push_back(test::rate_variance(layers[i / 2].shape(), keys));
    }
  }

  // A formula of the rates.
  template <class Formula> [[nodiscard]] Predicted predicted(Formula formula) const {
    Predicted out{formula(rates), 0};
    for (std::size_t i = 0; i < rates.size(); ++i) {
      constexpr double step = 1e-6;
      std::vector<double> other = rates;
      other[i] += step;
      const double slope = (formula(other) - out.value) / step;
      out.variance += slope * slope * variances[i];
    }
    return out;
  }
};

// Numbers of layers that keys have to do with, added up.
struct Tally {
  double keys = 0, sum = 0, squares = 0;
  void add(double layers) {
    ++keys;
    sum += layers;
    squares += layers * layers;
  }
};
// `reached[i]` of so many keys came to the (i + 1)th layer of theirs.
Tally tally_of(double keys, const std::vector<std::uint64_t> &reached) {
  Tally tally{.keys = keys};
  for (std::size_t i = 0; i < reached.size(); ++i) {
    tally.sum += static_cast<double>(reached[i]);
    tally.squares += static_cast<double>((2 * i + 1) * reached[i]);
  }
  return tally;
}
template <class Stack> Tally probes_of(const Stack &stack, std::span<const KeyHash> keys) {
  Tally tally;
  for (const KeyHash key : keys) tally.add(stack.probes(key));
  return tally;
}
// The mean of what was added up, within chance and a fiftieth for what the formulas leave out.
::testing::AssertionResult mean_is(const Predicted &predicted, const Tally &tally) {
  const double mean = tally.sum / tally.keys;
  const double of_keys = std::max(tally.squares - mean * tally.sum, 0.0);
  const double chance =
      test::farthest(of_keys + tally.keys * tally.keys * predicted.variance, filter::stack_layers_max) /
      tally.keys;
  if (std::abs(mean - predicted.value) <= chance + predicted.value / 50) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "a mean of " << mean << " layers, predicted " << predicted.value
                                       << ", chance allows for " << chance;
}

template <class Base> struct StackedOver : ::testing::Test {};
using Bases = ::testing::Types<PlainBloom, SplitBlock, Counting, Xor, Fuse, Cuckoo, Quotient>;
TYPED_TEST_SUITE(StackedOver, Bases);

TYPED_TEST(StackedOver, misses_nothing_and_passes_negatives_as_predicted_at_any_depth) {
  const std::uint64_t seed = test::seed_or(51);
  WEIR_TRACE_SEED(seed);
  // Of split blocks deep layers have two or three, which are as full as chance has it.
  const unsigned depth_max = std::is_same_v<TypeParam, SplitBlock> ? 5 : 13;
  for (const unsigned depth : {1u, 3u, 5u, 7u, 9u, 13u}) {
    if (depth > depth_max) break;
    SCOPED_TRACE(depth);
    const Built<TypeParam> b(depth, 0.3, seed);
    const auto &stack = b.built.stack;
    EXPECT_EQ(stack.depth(), depth);
    EXPECT_EQ(test::missed(stack, b.positives), 0u);
    const std::size_t passed = test::accepted(stack, b.known);
    const Predicted known = b.predicted([](LayerRates rates) { return known_rate(rates); });
    EXPECT_TRUE(test::rate_is(known.value, passed, known_count, known.variance));
    EXPECT_EQ(b.built.counts.known_left, passed);
    const Predicted unknown = b.predicted([](LayerRates rates) { return unknown_rate(rates); });
    EXPECT_TRUE(
        test::rate_is(unknown.value, test::accepted(stack, b.unknown), b.unknown.size(), unknown.variance));
    for (const auto *keys : {&b.positives, &b.known, &b.unknown})
      EXPECT_TRUE(test::batch_equals_single(stack, *keys));
  }
}

TYPED_TEST(StackedOver, work_is_as_the_formulas_expect) {
  const std::uint64_t seed = test::seed_or(52);
  WEIR_TRACE_SEED(seed);
  for (const unsigned depth : {3u, 7u}) {
    const Built<TypeParam> b(depth, 0.25, seed);
    const StackCounts &c = b.built.counts;
    std::vector<std::uint64_t> odd, even;
    for (std::size_t i = 0; i < depth; ++i) (i % 2 == 0 ? odd : even).push_back(c.keys[i]);
    const Tally p_inserts = tally_of(positives_count, odd), n_inserts = tally_of(known_count, even);
    odd.pop_back();
    const Tally p_lookups = tally_of(positives_count, odd);
    even.insert(even.begin(), known_count);
    const Tally n_lookups = tally_of(known_count, even);
    EXPECT_EQ(static_cast<double>(c.positive_inserts), p_inserts.sum);
    EXPECT_EQ(static_cast<double>(c.positive_lookups), p_lookups.sum);
    EXPECT_EQ(static_cast<double>(c.known_inserts), n_inserts.sum);
    EXPECT_EQ(static_cast<double>(c.known_lookups), n_lookups.sum);
    const auto mean_as_predicted = [&b](const Tally &tally, auto formula) {
      return mean_is(b.predicted(formula), tally);
    };
    using Rates = LayerRates;
    EXPECT_TRUE(mean_as_predicted(p_inserts, [](Rates r) { return positive_build_work(r).inserts; }));
    EXPECT_TRUE(mean_as_predicted(p_lookups, [](Rates r) { return positive_build_work(r).lookups; }));
    EXPECT_TRUE(mean_as_predicted(n_inserts, [](Rates r) { return known_build_work(r).inserts; }));
    EXPECT_TRUE(mean_as_predicted(n_lookups, [](Rates r) { return known_build_work(r).lookups; }));
    const auto &stack = b.built.stack;
    EXPECT_TRUE(mean_as_predicted(probes_of(stack, b.positives), [](Rates r) { return positive_probes(r); }));
    EXPECT_TRUE(mean_as_predicted(probes_of(stack, b.known), [](Rates r) { return known_probes(r); }));
    EXPECT_TRUE(mean_as_predicted(probes_of(stack, b.unknown), [](Rates r) { return unknown_probes(r); }));
    const StackWork work = build_work(b.rates, positives_count, known_count),
                    bound = build_work_bound(0.25, positives_count, known_count); // no layer errs more often
    EXPECT_LE(work.inserts, bound.inserts);
    EXPECT_LE(work.lookups, bound.lookups);
    EXPECT_LE(positive_probes(b.rates), positive_probes_bound(0.25));
    EXPECT_LE(known_probes(b.rates), known_probes_bound(0.25));
    EXPECT_LE(unknown_probes(b.rates), unknown_probes_bound(0.25));
    for (std::size_t i = 0; i < depth; ++i) {
      const std::uint64_t all = i % 2 == 0 ? positives_count : known_count;
      const Predicted share = b.predicted([i](Rates r) { return keys_in_layer(r, i, 1, 1); });
      EXPECT_TRUE(test::rate_is(share.value, c.keys[i], all, share.variance)) << "layer " << i + 1;
    }
  }
}

template <class Filter> std::vector<std::byte> section_of(const BuiltStack<Filter> &built) {
  std::vector<std::byte> bytes(stack_section_bytes(built.stack));
  write_stack(built.stack, built.counts, bytes);
  return bytes;
}

TYPED_TEST(StackedOver, answers_alike_as_a_section) {
  using Filter = typename TypeParam::Filter;
  using View = filter::StackedView<typename Filter::View>;
  const std::uint64_t seed = test::seed_or(55);
  WEIR_TRACE_SEED(seed);
  for (const unsigned depth : {1u, 3u, 9u}) {
    const Built<TypeParam> b(depth, 0.3, seed);
    const std::vector<std::byte> bytes = section_of(b.built);
    test::SectionCopy copy(bytes);
    const auto view = View::attach(copy.bytes());
    ASSERT_TRUE(view) << view.error().message;
    EXPECT_EQ(view->depth(), depth);
    for (const auto *keys : {&b.positives, &b.known, &b.unknown}) {
      EXPECT_TRUE(test::batch_equals_single(*view, *keys));
      for (const KeyHash key : *keys) ASSERT_EQ(view->contains(key), b.built.stack.contains(key));
    }
  }
  EXPECT_FALSE(View().contains(KeyHash{1}));
  EXPECT_EQ(View().contains_batch(random_keys(64, 1)), 0u);
}

TYPED_TEST(StackedOver, a_section_that_is_not_as_built_is_refused) {
  using View = filter::StackedView<typename TypeParam::Filter::View>;
  const std::vector<std::byte> bytes = section_of(Built<TypeParam>(3, 0.3, 1).built);
  const auto refused = [&](std::size_t at, std::uint8_t flip) {
    test::SectionCopy copy(bytes);
    copy.bytes()[at] ^= std::byte{flip};
    const auto view = View::attach(copy.bytes());
    return !view && view.error().code == Errc::bad_image;
  };
  const std::size_t layers = filter::stack_layers_offset(3);
  for (const std::size_t at :
       {std::size_t{0}, offsetof(filter::StackHeader, depth), offsetof(filter::StackHeader, reserved),
        sizeof(filter::StackHeader) + 1, sizeof(filter::StackHeader) + 8, layers, layers + 16})
    EXPECT_TRUE(refused(at, 0x41)) << "byte " << at;
  EXPECT_TRUE(refused(offsetof(filter::StackHeader, depth), 2)) << "one layer, and more bytes";
  test::SectionCopy copy(bytes);
  for (const std::size_t size : {std::size_t{0}, std::size_t{63}, std::size_t{100}, bytes.size() - 64})
    EXPECT_FALSE(View::attach(copy.bytes().first(size))) << size;
  EXPECT_FALSE(View::attach(copy.bytes().subspan(8)));
}

TEST(Stacked, goes_on_in_place_in_a_section) {
  const Built<PlainBloom> b(5, 0.3, 3);
  const std::vector<std::byte> bytes = section_of(b.built);
  test::SectionCopy copy(bytes);
  auto stack = filter::adopt_stack<filter::Bloom, filter::BloomView>(copy.bytes());
  ASSERT_TRUE(stack) << stack.error().message;
  const std::vector<KeyHash> more = keys_from(std::uint64_t{1} << 55, 2'000, 3);
  for (const KeyHash key : more) ASSERT_TRUE(stack->insert(key));
  EXPECT_EQ(test::missed(*filter::StackedView<filter::BloomView>::attach(copy.bytes()), more), 0u);
  EXPECT_EQ(test::missed(*stack, b.positives), 0u);
}

// Only bases that can erase.
template <class Base> struct ChangingStack : ::testing::Test {};
using ChangingBases = ::testing::Types<Counting, Cuckoo, Quotient>;
TYPED_TEST_SUITE(ChangingStack, ChangingBases);

TYPED_TEST(ChangingStack, misses_nothing_while_keys_come_and_go) {
  const std::uint64_t seed = test::seed_or(53);
  WEIR_TRACE_SEED(seed);
  for (const unsigned depth : {1u, 3u, 5u, 9u}) {
    SCOPED_TRACE(depth);
    Built<TypeParam> b(depth, 0.3, seed);
    auto &stack = b.built.stack;
    for (const KeyHash key : b.positives) ASSERT_TRUE(stack.erase(key));
    EXPECT_TRUE(test::survives_churn(stack, positives_count, 8, seed));
  }
}

TYPED_TEST(ChangingStack, deleted_keys_leave_no_trace) {
  const std::uint64_t seed = test::seed_or(54);
  WEIR_TRACE_SEED(seed);
  Built<TypeParam> b(5, 0.3, seed);
  auto &stack = b.built.stack;
  for (const KeyHash key : b.positives) ASSERT_TRUE(stack.erase(key));
  for (const auto *keys : {&b.positives, &b.known, &b.unknown}) EXPECT_EQ(test::accepted(stack, *keys), 0u);
  EXPECT_FALSE(stack.erase(b.unknown[0])) << "an absent key";
}

TEST(Stacked, learns_no_negative_after_building) {
  const Built<Counting> b(3, 0.3, 1);
  const Status late = b.built.stack.learn(b.unknown[0]);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::refused);
  EXPECT_NE(late.error().message.find("Build it again"), std::string::npos);
}

TEST(Stacked, wants_one_layer_of_positives_more_than_of_negatives) {
  EXPECT_EQ((build_stack<CountingBloom>(4, shapes_at<Counting>(0.3), {}, {}).error().code), Errc::usage);
  EXPECT_EQ((Stacked<CountingBloom>::of({}, {}).error().code), Errc::usage);
}

TEST(Stacked, bloom_layers_answer_batches_alike_near_and_far) {
  const std::vector<KeyHash> present = random_keys(10'000, 5);
  const std::vector<KeyHash> asked = test::mixed_keys(present, absent_keys(10'000, 5));
  for (const std::uint32_t words : {40u, 1'000u, 20'000u, 100'000u})
    for (const std::uint32_t hashes : {1u, 2u, 3u, 4u, 7u}) {
      filter::Bloom bloom = filter::Bloom::make({words, hashes}, 3).value();
      for (const KeyHash key : present) bloom.insert(key);
      EXPECT_TRUE(test::batch_equals_single(bloom, asked)) << words << " words, " << hashes << " functions";
    }
}

// Takes a number of keys and refuses the next, as a cuckoo filter may.
class Limited {
public:
  Limited(std::uint64_t room, std::uint64_t layer)
      : cells_(CountingBloom::make({1000, 4, 2}, layer).value()), room_(room) {}
  Status insert(KeyHash key) {
    if (cells_.keys() == room_) return fail(Errc::needs_rebuild, "full");
    cells_.insert(key);
    return {};
  }
  bool erase(KeyHash key) noexcept { return cells_.erase(key); }
  bool contains(KeyHash key) const noexcept { return cells_.contains(key); }
  filter::HitMask contains_batch(std::span<const KeyHash> keys) const noexcept {
    return cells_.contains_batch(keys);
  }
  std::uint64_t bits() const noexcept { return cells_.bits(); }
  std::uint64_t keys() const noexcept { return cells_.keys(); }

private:
  CountingBloom cells_;
  std::uint64_t room_;
};

TEST(Stacked, takes_a_key_back_out_of_layer_1_when_layer_3_refuses_it) {
  const std::vector<KeyHash> keys = random_keys(2'000, 9);
  Limited second(5'000, 2);
  for (const KeyHash key : keys) ASSERT_TRUE(second.insert(key)); // so every one of them goes on to layer 3
  std::vector<Limited> odd{Limited(1'000, 1), Limited(100, 3)};
  auto stack = Stacked<Limited>::of(odd, {second}).value();
  for (std::size_t i = 0; i < 100; ++i) ASSERT_TRUE(stack.insert(keys[i]));
  for (std::size_t i = 100; i < 200; ++i) {
    const Status in = stack.insert(keys[i]);
    ASSERT_FALSE(in);
    EXPECT_EQ(in.error().code, Errc::needs_rebuild);
    EXPECT_TRUE(in.error().message.starts_with("layer 3: ")) << in.error().message;
  }
  EXPECT_EQ(stack.odd()[0].keys(), 100u);
  EXPECT_EQ(stack.odd()[1].keys(), 100u);
  EXPECT_EQ(test::missed(stack, std::span(keys).first(100)), 0u);
  for (std::size_t i = 0; i < 100; ++i) ASSERT_TRUE(stack.erase(keys[i]));
  EXPECT_EQ(test::accepted(stack, keys), 0u);
}

} // namespace
} // namespace weir::build::stacked_test
