// What [Chained §5.3] says of a chain as a location predictor, in the setting of the paper: cuckoo hashing with one slot a bucket, layers
// of the library's filters, no alignment with lines. Prints its figures; docs/papers.md quotes them.
#include "tests/lab/self_adaptive.hpp"
#include "tests/support/filter_checks.hpp"
#include "tests/support/seed.hpp"
#include "weir/build/peeled_filter.hpp"
#include "weir/build/stacked_builder.hpp"

#include <gtest/gtest.h>

#include <cstdio>

namespace weir::chained_paper_test {
namespace {

using lab::Home;
using lab::StoredKeys;
using lab::TrainedChain;
using Keys = std::vector<KeyHash>;

// ---- built from complete sets ----------------------------------------------------------------------

struct Built {
  std::uint64_t bits = 0, wrong = 0;
  unsigned layers = 0;
};

// F1 & ~(F2 & ~(...)) until a layer makes no error [Chained Alg. 2]. shape_of(layer, keys) of layers counted from 0.
template <class Layer, class ShapeOf>
Built build_chain(const Keys &in_table2, const Keys &in_table1, ShapeOf shape_of, std::uint64_t seed) {
  std::vector<Layer> layers;
  Keys held = in_table2, others = in_table1;
  while (!held.empty() && layers.size() < 40) {
    const auto number = static_cast<unsigned>(layers.size());
    auto layer =
        build::build_layer<Layer>(shape_of(number, static_cast<double>(held.size())), number, held, seed);
    EXPECT_TRUE(layer) << layer.error().message;
    if (!layer) return {.bits = 0, .wrong = held.size(), .layers = number};
    layers.push_back(std::move(*layer));
    others = build::accepted_by(layers.back(), others);
    held.swap(others);
  }
  Built out{.layers = static_cast<unsigned>(layers.size())};
  for (const Layer &layer : layers) out.bits += layer.bits();
  const auto positive = [&](KeyHash key) {
    return filter::and_not(0, layers.size(), [&](std::size_t i) { return layers[i].contains(key); });
  };
  for (const KeyHash key : in_table2) out.wrong += positive(key) ? 0 : 1;
  for (const KeyHash key : in_table1) out.wrong += positive(key) ? 1 : 0;
  return out;
}

TEST(ChainedPaper, fuse_layers_need_fewer_bits_than_bloom_layers_for_zero_error) {
  constexpr std::size_t keys = 1'000'000, in_table2 = 90'000;
  constexpr double lambda = (keys - in_table2) / static_cast<double>(in_table2);
  const std::uint64_t seed = test::seed_or(1);
  WEIR_TRACE_SEED(seed);
  const Keys two = test::random_keys(in_table2, seed), one = test::absent_keys(keys - in_table2, seed);
  const Built bloom = build_chain<filter::Bloom>(
      two, one,
      [](unsigned layer, double held) {
        return filter::Bloom::shape_for_rate(held, layer == 0 ? 0.5 / lambda : 0.25).value();
      },
      seed);
  const Built fuse = build_chain<build::BinaryFuse>(
      two, one,
      [](unsigned layer, double held) {
        return filter::FuseShape<3>::for_keys(held, layer == 0 ? 4 : 2).value();
      },
      seed);
  const double bloom_bits = static_cast<double>(bloom.bits) / keys,
               fuse_bits = static_cast<double>(fuse.bits) / keys;
  std::printf(
      "91:9, one million keys: Bloom layers %.3f bits a key, %u layers; fuse layers %.3f, %u layers\n",
      bloom_bits, bloom.layers, fuse_bits, fuse.layers);
  EXPECT_EQ(bloom.wrong, 0u);
  EXPECT_EQ(fuse.wrong, 0u);
  EXPECT_LE(fuse_bits, 0.70);
  EXPECT_GT(bloom_bits, 1.15 * fuse_bits);
}

// ---- trained by questions --------------------------------------------------------------------------

TEST(ChainedPaper, cuckoo_hashing_has_lambda_keys_in_table_1_for_each_in_table_2) {
  const std::uint64_t seed = test::seed_or(2);
  WEIR_TRACE_SEED(seed);
  for (const double load : {0.10, 0.15, 0.20, 0.25, 0.30, 0.35, 0.40}) {
    const StoredKeys stored(200'000, load, seed);
    const auto keys = static_cast<double>(stored.keys().size()),
               second = static_cast<double>(stored.in_table2());
    // As many buckets of table 1 are in use as any key is mapped to [Chained Theorem 5.2].
    const double expected = keys / (build::cuckoo_lambda(load) + 1);
    EXPECT_NEAR(second, expected, test::farthest(expected)) << "load " << load;
    EXPECT_NEAR(1 + second / keys, build::cuckoo_accesses(load), test::farthest(expected) / keys);
  }
  EXPECT_NEAR(build::cuckoo_accesses(0.4), 1.312, 0.0005);
}

TEST(ChainedPaper, table_3_follows_from_the_model) {
  constexpr double buckets = 1e6;
  constexpr std::array mbit{0.10, 0.20, 0.32, 0.45, 0.60, 0.76, 0.93};
  for (std::size_t i = 0; i < mbit.size(); ++i) {
    const double load = 0.10 + 0.05 * static_cast<double>(i), lambda = build::cuckoo_lambda(load);
    const double bits = build::predictor_bits(lambda) * load * buckets / (lambda + 1);
    EXPECT_NEAR(bits / 1e6, mbit[i], 0.0051) << "load " << load;
  }
}

struct Sizes {
  std::uint64_t buckets;
  double load, lambda = build::cuckoo_lambda(load),
               positives = static_cast<double>(buckets) * load / (lambda + 1);
  [[nodiscard]] TrainedChain chain(double bits, bool exact_last, std::uint64_t seed) const {
    return TrainedChain::make(positives, lambda, static_cast<std::uint64_t>(positives * bits), exact_last,
                              seed)
        .value();
  }
};

void print(const char *name, const TrainedChain &chain, std::span<const double> errors) {
  std::printf("%s, %.3f Mbit, error after rounds 0, 1, ...:", name, static_cast<double>(chain.bits()) / 1e6);
  for (const double e : errors) std::printf(" %.4f%%", 100 * e);
  std::printf("\n");
}

TEST(ChainedPaper, training_by_questions_ends_without_error_and_saves_the_second_access) {
  const std::uint64_t seed = test::seed_or(3);
  WEIR_TRACE_SEED(seed);
  for (const double load : {0.1, 0.4}) {
    const Sizes sizes{.buckets = 1'000'000, .load = load};
    const StoredKeys stored(sizes.buckets, load, seed);
    for (const bool exact_last : {false, true}) {
      TrainedChain chain = sizes.chain(build::predictor_bits(sizes.lambda), exact_last, seed);
      EXPECT_LE(static_cast<double>(chain.bits()),
                1.001 * build::predictor_bits(sizes.lambda) * sizes.positives);
      const std::vector<double> errors = lab::train_by_questions(chain, stored, 14);
      print(exact_last ? "Othello last" : "Bloom layers", chain, errors);
      EXPECT_EQ(errors.back(), 0);
      EXPECT_EQ(chain.failures(), 0u);
      EXPECT_LE(errors.size() - 1, exact_last ? 4u : 5u); // the paper: four and seven
      for (std::size_t round = 1; round < errors.size(); ++round)
        EXPECT_LT(errors[round], errors[round - 1] / 2);
      // One access a stored key, and what is not where it is predicted is not there.
      for (const KeyHash key : stored.keys()) ASSERT_EQ(chain.predict(key), stored.home(key));
    }
  }
}

// At the size of Alg. 2 each layer is due just what it has room for: under most seeds layers fill up and leave a few keys
// wrong for ever. Slightly more ends at zero.
TEST(ChainedPaper, the_size_of_alg_2_is_the_border_of_training_without_error) {
  const std::uint64_t seed = test::seed_or(4);
  WEIR_TRACE_SEED(seed);
  const Sizes sizes{.buckets = 500'000, .load = 0.4};
  const StoredKeys stored(sizes.buckets, sizes.load, seed);
  const double least = build::predictor_bits_least(sizes.lambda);
  TrainedChain tight = sizes.chain(least, false, seed), roomy = sizes.chain(1.04 * least, false, seed);
  const std::vector<double> errors = lab::train_by_questions(tight, stored, 14);
  print("the size of Alg. 2", tight, errors);
  EXPECT_GE(errors.size(), 7u);
  EXPECT_LT(errors.back(), 0.01);
  EXPECT_EQ(tight.failures() > 0, errors.back() > 0);
  const std::vector<double> ended = lab::train_by_questions(roomy, stored, 14);
  print("1.04 times that", roomy, ended);
  EXPECT_EQ(ended.back(), 0);
  EXPECT_LT(ended.size(), errors.size());
}

TEST(ChainedPaper, batches_of_predictions_are_those_of_single_keys) {
  const std::uint64_t seed = test::seed_or(5);
  WEIR_TRACE_SEED(seed);
  const Sizes sizes{.buckets = 20'000, .load = 0.4};
  const StoredKeys stored(sizes.buckets, sizes.load, seed);
  for (const bool exact_last : {false, true}) {
    TrainedChain chain = sizes.chain(build::predictor_bits(sizes.lambda), exact_last, seed);
    for (unsigned round = 0; round < 2; ++round) { // of a chain that errs, and of one that does not
      std::size_t at = 0;
      for (std::size_t size = 0; size <= filter::batch_max; at += size, ++size) {
        const auto keys = stored.keys().subspan(at, size);
        filter::HitMask single = 0;
        for (std::size_t i = 0; i < size; ++i)
          single |= filter::HitMask{chain.predict(keys[i]) == Home::table2} << i;
        ASSERT_EQ(chain.predict_batch(keys), single) << size;
      }
      std::ignore = lab::train_by_questions(chain, stored, 14);
    }
  }
}

// Keys that come and go fill the layers: bits are never taken back.
TEST(ChainedPaper, churn_leaves_errors_that_a_fresh_chain_has_not) {
  const std::uint64_t seed = test::seed_or(6);
  WEIR_TRACE_SEED(seed);
  const Sizes sizes{.buckets = 100'000, .load = 0.4};
  StoredKeys stored(sizes.buckets, sizes.load, seed);
  TrainedChain chain = sizes.chain(build::predictor_bits(sizes.lambda), false, seed);
  ASSERT_EQ(lab::train_by_questions(chain, stored, 14).back(), 0);
  const auto tell = [&](KeyHash key, Home home) {
    if (home == Home::table2) chain.train(key, home);
  };
  for (unsigned step = 0; step < 10; ++step) {
    stored.replace(stored.keys().size() / 20, [](KeyHash) {}, tell);
    lab::ask_for_all(chain, stored);
  }
  const double churned = lab::error_of(chain, stored);
  TrainedChain fresh = sizes.chain(build::predictor_bits(sizes.lambda), false, seed + 1);
  EXPECT_GT(churned, 0.01);
  EXPECT_EQ(lab::train_by_questions(fresh, stored, 14).back(), 0);
}

} // namespace
} // namespace weir::chained_paper_test
