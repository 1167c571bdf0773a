// Sizes and costs of built tables, and what the front filter promises.
#include "tests/support/image_memory.hpp"
#include "tests/support/seed.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace weir::table_test {
namespace {

using test::ImageMemory;

std::vector<build::EntryV4> random_hosts(std::size_t n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<build::EntryV4> out;
  for (std::size_t i = 0; i < n; ++i) out.push_back({static_cast<std::uint32_t>(random()), 32, 0, 1});
  test::sort_entries(out);
  return out;
}

std::vector<build::EntryV6> random_hosts_v6(std::size_t n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<build::EntryV6> out(n);
  for (auto &e : out) {
    for (auto &b : e.address) b = static_cast<std::uint8_t>(random());
    e.list = 1;
  }
  test::sort_entries(out);
  return out;
}

build::BuildReport report_of(std::span<const build::EntryV4> v4, std::span<const build::EntryV6> v6,
                             std::uint64_t seed) {
  build::BuildInput in;
  in.lists = {{"a", 1}};
  in.deny = {v4, v6, false};
  in.seed = seed;
  return ImageMemory::build(in).report();
}

TEST(Table, an_ipv4_entry_takes_about_ten_bytes_and_a_lookup_about_one_line) {
  const auto r = report_of(random_hosts(300'000, 1), {}, 2).deny_v4;
  EXPECT_LE(static_cast<double>(r.bytes) / static_cast<double>(r.keys), 10.5);
  EXPECT_LE(r.lines_hit, 1.10);
  EXPECT_LE(r.lines_absent, 1.07);
  EXPECT_GE(r.lines_absent, 1.0);
}

TEST(Table, an_ipv6_entry_takes_less_than_28_bytes) {
  const auto r = report_of({}, random_hosts_v6(100'000, 3), 4).deny_v6;
  EXPECT_LE(static_cast<double>(r.bytes) / static_cast<double>(r.keys), 28.0);
  EXPECT_LE(r.lines_hit, 1.30);
}

TEST(Table, tables_of_every_small_size_come_out_for_many_seeds) {
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    for (const std::size_t n : {0, 1, 2, 7, 8, 9, 63, 64, 100, 500, 1000, 3000}) {
      WEIR_TRACE_SEED(seed);
      const auto r = report_of(random_hosts(n, seed), random_hosts_v6(n, seed), seed * 77);
      EXPECT_EQ(r.keys_verified, r.deny_v4.keys + r.deny_v6.keys);
      EXPECT_EQ(r.attempts, 1u);
    }
}

TEST(SplitBlockBloom, knows_every_key_and_errs_about_as_often_as_predicted) {
  const std::uint64_t seed = test::seed_or(5);
  WEIR_TRACE_SEED(seed);
  constexpr std::uint64_t keys = 20'000, asked = 200'000;
  for (const unsigned bits : {6u, 8u, 10u, 14u}) {
    const std::uint32_t count = filter::SplitBlockBloom::blocks_for(keys, bits);
    std::vector<filter::Block> blocks(count);
    std::mt19937_64 random(seed);
    std::vector<KeyHash> in(keys);
    for (auto &k : in) filter::SplitBlockBloom::insert(blocks.data(), count, k = KeyHash{random()});
    const filter::SplitBlockBloom bloom(blocks.data(), count);
    for (const KeyHash k : in) ASSERT_TRUE(bloom.contains(k));
    std::uint64_t wrong = 0;
    for (std::uint64_t i = 0; i < asked; ++i) wrong += bloom.contains({random()}) ? 1 : 0;
    const double rate = filter::split_block_bloom_rate(keys, count);
    const double deviation = std::sqrt(rate * (1 - rate) / asked);
    RecordProperty(std::to_string(bits) + "_bits_accepted_wrongly_of_200000", static_cast<int>(wrong));
    EXPECT_NEAR(static_cast<double>(wrong) / asked, rate, 5 * deviation + 0.05 * rate)
        << bits << " bits a key";
  }
}

TEST(SplitBlockBloom, a_batch_answers_like_single_queries_for_every_size) {
  std::vector<filter::Block> blocks(64);
  std::mt19937_64 random(9);
  for (int i = 0; i < 1000; ++i) filter::SplitBlockBloom::insert(blocks.data(), 64, {random()});
  const filter::SplitBlockBloom bloom(blocks.data(), 64);
  for (std::size_t size = 0; size <= filter::batch_max; ++size) {
    std::vector<KeyHash> keys(size);
    for (auto &k : keys) k = {random()};
    const filter::HitMask mask = bloom.contains_batch(keys);
    for (std::size_t i = 0; i < filter::batch_max; ++i)
      EXPECT_EQ((mask >> i & 1) != 0, i < size && bloom.contains(keys[i]));
  }
}

TEST(SplitBlockBloom, the_portable_and_the_vector_probe_agree) {
  std::vector<filter::Block> blocks(32);
  std::mt19937_64 random(13);
  for (int i = 0; i < 700; ++i) filter::SplitBlockBloom::insert(blocks.data(), 32, {random()});
  const filter::SplitBlockBloom bloom(blocks.data(), 32);
  unsigned accepted = 0;
  for (int i = 0; i < 200'000; ++i) {
    const KeyHash key{random()};
    ASSERT_EQ(bloom.contains(key), bloom.contains_wordwise(filter::SplitBlockBloom::mixed(key))) << key.bits;
    accepted += bloom.contains(key) ? 1 : 0;
  }
  EXPECT_GT(accepted, 1000u);
  EXPECT_LT(accepted, 100'000u);
}

TEST(Line, the_portable_and_the_vector_probe_agree) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 20'000; ++round) {
    table::LineV4 line{};
    for (unsigned s = 0; s < 8; ++s) { // few distinct keys: nested prefixes share an address
      line.key[s] = static_cast<std::uint32_t>(random() % 3);
      line.value[s] =
          static_cast<std::uint32_t>(random() % 2) * table::value::make(ListId(s), 24 + random() % 3) |
          (random() % 2 ? table::value::group_bit : 0);
    }
    for (std::uint32_t key = 0; key < 3; ++key)
      for (unsigned length = 24; length < 27; ++length)
        EXPECT_EQ(table::find_in(line, key, length), table::find_wordwise(line, key, length));
  }
}

} // namespace
} // namespace weir::table_test
