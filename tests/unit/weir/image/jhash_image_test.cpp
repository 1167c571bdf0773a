// Images of hash family jhash: what they consist of, what is refused, and that filters place their keys by
// nothing but words' hashes, shifts and sums.
#include "tests/support/deny_filter_case.hpp"
#include "tests/support/image_memory.hpp"
#include "weir/build/prefix_ranges.hpp"

#include <gtest/gtest.h>

#include <memory>

#include <bit>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace weir::jhash_image_test {
namespace {

using image::SectionKind;
using test::ImageMemory;

struct Rules {
  std::vector<build::EntryV4> deny4, allow4;
  std::vector<build::EntryV6> deny6, allow6;
  std::vector<Address> known; // not denied

  explicit Rules(std::uint32_t count) {
    std::mt19937_64 random(5);
    for (std::uint32_t n = 0; n < count; ++n) {
      const auto host = static_cast<std::uint32_t>(random());
      deny4.push_back({host, 32, 0, 1});
      if (n % 8 == 0) deny4.push_back({host >> 8 << 8, 24, 0, 1});
      if (n % 4 == 0) allow4.push_back({static_cast<std::uint32_t>(random()), 32, 0, 2});
      deny6.push_back(v6(random(), n % 8 == 0 ? 64 : 128, 1));
      if (n % 4 == 0) allow6.push_back(v6(random(), 128, 2));
      known.push_back(Address::from_host(~host));
    }
    test::sort_entries(deny4), test::sort_entries(allow4);
    test::sort_entries(deny6), test::sort_entries(allow6);
  }
  static build::EntryV6 v6(std::uint64_t bits, std::uint8_t length, ListId list) {
    build::EntryV6 e{.length = length, .list = list};
    e.address[0] = 0x20;
    for (unsigned i = 1; i < length / 8u; ++i) e.address[i] = static_cast<std::uint8_t>(bits >> 8 * (i % 8));
    return e;
  }

  [[nodiscard]] build::BuildInput input() const {
    build::BuildInput in;
    in.lists = {{"bad", 1}, {"good", 2, Side::allow}};
    in.deny = {.v4 = deny4, .v6 = deny6, .predictor = build::Predictor::chained};
    in.allow = {.v4 = allow4, .v6 = allow6, .predictor = build::Predictor::chained};
    in.seed = 11;
    in.family = HashFamily::jhash;
    return in;
  }
  [[nodiscard]] build::DenyFilterSizes stack() const {
    auto plan = test::plan_of({filter::FilterKind::bloom, false, 3, 6}, image::DenyFilterRole::front);
    plan.family = HashFamily::jhash;
    plan.known = known;
    return plan;
  }
};

const Rules &rules() {
  static const Rules few(3000);
  return few;
}

std::string refusal(const build::BuildInput &in) {
  ImageMemory memory(build::image_bytes(in));
  const auto report = build::build_image(in, memory.bytes());
  return report ? "built" : report.error().message;
}

template <class Line> void expect_one_line_for_any_key(const image::SideView<Line> &side) {
  EXPECT_TRUE(std::has_single_bit(side.table.count1));
  EXPECT_TRUE(std::has_single_bit(side.table.count2));
  EXPECT_TRUE(std::has_single_bit(side.overlay.count));
  EXPECT_TRUE(side.predicts_alone()) << "the chain is in force and the stash empty";
  for (unsigned i = 0; i < side.chain.deep_layers(); ++i)
    EXPECT_TRUE(std::has_single_bit(side.chain.deep_layer(i).count));
}

TEST(JhashImage, has_powers_of_two_and_an_exact_predictor_everywhere) {
  for (const std::uint32_t count : {0u, 1u, 700u, 3000u}) {
    const Rules some(count);
    const ImageMemory m = ImageMemory::build(some.input());
    const image::ImageView view = m.view();
    EXPECT_EQ(view.family, HashFamily::jhash);
    for (const Side side : both_sides) {
      expect_one_line_for_any_key(view.v4[side]);
      expect_one_line_for_any_key(view.v6[side]);
    }
  }
}

TEST(JhashImage, hashes_its_keys_with_the_seed_of_their_length) {
  const ImageMemory m = ImageMemory::build(rules().input());
  const image::ImageView view = m.view();
  const std::uint64_t seed = length_seed(view.header->build_seed, 24);
  const Prefix p = parse_prefix("10.1.2.0/24").value();
  EXPECT_EQ(view.hash(p), jhash_v4(p.address.wire(), seed));
  EXPECT_EQ(view.flips_v4[24], seed) << "kernels of this family take seeds";
}

// More hosts than two lines and no stash can hold, all of which want the same two of 16 and 16.
struct Crowd {
  std::vector<build::EntryV4> hosts;
  build::BuildInput in;

