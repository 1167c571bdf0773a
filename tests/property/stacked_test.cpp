// Stacked filters over any base and of any depth: nothing present is missed whatever comes and goes, known
// negatives pass as seldom as predicted, and building and asking cost what the formulas say
// [Stacked §3, §4].
#include "tests/support/filter_checks.hpp"
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

namespace weir::build {
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
// What the layers' rates are to be.
template <class Base> std::vector<double> expected_rates(unsigned depth, double rate) {
  std::vector<double> rates;
  double positives = positives_count, known = known_count;
  for (unsigned i = 0; i < depth; ++i) {
    double &keys = i % 2 == 0 ? positives : known, &others = i % 2 == 0 ? known : positives;
    rates.push_back(Base::Filter::rate(Base::shape(keys, rate), keys));
    others *= rates.back();
  }
  return rates;
}

template <class Base> struct Built {
  using Filter = typename Base::Filter;
  std::vector<KeyHash> positives, known, unknown;
  std::vector<double> rates;
  BuiltStack<Filter> built;

  Built(unsigned depth, double rate, std::uint64_t seed)
      : positives(random_keys(positives_count, seed)), known(absent_keys(known_count, seed)),
        unknown(keys_from(std::uint64_t{1} << 50, 60'000, seed)), rates(expected_rates<Base>(depth, rate)),
        built(build_stack<Filter>(depth, shapes_at<Base>(rate), positives, known, seed).value()) {}

  [[nodiscard]] double probes(std::span<const KeyHash> keys) const {
    double sum = 0;
    for (const KeyHash key : keys) sum += built.stack.probes(key);
    return sum / static_cast<double>(keys.size());
  }
};

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
    EXPECT_TRUE(test::rate_is(known_rate(b.rates), passed, known_count));
    EXPECT_EQ(b.built.counts.known_left, passed);
    EXPECT_TRUE(test::rate_is(unknown_rate(b.rates), test::accepted(stack, b.unknown), b.unknown.size()));
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
    const StackWork p = positive_build_work(b.rates), n = known_build_work(b.rates);
    EXPECT_NEAR(static_cast<double>(c.positive_inserts) / (positives_count * p.inserts), 1, 0.03);
    EXPECT_NEAR(static_cast<double>(c.positive_lookups) / (positives_count * p.lookups), 1, 0.03);
    EXPECT_NEAR(static_cast<double>(c.known_inserts) / (known_count * n.inserts), 1, 0.05);
    EXPECT_NEAR(static_cast<double>(c.known_lookups) / (known_count * n.lookups), 1, 0.03);
    EXPECT_NEAR(b.probes(b.positives) / positive_probes(b.rates), 1, 0.03);
    EXPECT_NEAR(b.probes(b.known) / known_probes(b.rates), 1, 0.03);
    EXPECT_NEAR(b.probes(b.unknown) / unknown_probes(b.rates), 1, 0.03);
    const StackWork bound = build_work_bound(0.25, positives_count, known_count); // no layer errs more often
    EXPECT_LE(static_cast<double>(c.positive_inserts + c.known_inserts), 1.01 * bound.inserts);
    EXPECT_LE(static_cast<double>(c.positive_lookups + c.known_lookups), 1.01 * bound.lookups);
    EXPECT_LE(b.probes(b.positives), 1.01 * positive_probes_bound(0.25));
    EXPECT_LE(b.probes(b.known), 1.01 * known_probes_bound(0.25));
    EXPECT_LE(b.probes(b.unknown), 1.01 * unknown_probes_bound(0.25));
    for (std::size_t i = 0; i < depth; ++i)
      EXPECT_NEAR(static_cast<double>(c.keys[i]), keys_in_layer(b.rates, i, positives_count, known_count),
                  20 + 0.1 * static_cast<double>(c.keys[i]))
          << "layer " << i + 1;
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

// ---- the model -----------------------------------------------------------------------------------

TEST(StackedModel, of_equal_rates_is_the_series_in_closed_form) {
  for (const unsigned depth : {1u, 3u, 5u, 9u})
    for (const double rate : {0.02, 0.3})
      for (const double psi : {0.0, 0.6, 1.0})
        EXPECT_NEAR(equal_efpr(rate, depth, psi), stacked_efpr(std::vector<double>(depth, rate), psi), 1e-15);
}

TEST(StackedModel, work_stays_below_its_bounds_and_comes_close_to_them) {
  for (const double rate : {0.01, 0.2}) {
    const std::vector<double> deep(31, rate);
    EXPECT_LE(positive_probes(deep), positive_probes_bound(rate) * (1 + 1e-12));
    EXPECT_LE(known_probes(deep), known_probes_bound(rate) * (1 + 1e-12));
    EXPECT_LE(unknown_probes(deep), unknown_probes_bound(rate) * (1 + 1e-12));
    const StackWork work = build_work(deep, 1000, 3000), bound = build_work_bound(rate, 1000, 3000);
    EXPECT_LE(work.inserts, bound.inserts * (1 + 1e-12));
    EXPECT_LE(work.lookups, bound.lookups * (1 + 1e-12));
    EXPECT_GT(positive_probes(deep), 0.999 * positive_probes_bound(rate));
    EXPECT_GT(known_probes(deep), 0.999 * known_probes_bound(rate));
    EXPECT_GT(unknown_probes(deep), 0.999 * unknown_probes_bound(rate));
    EXPECT_GT(work.inserts, 0.999 * bound.inserts);
    EXPECT_GT(work.lookups, 0.999 * bound.lookups);
  }
}

TEST(StackedModel, a_share_of_9_6_percent_is_enough_at_one_percent_and_equal_sets) {
  EXPECT_FALSE(stack_is_smaller(bloom_law, 0.01, 0.0955, 1));
  EXPECT_TRUE(stack_is_smaller(bloom_law, 0.01, 0.0965, 1));
  EXPECT_FALSE(stack_is_smaller(bloom_law, 0.01, 0.069, 0.5)) << "7 %: half as many negatives";
  EXPECT_TRUE(stack_is_smaller(bloom_law, 0.01, 0.0725, 0.5));
  EXPECT_FALSE(stack_is_smaller(bloom_law, 0.01, 0.9, 1000));
}

TEST(StackedModel, the_theorem_never_promises_what_the_size_gain_denies) {
  for (const SizeLaw &law : {bloom_law, cuckoo_law, quotient_law})
    for (const double rate : {0.05, 0.01, 0.001})
      for (const double psi : {0.05, 0.2, 0.5, 0.9})
        for (const double per_positive : {0.1, 1.0, 5.0}) {
          const SizeGain gain = size_gain(law, rate, psi, per_positive);
          EXPECT_GE(gain.saved(), 0);
          EXPECT_TRUE(gain.saved() > 0 || !stack_is_smaller(law, rate, psi, per_positive));
        }
}

TEST(StackedModel, the_size_gain_grows_with_psi_until_larger_rates_no_longer_save) {
  const SizeGain half = size_gain(bloom_law, 0.01, 0.5, 1), most = size_gain(bloom_law, 0.01, 0.95, 1),
                 all = size_gain(cuckoo_law, 0.01, 1, 1);
  EXPECT_NEAR(half.rate, 0.02, 1e-4);
  EXPECT_GT(most.saved(), half.saved());
  EXPECT_LT(all.rate, 0.5) << "three bits a key are paid for every layer, so a least size lies inside";
  EXPECT_EQ(size_gain(bloom_law, 0.01, 0.01, 20).saved(), 0) << "too many for too little";
}

TEST(StackedModel, a_shift_of_the_workload_stays_within_the_bound_of_its_variation) {
  const std::vector<double> rates{0.1, 0.3, 0.2}, before{0.5, 0.3, 0.2}, after{0.2, 0.3, 0.5};
  const double variation = total_variation(before, after);
  EXPECT_NEAR(variation, 0.3, 1e-12);
  for (const std::size_t known : {1u, 2u}) {
    double psi = 0, later = 0;
    for (std::size_t i = 0; i < known; ++i) psi += before[i], later += after[i];
    const double shift = efpr_shift(rates, psi, later);
    EXPECT_NEAR(shift, stacked_efpr(rates, later) - stacked_efpr(rates, psi), 1e-12);
    EXPECT_LE(std::abs(shift), drift_bound(rates, variation) + 1e-12);
  }
  EXPECT_GE(variation_from_divergence(divergence(before, after)), variation);
  EXPECT_EQ(divergence(before, before), 0);
}

// Random laws of questions, of which a stack knows the hottest few.
TEST(StackedModel, no_shift_moves_the_rate_by_more_than_its_variation_and_pinsker_allow) {
  const std::uint64_t seed = test::seed_or(57);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> share(0, 1);
  const auto law = [&](double skew) {
    std::vector<double> p(200);
    for (std::size_t i = 0; i < p.size(); ++i)
      p[i] = share(random) * std::pow(static_cast<double>(i + 1), -skew);
    double sum = 0;
    for (const double x : p) sum += x;
    for (double &x : p) x /= sum;
    return p;
  };
  for (int round = 0; round < 300; ++round) {
    std::vector<double> rates(2 * (random() % 5) + 1);
    for (double &rate : rates) rate = share(random);
    const std::vector<double> before = law(2 * share(random)), after = law(2 * share(random));
    const double variation = total_variation(before, after);
    EXPECT_LE(variation, variation_from_divergence(divergence(before, after)));
    double psi = 0, later = 0;
    for (std::size_t known = 0; known < before.size(); ++known) {
      psi += before[known], later += after[known];
      ASSERT_LE(std::abs(stacked_efpr(rates, later) - stacked_efpr(rates, psi)),
                drift_bound(rates, variation) + 1e-12);
    }
  }
}

} // namespace
} // namespace weir::build
