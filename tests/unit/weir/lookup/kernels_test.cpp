// Every set of kernels that this processor can run against the portable one, bit for bit.
#include "tests/support/seed.hpp"
#include "weir/image/lists.hpp"
#include "weir/lookup/kernels/choose.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <random>
#include <span>
#include <vector>

namespace weir::kernels_test {
namespace {

using lookup::Kernels, table::KeyV6, table::LineV4, table::LineV6;

constexpr unsigned room = 64;
using Words = std::array<std::uint64_t, room>;
using Hashes = std::array<KeyHash, room>;

class KernelsTest : public testing::TestWithParam<const Kernels *> {
protected:
  const Kernels &kernels = *GetParam();
  const std::uint64_t seed = test::seed_or(71);
  std::mt19937_64 random{seed};
};

TEST_P(KernelsTest, hashes_of_four_bytes_are_those_of_the_library) {
  WEIR_TRACE_SEED(seed);
  std::array<std::uint32_t, room> keys;
  Words flips;
  Hashes hashes;
  for (unsigned round = 0; round < 2000; ++round) {
    Words seeds;
    for (unsigned i = 0; i < room; ++i) {
      keys[i] = round == 0 ? std::uint32_t(0) - i % 2 : static_cast<std::uint32_t>(random());
      seeds[i] = random();
      flips[i] = xxh3::flip_v4(seeds[i]);
    }
    kernels.hash_v4(keys.data(), flips.data(), room, hashes.data());
    for (unsigned i = 0; i < room; ++i)
      ASSERT_EQ(hashes[i].bits, XXH3_64bits_withSeed(&keys[i], 4, seeds[i]))
          << keys[i] << " seed " << seeds[i];
  }
}

TEST_P(KernelsTest, hashes_of_sixteen_bytes_are_those_of_the_library) {
  WEIR_TRACE_SEED(seed);
  std::array<KeyV6, room> keys;
  Words seeds;
  Hashes hashes;
  for (unsigned round = 0; round < 2000; ++round) {
    for (unsigned i = 0; i < room; ++i) {
      keys[i] = {random(), random()};
      if (round == 0) keys[i] = {std::uint64_t(0) - i % 2, std::uint64_t(0) - i / 2 % 2};
      seeds[i] = random();
    }
    kernels.hash_v6(keys.data(), seeds.data(), room, hashes.data());
    for (unsigned i = 0; i < room; ++i)
      ASSERT_EQ(hashes[i].bits, XXH3_64bits_withSeed(&keys[i], 16, seeds[i]));
  }
}

TEST_P(KernelsTest, every_count_of_keys_is_hashed) {
  std::array<std::uint32_t, room> keys;
  Words flips;
  for (unsigned i = 0; i < room; ++i) {
    keys[i] = i * 7919;
    flips[i] = xxh3::flip_v4(i);
  }
  for (unsigned count = 0; count <= room; ++count) {
    Hashes here{}, portable{};
    kernels.hash_v4(keys.data(), flips.data(), count, here.data());
    lookup::portable_kernels.hash_v4(keys.data(), flips.data(), count, portable.data());
    for (unsigned i = 0; i < count; ++i) ASSERT_EQ(here[i], portable[i]) << i << " of " << count;
  }
}

TEST_P(KernelsTest, lines_and_mixed_hashes_are_the_portable_ones) {
  WEIR_TRACE_SEED(seed);
  alignas(64) const std::array<std::byte, 64> anchor{}; // where lines and blocks begin
  for (const std::uint32_t size : {1u, 2u, 3u, 1000u, 0x7FFF'FFFFu, 0xFFFF'FFFFu}) {
    Hashes hashes;
    for (KeyHash &h : hashes) h.bits = random();
    hashes[0].bits = 0;
    hashes[1].bits = ~std::uint64_t{0};
    std::array<const void *, room> here{}, portable{};
    kernels.lines1(hashes.data(), room, anchor.data(), size, here.data());
    lookup::portable_kernels.lines1(hashes.data(), room, anchor.data(), size, portable.data());
    EXPECT_EQ(here, portable) << size << " lines";
    Words mixed{}, mixed_portable{};
    kernels.mix(hashes.data(), room, size * 0x9E3779B97F4A7C15ull, mixed.data());
    lookup::portable_kernels.mix(hashes.data(), room, size * 0x9E3779B97F4A7C15ull, mixed_portable.data());
    EXPECT_EQ(mixed, mixed_portable);
    const filter::SplitBlockBloom blocks(reinterpret_cast<const filter::Block *>(anchor.data()), size);
    kernels.blocks(blocks, mixed.data(), room, here.data());
    lookup::portable_kernels.blocks(blocks, mixed.data(), room, portable.data());
    EXPECT_EQ(here, portable) << size << " blocks";
  }
}

TEST_P(KernelsTest, predicted_lines_are_the_portable_ones) {
  WEIR_TRACE_SEED(seed);
  alignas(64) const std::array<std::byte, 64> anchor{}; // where lines and blocks begin
  for (const std::uint32_t size : {1u, 2u, 3u, 1000u, 100'000u}) {
    std::vector<std::uint32_t> bits(size / 4 + 16);
    for (std::uint32_t &word : bits) word = static_cast<std::uint32_t>(random());
    Hashes hashes;
    for (KeyHash &h : hashes) h.bits = random();
    hashes[0].bits = 0;
    hashes[1].bits = ~std::uint64_t{0};
    for (const std::uint32_t shift : {1u, 2u, 3u}) {
      const lookup::LedTable led{
          {bits.data(), size, shift, (1u << shift) - 1}, anchor.data(), size, size / 3 + 1};
      std::array<const void *, room> here{}, portable{};
      kernels.lines_led(hashes.data(), room, led, here.data());
      lookup::portable_kernels.lines_led(hashes.data(), room, led, portable.data());
      EXPECT_EQ(here, portable) << size << " lines, " << shift;
    }
  }
}

// Few different keys and lengths, so that equal keys at other lengths, stale keys in empty slots and
// group bits in empty slots all occur often.
template <class Line> typename Line::Key some_key(std::mt19937_64 &random) {
  if constexpr (Line::family == Family::ipv4)
    return static_cast<std::uint32_t>(random() % 5);
  else
    return {random() % 3, random() % 3};
}

std::uint32_t some_value(std::mt19937_64 &random, unsigned shortest) {
  const std::uint32_t group = random() % 2 ? table::value::group_bit : 0;
  if (random() % 3 == 0) return group; // an empty slot; its key is stale
  return group | table::value::make(ListId(random() % image::lists_max),
                                    shortest + static_cast<unsigned>(random() % 2));
}

template <class Line> void fill(Line &line, std::mt19937_64 &random, unsigned shortest) {
  for (unsigned s = 0; s < Line::slots; ++s) {
    line.key[s] = some_key<Line>(random);
    line.value[s] = some_value(random, shortest);
    for (unsigned before = 0; before < s; ++before) // a key stands once at each length
      if (line.key[before] == line.key[s] && (line.value[before] ^ line.value[s]) << 1 >> 17 == 0)
        line.value[s] &= table::value::group_bit;
  }
  if constexpr (Line::family == Family::ipv6) line.group_bits = static_cast<std::uint32_t>(random());
}

template <class Line>
void compare_probes(lookup::Probe<Line> probe, lookup::Settle settle, std::mt19937_64 &random,
                    unsigned shortest) {
  auto lines = std::make_unique<Line[]>(room);
  alignas(64) std::array<typename Line::Key, room> keys;
  std::array<std::uint32_t, room> tags, here, portable, groups_here, groups_portable;
  std::array<const Line *, room> at;
  std::array<const void *, room> behind;
  Hashes hashes;
  unsigned found = 0, gone_on = 0;
  for (unsigned round = 0; round < 3000; ++round) {
    const auto count = static_cast<unsigned>(random() % (room + 1));
    for (unsigned i = 0; i < room; ++i) {
      fill(lines[i], random, shortest);
      at[i] = &lines[i];
      behind[i] = &lines[room - 1 - i];
      keys[i] = some_key<Line>(random);
      tags[i] = lookup::length_tag(shortest + static_cast<unsigned>(random() % 2));
      hashes[i].bits = random();
    }
    const auto behind_count = static_cast<unsigned>(random() % (count + 1));
    const lookup::ProbeArrays<Line> arrays{at.data(), keys.data(),   tags.data(),
                                           count,     behind.data(), behind_count};
    probe(arrays, here.data(), groups_here.data());
    lookup::portable::probe<Line>(arrays, portable.data(), groups_portable.data());
    for (unsigned i = 0; i < count; ++i) ASSERT_EQ(groups_here[i], groups_portable[i]) << "probe " << i;
    std::array<std::uint32_t, room> alone;
    probe(arrays, alone.data(), nullptr);
    for (unsigned i = 0; i < count; ++i) ASSERT_EQ(alone[i], here[i]) << "probe " << i;
    const std::uint64_t left = settle({here.data(), groups_here.data(), hashes.data(), count});
    ASSERT_EQ(left, lookup::portable::settle<Line>(
                        {portable.data(), groups_portable.data(), hashes.data(), count}));
    for (unsigned i = 0; i < count; ++i) {
      ASSERT_EQ(here[i], portable[i]) << "probe " << i << " of " << count;
      found += here[i] != 0 ? 1 : 0;
    }
    gone_on += static_cast<unsigned>(std::popcount(left));
  }
  EXPECT_GT(found, 5000u);
  EXPECT_GT(gone_on, 5000u);
}

TEST_P(KernelsTest, a_line_of_ipv4_keys_answers_as_it_does_word_by_word) {
  WEIR_TRACE_SEED(seed);
  compare_probes<LineV4>(kernels.probe_v4, kernels.settle_v4, random, 31);
}

TEST_P(KernelsTest, a_line_of_ipv6_keys_answers_as_it_does_word_by_word) {
  WEIR_TRACE_SEED(seed);
  compare_probes<LineV6>(kernels.probe_v6, kernels.settle_v6, random, 0);
}

TEST_P(KernelsTest, a_bloom_filter_keeps_what_it_contains) {
  WEIR_TRACE_SEED(seed);
  std::vector<filter::Block> blocks(32);
  for (int i = 0; i < 1500; ++i) filter::SplitBlockBloom::insert(blocks.data(), 32, {random()});
  const filter::SplitBlockBloom bloom(blocks.data(), 32);
  Words mixed;
  std::array<const filter::Block *, room> named;
  std::array<const void *, room> behind;
  behind.fill(blocks.data());
  std::array<std::uint16_t, room + 1> kept;
  unsigned total = 0;
  for (unsigned round = 0; round < 2000; ++round) {
    for (std::uint64_t &m : mixed) m = random();
    const auto count = static_cast<unsigned>(random() % (room + 1));
    for (unsigned i = 0; i < count; ++i) named[i] = &bloom.block_for(mixed[i]);
    const auto behind_count = static_cast<unsigned>(random() % (count + 1));
    const unsigned left =
        kernels.bloom({named.data(), mixed.data(), count, behind.data(), behind_count}, kept.data());
    unsigned expected = 0;
    for (unsigned i = 0; i < count; ++i)
      if (bloom.contains_wordwise(mixed[i])) {
        ASSERT_LT(expected, left);
        ASSERT_EQ(kept[expected++], i);
      }
    ASSERT_EQ(left, expected);
    total += left;
  }
  EXPECT_GT(total, 500u);
}

INSTANTIATE_TEST_SUITE_P(Sets, KernelsTest,
                         testing::ValuesIn(lookup::available_kernels().begin(),
                                           lookup::available_kernels().end()),
                         [](const auto &set) { return std::string(set.param->name); });

TEST_P(KernelsTest, values_that_name_a_list_are_the_portable_ones) {
  WEIR_TRACE_SEED(seed);
  std::array<std::uint32_t, room> values;
  for (unsigned round = 0; round < 2000; ++round) {
    for (std::uint32_t &v : values) v = random() % 2 ? some_value(random, 32) : 1u << random() % 32;
    const auto count = static_cast<unsigned>(random() % (room + 1));
    ASSERT_EQ(kernels.listed(values.data(), count), lookup::portable::listed(values.data(), count)) << count;
  }
}

TEST_P(KernelsTest, a_mask_parts_pointers_and_sums_values_as_the_portable_ones_do) {
  WEIR_TRACE_SEED(seed);
  std::array<std::uint64_t, room> pointed_at;
  std::array<void *, room> pointers;
  std::array<std::uint32_t, room> values;
  for (unsigned i = 0; i < room; ++i) pointers[i] = &pointed_at[i];
  for (unsigned round = 0; round < 2000; ++round) {
    for (std::uint32_t &v : values) v = static_cast<std::uint32_t>(random());
    const auto count = static_cast<unsigned>(random() % (room + 1));
    const std::uint64_t up_to_count = count == 0 ? 0 : ~std::uint64_t{0} >> (64 - count);
    const std::uint64_t mask = (random() & (random() | random())) & up_to_count;
    const auto set = static_cast<unsigned>(std::popcount(mask));
    std::array<void *, room + lookup::part_room> zeros{}, ones{}, zeros_wanted{}, ones_wanted{};
    kernels.part(pointers.data(), count, mask, zeros.data(), ones.data());
    lookup::portable::part(pointers.data(), count, mask, zeros_wanted.data(), ones_wanted.data());
    ASSERT_TRUE(std::equal(ones.begin(), ones.begin() + set, ones_wanted.begin())) << count << ", " << mask;
    ASSERT_TRUE(std::equal(zeros.begin(), zeros.begin() + (count - set), zeros_wanted.begin()))
        << count << ", " << mask;
    ASSERT_EQ(kernels.sum(values.data(), count, mask), lookup::portable::sum(values.data(), count, mask));
  }
}

TEST_P(KernelsTest, values_are_woven_by_a_mask_as_the_portable_one_does) {
  WEIR_TRACE_SEED(seed);
  for (unsigned round = 0; round < 2000; ++round) {
    const auto count = static_cast<unsigned>(random() % (room + 1));
    const std::uint64_t up_to_count = count == 0 ? 0 : ~std::uint64_t{0} >> (64 - count);
    const std::uint64_t mask = (random() & (random() | random())) & up_to_count;
    const auto set = static_cast<std::size_t>(std::popcount(mask));
    std::vector<std::uint32_t> zeros(room), ones(set); // not one too far is read of the ones
    for (std::uint32_t &v : zeros) v = static_cast<std::uint32_t>(random());
    for (std::uint32_t &v : ones) v = static_cast<std::uint32_t>(random());
    std::array<std::uint32_t, room> out{}, wanted{};
    kernels.weave(zeros.data(), ones.data(), count, mask, out.data());
    lookup::portable::weave(zeros.data(), ones.data(), count, mask, wanted.data());
    ASSERT_TRUE(std::equal(out.begin(), out.begin() + count, wanted.begin())) << count << ", " << mask;
  }
}

TEST(PortableKernels, a_mask_parts_pointers_in_their_order_and_sums_values) {
  std::array<int, 5> pointed_at;
  std::array<void *, 5> pointers;
  for (unsigned i = 0; i < 5; ++i) pointers[i] = &pointed_at[i];
  std::array<void *, 5 + lookup::part_room> zeros{}, ones{};
  lookup::portable::part(pointers.data(), 5, 0b01101, zeros.data(), ones.data());
  EXPECT_THAT(std::span(zeros).first(2), testing::ElementsAre(pointers[1], pointers[4]));
  EXPECT_THAT(std::span(ones).first(3), testing::ElementsAre(pointers[0], pointers[2], pointers[3]));
  const std::array<std::uint32_t, 5> values{1, 10, 0xFFFFFFFF, 0xFFFFFFFF, 1000};
  EXPECT_EQ(lookup::portable::sum(values.data(), 5, 0b01101), 0x1FFFFFFFFull);
  std::array<std::uint32_t, 5> woven{};
  lookup::portable::weave(values.data(), values.data() + 3, 5, 0b01010, woven.data());
  EXPECT_THAT(woven, testing::ElementsAre(1, 0xFFFFFFFF, 10, 1000, 0xFFFFFFFF));
}

TEST_P(KernelsTest, signs_of_a_length_map_are_those_of_its_cells) {
  WEIR_TRACE_SEED(seed);
  std::vector<std::uint64_t> cells(table::length_map_cells);
  std::vector<std::uint32_t> signs(table::length_map_words);
  for (std::size_t c = 0; c < cells.size(); ++c)
    if (random() % 3)
      table::write_cell(cells.data(), signs.data(), c,
                        (random() & 0x0000FFFFFFFFFFFFull) & random() << 32 * (random() % 2));
  std::array<std::uint32_t, room> wires;
  for (unsigned round = 0; round < 500; ++round) {
    for (std::uint32_t &w : wires) w = static_cast<std::uint32_t>(random());
    const auto count = static_cast<unsigned>(random() % (room + 1));
    const auto here = kernels.signs(signs.data(), wires.data(), count);
    lookup::CellSigns expected{};
    for (unsigned i = 0; i < count; ++i) {
      const std::uint32_t sign = table::sign_of(cells[table::LengthMapV4::index(wires[i])]);
      expected.hosts |= std::uint64_t{(sign & table::sign_hosts) != 0} << i;
      expected.more |= std::uint64_t{(sign & table::sign_more) != 0} << i;
    }
    ASSERT_EQ(here.hosts, expected.hosts);
    ASSERT_EQ(here.more, expected.more);
  }
}

TEST_P(KernelsTest, cells_of_a_length_map_are_the_portable_ones) {
  WEIR_TRACE_SEED(seed);
  std::vector<std::uint64_t> map(table::length_map_cells);
  for (std::uint64_t &cell : map) {
    cell = random() % 3 ? random() & random() << 32 * (random() % 2) : 0;
    if (random() % 2) cell &= ~std::uint64_t{0xE00000}; // a length that there is
  }
  std::array<std::uint32_t, room> wires, shorts, lengths, shorts_portable, lengths_portable;
  for (unsigned round = 0; round < 500; ++round) {
    for (std::uint32_t &w : wires) w = static_cast<std::uint32_t>(random());
    const auto count = static_cast<unsigned>(random() % (room + 1));
    kernels.cells(map.data(), wires.data(), count, shorts.data(), lengths.data());
    lookup::portable::cells(map.data(), wires.data(), count, shorts_portable.data(), lengths_portable.data());
    for (unsigned i = 0; i < count; ++i) {
      ASSERT_EQ(shorts[i], shorts_portable[i]) << i;
      ASSERT_EQ(lengths[i], lengths_portable[i]) << i;
    }
  }
}

TEST_P(KernelsTest, values_give_way_to_others_where_the_portable_ones_do) {
  WEIR_TRACE_SEED(seed);
  for (unsigned round = 0; round < 500; ++round) {
    std::array<std::uint32_t, room> here, otherwise;
    for (unsigned i = 0; i < room; ++i) {
      here[i] = random() % 2 ? 0 : static_cast<std::uint32_t>(random());
      otherwise[i] = static_cast<std::uint32_t>(random());
    }
    auto portable = here;
    const auto count = static_cast<unsigned>(random() % (room + 1));
    kernels.or_else(here.data(), otherwise.data(), count);
    lookup::portable::or_else(portable.data(), otherwise.data(), count);
    for (unsigned i = 0; i < count; ++i) ASSERT_EQ(here[i], portable[i]) << i;
  }
}

TEST(Kernels, a_set_that_is_not_there_cannot_be_asked_for) {
  ASSERT_EQ(setenv("WEIR_KERNELS", "avx9", 1), 0);
  const Status refused = lookup::check_wanted_kernels();
  ASSERT_EQ(setenv("WEIR_KERNELS", "portable", 1), 0);
  EXPECT_TRUE(lookup::check_wanted_kernels());
  unsetenv("WEIR_KERNELS");
  EXPECT_TRUE(lookup::check_wanted_kernels());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("avx9"), std::string::npos) << refused.error().message;
  EXPECT_NE(refused.error().message.find("portable"), std::string::npos) << refused.error().message;
}

TEST(Kernels, the_portable_set_is_always_there_and_the_best_is_among_them) {
  const auto all = lookup::available_kernels();
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all.front(), &lookup::portable_kernels);
  EXPECT_NE(std::ranges::find(all, &lookup::best_kernels()), all.end());
}

} // namespace
} // namespace weir::kernels_test
