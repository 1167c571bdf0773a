// The hash of family jhash beside DPDK's own, which pipelines of P4 programs run.
#include "tests/support/seed.hpp"
#include "weir/base/hash.hpp"
#include "weir/key/text.hpp"

#include <gtest/gtest.h>
#include <rte_jhash.h>

#include <array>
#include <bit>
#include <random>

namespace weir::hash_test {
namespace {

// Known for good: the value must not depend on the processor, nor on what DPDK says one day.
static_assert(jhash_words({}) == 0xDEADBEEF);

TEST(Jhash, of_any_number_of_words_is_what_dpdk_computes) {
  const std::uint64_t seed = test::seed_or(2211);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  for (std::uint32_t count = 0; count <= 13; ++count)
    for (int round = 0; round < 500; ++round) {
      std::array<std::uint32_t, 13> words;
      for (std::uint32_t &w : words)
        w = round == 0 ? 0 : round == 1 ? ~0u : static_cast<std::uint32_t>(random());
      ASSERT_EQ(jhash_words(words.data(), count), rte_jhash_32b(words.data(), count, 0)) << count;
    }
}

TEST(Jhash, of_an_ipv4_address_takes_it_as_a_number_behind_each_half_of_the_seed) {
  const std::uint64_t seed = 0x0123456789ABCDEFull;
  const std::uint32_t low[] = {0x89ABCDEF, 0xC0000201}, high[] = {0x01234567, 0xC0000201};
  const KeyHash h = jhash_v4(parse_address("192.0.2.1")->wire(), seed);
  EXPECT_EQ(high_half(h.bits), rte_jhash_32b(low, 2, 0));
  EXPECT_EQ(low_half(h.bits), rte_jhash_32b(high, 2, 0));
}

TEST(Jhash, of_an_ipv6_address_takes_four_numbers_first_bytes_first) {
  const std::uint64_t seed = 0x0123456789ABCDEFull;
  const std::uint32_t low[] = {0x89ABCDEF, 0x20010DB8, 0x00010002, 0x00030004, 0x00050006};
  const std::uint32_t high[] = {0x01234567, 0x20010DB8, 0x00010002, 0x00030004, 0x00050006};
  const KeyHash h = jhash_v6(parse_address("2001:db8:1:2:3:4:5:6")->bytes.data(), seed);
  EXPECT_EQ(high_half(h.bits), rte_jhash_32b(low, 5, 0));
  EXPECT_EQ(low_half(h.bits), rte_jhash_32b(high, 5, 0));
}

TEST(Jhash, remixed_takes_both_halves_of_the_hash_behind_each_half_of_the_salt) {
  const KeyHash key{0x1111111122222222ull};
  const std::uint32_t low[] = {0x44444444, 0x11111111, 0x22222222};
  const std::uint32_t high[] = {0x33333333, 0x11111111, 0x22222222};
  const std::uint64_t mixed = jhash_remix(key, 0x3333333344444444ull);
  EXPECT_EQ(high_half(mixed), rte_jhash_32b(low, 3, 0));
  EXPECT_EQ(low_half(mixed), rte_jhash_32b(high, 3, 0));
}

// Whose halves differ both, as those of layers do.
TEST(Jhash, under_two_salts_shares_no_bits) {
  std::uint64_t apart = 0;
  constexpr std::uint64_t keys = 20000;
  for (std::uint64_t n = 0; n < keys; ++n) {
    const KeyHash key = jhash_v4(static_cast<std::uint32_t>(n), 7);
    apart += static_cast<std::uint64_t>(
        std::popcount(jhash_remix(key, remix_factor_1) ^ jhash_remix(key, remix_factor_2)));
  }
  EXPECT_NEAR(static_cast<double>(apart) / keys, 32, 0.2);
}

TEST(Jhash, chosen_by_family_is_the_one_asked_for) {
  const std::uint32_t wire = parse_address("198.51.100.7")->wire();
  const auto v6 = parse_address("2001:db8::7")->bytes;
  EXPECT_EQ(hash_v4(HashFamily::jhash, wire, 5), jhash_v4(wire, 5));
  EXPECT_EQ(hash_v4(HashFamily::xxh3, wire, 5), hash_v4(wire, 5));
  EXPECT_EQ(hash_v6(HashFamily::jhash, v6.data(), 5), jhash_v6(v6.data(), 5));
  EXPECT_EQ(hash_v6(HashFamily::xxh3, v6.data(), 5), hash_v6(v6.data(), 5));
  EXPECT_EQ(remix(HashFamily::jhash, {3}, 5), jhash_remix({3}, 5));
  EXPECT_EQ(remix(HashFamily::xxh3, {3}, 5), remix(KeyHash{3}, 5));
}

} // namespace
} // namespace weir::hash_test
