// The vector forms of questions to fuse tables give the answers of one question after the other.
#include "weir/build/chained_and_shared_builder.hpp"
#include "weir/build/peeled_filter.hpp"
#include "weir/build/retrieval_builder.hpp"
#include "weir/filter/fuse_kernels.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace weir::filter::fuse_kernels_test {
namespace {

constexpr std::uint64_t seed = 20261127;

std::vector<KeyHash> random_keys(std::size_t count, std::uint64_t of) {
  std::mt19937_64 random(of);
  std::vector<KeyHash> keys(count);
  for (KeyHash &key : keys) key = {random()};
  return keys;
}

// Batches of every size, of members and of others.
template <class Check> void for_each_batch(std::span<const KeyHash> members, Check check) {
  const std::vector<KeyHash> others = random_keys(batch_max, seed + 1);
  for (std::size_t size = 0; size <= batch_max; ++size) {
    std::vector<KeyHash> keys(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(size));
    for (std::size_t i = 0; i < size; i += 3) keys[i] = members[(i * 7 + size) % members.size()];
    SCOPED_TRACE(testing::Message() << size << " keys, seed " << seed);
    check(std::span<const KeyHash>(keys));
  }
}

HitMask one_by_one(const auto &view, std::span<const KeyHash> keys) {
  HitMask hits = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) hits |= HitMask{view.contains(keys[i])} << i;
  return hits;
}

FilterHeader header_of(Bytes section) {
  FilterHeader header;
  std::memcpy(&header, section.data(), sizeof header);
  return header;
}

template <unsigned ways> void filters_agree() {
  if (fuse_kernels<ways>() == nullptr) GTEST_SKIP() << "no AVX-512 here, or WEIR_KERNELS names another set";
  using Filter = build::PeeledFilter<PeeledView<FuseShape<ways>>>;
  for (const std::size_t count : {1u, 50u, 3'000u, 200'000u})
    for (const unsigned bits : {1u, 4u, 7u, 13u, 20u}) {
      SCOPED_TRACE(testing::Message() << count << " members, " << bits << " bits");
      const std::vector<KeyHash> members = random_keys(count, seed + bits);
      const auto built =
          Filter::build(members, *FuseShape<ways>::for_keys(static_cast<double>(count), bits), 3, seed);
      ASSERT_TRUE(built) << built.error().message;
      const auto view = built->view();
      for_each_batch(members, [&](std::span<const KeyHash> keys) {
        const FilterHeader header = header_of(built->section());
        const FuseTable table = view.shape().table(built->section().data() + sizeof header,
                                                   decltype(view)::family(header.layer, header.seed));
        const HitMask expected = one_by_one(view, keys);
        EXPECT_EQ(fuse_kernels<ways>()->accepted(table, keys), expected);
        EXPECT_EQ(view.contains_batch(keys), expected);
        EXPECT_EQ(view.contains_batch_portable(keys), expected);
      });
    }
}

TEST(FuseKernels, accept_what_a_three_wise_filter_accepts) { filters_agree<3>(); }
TEST(FuseKernels, accept_what_a_four_wise_filter_accepts) { filters_agree<4>(); }

template <unsigned ways> void values_agree() {
  if (fuse_kernels<ways>() == nullptr) GTEST_SKIP() << "no AVX-512 here, or WEIR_KERNELS names another set";
  for (const unsigned bits : {1u, 5u, 20u}) {
    SCOPED_TRACE(testing::Message() << bits << " bits");
    const std::vector<KeyHash> zeros = random_keys(3'000, seed + 4), ones = random_keys(2'000, seed + 5);
    const auto built = build::Retrieval<ways>::build(
        {build::KeysOfValue{zeros, 0}, build::KeysOfValue{ones, (1u << bits) - 1}},
        *RetrievalShape<ways>::for_keys(5'000, bits), 2, seed);
    ASSERT_TRUE(built) << built.error().message;
    const auto view = built->view();
    for_each_batch(ones, [&](std::span<const KeyHash> keys) {
      std::vector<std::uint32_t> values(keys.size() + 1, 77), portable(keys.size() + 1, 77), expected;
      for (const KeyHash key : keys) expected.push_back(view.value(key));
      expected.push_back(77); // nothing is written beyond the last one
      view.values(keys, values.data());
      view.values_portable(keys, portable.data());
      EXPECT_EQ(values, expected);
      EXPECT_EQ(portable, expected);
    });
  }
}

TEST(FuseKernels, retrieve_what_three_wise_tables_hold) { values_agree<3>(); }
TEST(FuseKernels, retrieve_what_four_wise_tables_hold) { values_agree<4>(); }

template <unsigned ways> void shared_slots_agree() {
  if (fuse_kernels<ways>() == nullptr) GTEST_SKIP() << "no AVX-512 here, or WEIR_KERNELS names another set";
  for (const unsigned lambda : {1u, 2u, 5u, 16u}) {
    SCOPED_TRACE(testing::Message() << lambda << " negatives a positive");
    const std::vector<KeyHash> members = random_keys(5'000, seed + 2);
    const std::vector<KeyHash> negatives = random_keys(5'000 * lambda, seed + 3);
    const auto built = build::ChainedAndShared<ways>::build(members, negatives, 1, seed);
    ASSERT_TRUE(built) << built.error().message;
    const auto view = built->view();
    for_each_batch(members, [&](std::span<const KeyHash> keys) {
      const HitMask expected = one_by_one(view, keys);
      EXPECT_EQ(view.contains_batch(keys), expected);
      EXPECT_EQ(view.contains_batch_portable(keys), expected);
    });
  }
}

TEST(FuseKernels, answer_as_shared_slots_do) {
  shared_slots_agree<3>();
  shared_slots_agree<4>();
}

} // namespace
} // namespace weir::filter::fuse_kernels_test