  Crowd() {
    in = rules().input();
    const std::uint64_t seed = length_seed(in.seed, 32);
    for (std::uint32_t host = 1; hosts.size() < 2 * table::LineV4::slots + 4; ++host) {
      const KeyHash h = jhash_v4(byteswap32(host), seed);
      if (reduce(table::half1(h), 16) == 0 && reduce(table::half2(h), 16) == 0)
        hosts.push_back({host, 32, 0, 1});
    }
    in.deny.v4 = hosts;
  }
};

TEST(JhashImage, takes_another_seed_when_keys_find_no_room_in_their_lines) {
  Crowd crowd;
  const ImageMemory m = ImageMemory::build(crowd.in);
  EXPECT_GE(m.report().attempts, 2u);
  expect_one_line_for_any_key(m.view().v4[Side::deny]);
}

TEST(JhashImage, doubles_its_tables_where_a_stack_is_bound_to_the_seed) {
  Crowd crowd;
  const auto stack = build::build_deny_filter(crowd.in.deny, rules().stack(), crowd.in.seed);
  crowd.in.deny_filter = stack->input();
  const std::uint64_t before = build::image_bytes(crowd.in);
  std::optional<ImageMemory> memory;
  const auto report = build::build_growing(
      crowd.in, [&](std::uint64_t bytes) -> Result<MutableBytes> { return memory.emplace(bytes).bytes(); });
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_GE(crowd.in.doublings, 1u);
  EXPECT_GT(report->image_bytes, before);
  const image::ImageView view = image::attach(memory->bytes()).value();
  EXPECT_GT(view.v4[Side::deny].table.count1, 16u);
  expect_one_line_for_any_key(view.v4[Side::deny]);
}

TEST(JhashImage, refuses_to_be_built_of_what_the_family_does_not_have) {
  const build::BuildInput good = rules().input();
  EXPECT_EQ(refusal(good), "built");
  build::BuildInput in = good;
  in.allow.predictor = build::Predictor::inline_bits;
  EXPECT_NE(refusal(in).find("chained predictor on both sides"), std::string::npos);
  in = good;
  in.deny.front_filter = true;
  EXPECT_NE(refusal(in).find("no split-block front filter"), std::string::npos);
  in = good;
  in.allow_filter.params = build::CuckooParams{900, {400, 8}};
  EXPECT_NE(refusal(in).find("another hash family"), std::string::npos);
  in = good;
  in.allow_filter.params = test::jhash_seesaw(2000, 512, 64);
  EXPECT_EQ(refusal(in), "built");
  build::SeesawParams other = test::jhash_seesaw(2000, 512, 64);
  other.family = HashFamily::xxh3;
  in.allow_filter.params = other;
  EXPECT_NE(refusal(in).find("another hash family"), std::string::npos);
  for (const auto spoil :
       {+[](build::SeesawParams &p) { p.cell_words = 520; },
        +[](build::SeesawParams &p) { p.modulator_words = 65; },
        +[](build::SeesawParams &p) { p.adaptive = false; }, +[](build::SeesawParams &p) { p.hashes = 7; }}) {
    build::SeesawParams params = test::jhash_seesaw(2000, 512, 64);
    spoil(params);
    in.allow_filter.params = params;
    EXPECT_NE(refusal(in).find("family jhash wants"), std::string::npos);
  }
}

TEST(JhashImage, has_stacks_of_bloom_layers_in_front_of_tables_alone) {
  const build::BuildInput in = rules().input();
  EXPECT_TRUE(build::build_deny_filter(in.deny, rules().stack(), in.seed));
  for (const auto spoil : {+[](build::DenyFilterSizes &p) { p.base = filter::FilterKind::split_block_bloom; },
                           +[](build::DenyFilterSizes &p) {
                             p.fuse_below = true;
                             p.layers[1] = {.digits = 4};
                           },
                           +[](build::DenyFilterSizes &p) { p.role = image::DenyFilterRole::judge; }}) {
    build::DenyFilterSizes plan = rules().stack();
    spoil(plan);
    const auto stack = build::build_deny_filter(in.deny, plan, in.seed);
    ASSERT_FALSE(stack);
    EXPECT_NE(stack.error().message.find("Bloom layers alone, in front"), std::string::npos);
  }
}

// ---- at the trust border ---------------------------------------------------------------------------

std::string attach_as(const ImageMemory &m, HashFamily family) {
  auto &header = *reinterpret_cast<image::ImageHeader *>(m.bytes().data());
  header.hash_family = static_cast<std::uint32_t>(family);
  header.header_checksum = checksum(m.bytes().first(offsetof(image::ImageHeader, header_checksum)));
  const auto view = image::attach(m.bytes());
  return view ? "attached" : view.error().message;
}

TEST(JhashImage, is_refused_when_its_shape_is_that_of_the_other_family) {
  build::BuildInput in = rules().input();
  in.family = HashFamily::xxh3;
  EXPECT_NE(attach_as(ImageMemory::build(in), HashFamily::jhash).find("prefixes as ranges"),
            std::string::npos);
  in.ranges = std::make_shared<const build::PrefixRanges>(); // prefixes in the tables
  EXPECT_NE(attach_as(ImageMemory::build(in), HashFamily::jhash).find("lines are no power of two"),
            std::string::npos);
  build::BuildInput plain;
  plain.lists = {{"bad", 1}};
  plain.ranges = in.ranges;
  EXPECT_NE(attach_as(ImageMemory::build(plain), HashFamily::jhash).find("without a chained predictor"),
            std::string::npos);
  plain.deny.front_filter = true;
  EXPECT_NE(attach_as(ImageMemory::build(plain), HashFamily::jhash).find("front filter"), std::string::npos);
}

TEST(JhashImage, is_refused_when_a_filter_remixes_hashes_as_the_other_family_does) {
  build::BuildInput in = rules().input();
  in.allow_filter.params = test::jhash_seesaw(2000, 512, 64);
  const ImageMemory guarded = ImageMemory::build(in);
  EXPECT_EQ(attach_as(guarded, HashFamily::jhash), "attached");
  EXPECT_NE(attach_as(guarded, HashFamily::xxh3).find("filter of the allow side of another family"),
            std::string::npos);
  in.allow_filter.params = {};
  const ImageMemory stacked = test::build_with_stack(in, rules().stack());
  EXPECT_NE(attach_as(stacked, HashFamily::xxh3).find("Bloom layer of another family"), std::string::npos);
}

// ---- what a program computes that only shifts and adds ---------------------------------------------

TEST(JhashImage, a_seesaw_filter_takes_places_from_remixed_hashes_by_shifts) {
  build::BuildInput in = rules().input();
  for (const unsigned hashes : {2u, 3u, 4u, 5u, 6u}) {
    in.allow_filter.params = test::jhash_seesaw(2000, 512, 64, hashes);
    const ImageMemory m = ImageMemory::build(in);
    const image::ImageView view = m.view();
    const filter::SeesawShape &shape = view.allow_filter.as<filter::SeesawView>()->shape();
    const filter::AnyLayoutOf<HashFamily::jhash> layout(shape);
    for (std::uint32_t n = 0; n < 300; ++n) {
      const KeyHash key = view.hash(n * 2654435761u, 32);
      filter::SeesawWalk walk(key);
      unsigned number = 0;
      std::uint32_t line = 0, rest = 0, first_line = 0;
      const auto take = [&](unsigned log_size) {
        const std::uint64_t x = jhash_remix(key, filter::SeesawWalk::factor(number++));
        rest = static_cast<std::uint32_t>(x << log_size >> 32);
        return static_cast<std::uint32_t>(x >> (64 - log_size));
      };
      const auto place = [&](std::uint32_t in_line) {
        const std::uint32_t cell = rest >> 28, left = rest << 4;
        rest = left << 3;
        return filter::CellPlace{in_line * 8 + (left >> 29), cell * 4};
      };
      for (unsigned i = 0; i < hashes; ++i) {
        if (i % (hashes <= 4 ? 2 : 3) == 0) line = take(6); // 64 lines of 8 words
        if (i == 0) first_line = line;
        ASSERT_EQ(walk.function(layout, i), place(line)) << i;
      }
      const std::uint32_t word = take(6); // 64 words
      const std::uint32_t cell = rest >> 27;
      rest <<= 5;
      ASSERT_EQ(walk.modulator(layout), (filter::CellPlace{word, cell * 2}));
      ASSERT_EQ(walk.backup(layout, 0), place(first_line));
    }
  }
}

TEST(JhashImage, a_bloom_layer_takes_positions_from_remixed_hashes_by_shifts) {
  const ImageMemory m = test::build_with_stack(rules().input(), rules().stack());
  const image::ImageView view = m.view();
  ASSERT_EQ(view.deny_filter.depth(), 3u);
  unsigned present = 0, absent = 0;
  for (unsigned i = 0; i < 3; ++i) {
    const filter::BloomView &layer = *view.deny_filter.bloom(i);
    const int log_bits = 6 + std::countr_zero(layer.shape().size);
    for (std::uint32_t n = 0; n < 40'000; ++n) {
      const KeyHash key = view.hash(n * 2654435761u, 32);
      std::uint64_t at = jhash_remix(key, layer.salt()), step = std::rotl(at, 32);
      bool all = true;
      for (unsigned k = 0; k < layer.shape().hashes; ++k) {
        const std::uint64_t bit = at >> (64 - log_bits);
        all = all && (layer.words()[bit / 64] >> bit % 64 & 1) != 0;
        at += step;
        step += 0x9E3779B97F4A7C15ull;
      }
      ASSERT_EQ(layer.contains(key), all);
      ASSERT_EQ(layer.contains_batch({&key, 1}), all ? 1u : 0u);
      ++(all ? present : absent);
    }
  }
  EXPECT_GT(present, 10u);
  EXPECT_GT(absent, 1000u);
}

TEST(JhashImage, a_predictor_takes_words_and_bits_from_remixed_hashes_by_shifts) {
  const KeyHash key{0x123456789ABCDEF0ull};
  for (unsigned layer = 0; layer < 6; ++layer) {
    const std::uint64_t x = jhash_remix(key, table::ChainedPredictor::salt(layer));
    const auto mark = table::ChainedPredictor::mark(layer, 16, key, HashFamily::jhash);
    EXPECT_EQ(mark.word, x >> 60);
    EXPECT_EQ(mark.bits, 1ull << (x & 63) | 1ull << (x >> 6 & 63) | 1ull << (x >> 12 & 63));
  }
}

// ---- filters that are of use ------------------------------------------------------------------------

TEST(JhashImage, filters_reject_most_of_what_they_do_not_hold) {
  build::BuildInput in = rules().input();
  in.allow_filter.params = test::jhash_seesaw(2000, 1024, 64);
  const ImageMemory m = test::build_with_stack(in, rules().stack());
  const image::ImageView view = m.view();
  unsigned guard = 0, stack = 0;
  constexpr unsigned strangers = 4000;
  for (std::uint32_t n = 0; n < strangers; ++n) {
    const KeyHash key = view.hash(0x9E3779B9u * n, 32);
    guard += view.allow_filter.contains(key);
    stack += view.deny_filter.contains(key);
  }
  EXPECT_LT(guard, strangers / 20);
  EXPECT_LT(stack, strangers / 5);
  for (const build::EntryV4 &e : rules().deny4)
    if (e.length == 32) {
      ASSERT_TRUE(view.deny_filter.contains(view.hash(byteswap32(e.host), 32)));
    }
}

} // namespace
} // namespace weir::jhash_image_test
