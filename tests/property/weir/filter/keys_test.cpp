// What choosing addresses can do to tables and filters: nothing without the secret seed, and no wrong answer
// with it.
//
// A feed is made by a rule that an attacker may choose: addresses in a row, in steps, of few differing bits,
// in a linear space, of equal bytes, and those for which the first step of the hash, or of the permutation that scatters
// hosts over words, leaves differences in the fewest bits. Over many seeds nobody knew, what such a feed leaves beyond its
// first line, in the stash and in a filter's wrong answers is held against feeds drawn at random: the mean over seeds may
// lie apart by chance alone.
#include "tests/support/cuckoo_section.hpp"
#include "tests/support/deny_filter_case.hpp"
#include "tests/support/seed.hpp"
#include "tests/support/seesaw_section.hpp"
#include "tests/support/test_image.hpp"
#include "weir/build/word_builder.hpp"
#include "weir/image/reader.hpp"
#include "weir/image/writer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <random>
#include <set>
#include <stdexcept>

namespace weir::test::keys_test {
namespace {

constexpr unsigned keys = 4096, seeds = 48;

using Addresses = std::vector<std::uint32_t>; // distinct, as numbers

struct Choice {
  const char *name;
  std::function<Addresses(std::mt19937_64 &)> draw;
};

Addresses distinct(std::mt19937_64 &random, const std::function<std::uint32_t(unsigned)> &at) {
  std::set<std::uint32_t> drawn;
  for (unsigned i = 0; i < keys; ++i) drawn.insert(at(i));
  while (drawn.size() < keys) drawn.insert(static_cast<std::uint32_t>(random()));
  return {drawn.begin(), drawn.end()};
}

// The sum of those of `basis` that the bits of `i` name.
std::uint32_t sum_of(const std::vector<std::uint32_t> &basis, unsigned i) {
  std::uint32_t sum = 0;
  for (unsigned bit = 0; bit < basis.size(); ++bit)
    if ((i >> bit & 1) != 0) sum ^= basis[bit];
  return sum;
}

// XXH3 begins with h ^ rotl(h, 49) ^ rotl(h, 24), which is linear, and of a repeated word as this of the word
// itself: the difference of two inputs for one of their values after that.
std::uint32_t difference_for(std::uint32_t after) {
  const auto step = [](std::uint32_t x) { return x ^ std::rotl(x, 17) ^ std::rotl(x, 24); };
  // The step is 1 + x^17 + x^24 modulo (1 + x)^32; 32 steps are none.
  std::uint32_t before = after;
  for (int i = 0; i < 31; ++i) before = step(before);
  return before;
}

// Times the first factor of the permutation: 1.
std::uint32_t first_factor_undone() {
  std::uint32_t inverse = 1;
  for (int i = 0; i < 5; ++i) inverse *= 2 - table::Scatter::factor[0] * inverse;
  return inverse;
}

std::vector<Choice> choices() {
  return {
      {"in a row",
       [](std::mt19937_64 &random) {
         const auto from = static_cast<std::uint32_t>(random());
         return distinct(random, [&](unsigned i) { return from + i; });
       }},
      {"in steps of a power of two",
       [](std::mt19937_64 &random) {
         const auto from = static_cast<std::uint32_t>(random());
         return distinct(random, [&](unsigned i) { return from + (i << 20); });
       }},
      {"in steps of any size",
       [](std::mt19937_64 &random) {
         const auto step = static_cast<std::uint32_t>(random()) | 1;
         return distinct(random, [&](unsigned i) { return step * i; });
       }},
      {"of two bits set",
       [](std::mt19937_64 &random) {
         const auto from = static_cast<std::uint32_t>(random());
         return distinct(random, [&](unsigned i) { return from ^ 1u << i % 32 ^ 1u << i / 32 % 32; });
       }},
      {"of a linear space",
       [](std::mt19937_64 &random) {
         std::vector<std::uint32_t> basis(12);
         for (std::uint32_t &b : basis) b = static_cast<std::uint32_t>(random());
         const auto from = static_cast<std::uint32_t>(random());
         return distinct(random, [&](unsigned i) { return from ^ sum_of(basis, i); });
       }},
      {"of equal bytes",
       [](std::mt19937_64 &random) {
         const auto flip = static_cast<std::uint32_t>(random());
         return distinct(random, [&](unsigned i) {
           const std::uint32_t a = i & 63, b = i >> 6;
           return flip ^ (a << 24 | b << 16 | a << 8 | b);
         });
       }},
      {"whose differences are high bits after the linear step of the hash",
       [](std::mt19937_64 &random) {
         std::vector<std::uint32_t> basis;
         for (unsigned bit = 31; basis.size() < 12; --bit)
           basis.push_back(byteswap32(difference_for(1u << bit)));
         const auto from = static_cast<std::uint32_t>(random());
         return distinct(random, [&](unsigned i) { return from ^ sum_of(basis, i); });
       }},
      {"in steps that the first multiplication of the permutation makes one",
       [](std::mt19937_64 &random) {
         const auto from = static_cast<std::uint32_t>(random());
         return distinct(random, [&](unsigned i) { return byteswap32(from + i * first_factor_undone()); });
       }},
  };
}

Addresses at_random(std::mt19937_64 &random) {
  return distinct(random, [&](unsigned) { return static_cast<std::uint32_t>(random()); });
}

RuleSet rules_of(const Addresses &addresses) {
  RuleSet rules;
  rules.lists.push_back({.name = "drop", .side = Side::deny, .prefixes = {}});
  for (const std::uint32_t a : addresses) rules.lists[0].prefixes.push_back({Address::from_host(a), 32});
  return rules;
}

constexpr std::array figure_names{"keys beyond the first line",
                                  "keys in the stash",
                                  "seeds tried",
                                  "wrong answers of the front filter",
                                  "wrong answers of a stacked filter",
                                  "wrong answers of a Seesaw filter",
                                  "wrong answers of a cuckoo filter",
                                  "hosts behind words"};
using Figures = std::array<double, figure_names.size()>; // what a build came to

build::SeesawParams seesaw_params() {
  return build::seesaw_split({.planned_keys = keys}, std::uint64_t{10} * keys, 0.2);
}

double hosts_behind_words(const Addresses &addresses, std::uint64_t seed) {
  std::vector<build::EntryV4> entries;
  for (const std::uint32_t a : addresses) entries.push_back({a, 32, 0, 0});
  const std::uint32_t lines = build::word_lines(entries.size());
  std::vector<table::WordLine> memory(lines + 1);
  const auto bytes = std::as_writable_bytes(std::span(memory));
  return static_cast<double>(
      build::WordBuilder(bytes, lines, length_seed(seed, 32)).build(entries, 1).size());
}

Figures figures_of(const Addresses &addresses, std::uint64_t seed, std::mt19937_64 &random) {
  const RuleSet rules = rules_of(addresses);
  const TestImage image(rules, {.seed = seed, .front_filter = true});
  const TestImage stacked(rules, {.seed = seed, .stack = plan_of({}, image::DenyFilterRole::front)});
  const build::BuildReport &report = image.report();
  std::vector<KeyHash> hashes;
  for (const std::uint32_t a : addresses) hashes.push_back(image.view().hash(byteswap32(a), 32));
  SeesawSection seesaw(seesaw_params(), hashes);
  Figures f{};
  f[7] = hosts_behind_words(addresses, seed);
  CuckooSection cuckoo({.buckets = keys / 4 * 10 / 9, .fingerprint_bits = 8}, hashes, keys);
  const auto seesaw_view = seesaw.view();
  const auto cuckoo_view = cuckoo.view();
  f[0] = static_cast<double>(report.deny_v4.in_table2);
  f[1] = static_cast<double>(report.deny_v4.in_stash);
  f[2] = report.attempts;
  for (unsigned asked = 0; asked < 4 * keys;) {
    // Absent addresses that are chosen as the others are: one bit beside one of them.
    const std::uint32_t near = addresses[random() % addresses.size()] ^ 1u << random() % 32;
    if (std::ranges::binary_search(addresses, near)) continue;
    ++asked;
    const KeyHash h = image.view().hash(byteswap32(near), 32);
    f[3] += image.view().v4[Side::deny].front.contains(h);
    f[4] += stacked.view().deny_filter.contains(h);
    f[5] += seesaw_view.contains(h);
    f[6] += cuckoo_view.contains(h);
  }
  return f;
}

struct Sample {
  double sum = 0, squares = 0;
  void add(double x) { sum += x, squares += x * x; }
  [[nodiscard]] double mean() const { return sum / seeds; }
  [[nodiscard]] double variance() const { return std::max(0.0, squares / seeds - mean() * mean()); }
};

// Six standard errors: one comparison in five hundred million by chance, were they normal.
void expect_alike(const Sample &chosen, const Sample &drawn, const char *what) {
  const double error = std::sqrt((chosen.variance() + drawn.variance()) / seeds);
  EXPECT_LE(std::abs(chosen.mean() - drawn.mean()), 6 * error + 0.5)
      << what << ": " << chosen.mean() << " beside " << drawn.mean();
}

TEST(Keys, chosen_without_the_seed_lie_as_keys_at_random) {
  const std::uint64_t first = seed_or(41);
  WEIR_TRACE_SEED(first);
  std::mt19937_64 random(first);
  using Samples = std::array<Sample, figure_names.size()>;
  Samples drawn;
  const auto take = [&](Samples &samples, const Addresses &addresses) {
    const Figures f = figures_of(addresses, random(), random);
    for (std::size_t i = 0; i < f.size(); ++i) samples[i].add(f[i]);
  };
  for (unsigned i = 0; i < seeds; ++i) take(drawn, at_random(random));
  for (const std::size_t i : {0, 3, 4, 5, 6, 7}) EXPECT_GT(drawn[i].mean(), 10) << figure_names[i];
  for (const Choice &choice : choices()) {
    SCOPED_TRACE(choice.name);
    Samples chosen;
    for (unsigned i = 0; i < seeds; ++i) take(chosen, choice.draw(random));
    for (std::size_t i = 0; i < chosen.size(); ++i) expect_alike(chosen[i], drawn[i], figure_names[i]);
  }
}

// How often two keys of a given difference share a line, over seeds: by chance one in as many as there are
// lines.
TEST(Keys, of_a_chosen_difference_share_a_line_as_often_as_any) {
  const std::uint64_t first = seed_or(42);
  WEIR_TRACE_SEED(first);
  std::mt19937_64 random(first);
  constexpr std::uint32_t lines = 64;
  constexpr unsigned pairs = 200'000;
  std::vector<std::uint32_t> differences;
  for (unsigned bit = 0; bit < 32; ++bit) {
    differences.push_back(1u << bit);
    differences.push_back(difference_for(1u << bit));
    differences.push_back(difference_for(~0u << bit));
  }
  EXPECT_EQ(std::set(differences.begin(), differences.end()).size(), differences.size() - 1)
      << "the highest bit stands there twice, and difference_for is one to one";
  const double expected = double{pairs} / lines, deviation = std::sqrt(expected);
  for (const std::uint32_t difference : differences) {
    unsigned line1 = 0, line2 = 0;
    for (unsigned i = 0; i < pairs; ++i) {
      const std::uint64_t seed = length_seed(random(), 32);
      const auto a = static_cast<std::uint32_t>(random());
      const KeyHash x = hash_v4(a, seed), y = hash_v4(a ^ difference, seed);
      line1 += reduce(table::half1(x), lines) == reduce(table::half1(y), lines);
      line2 += reduce(table::half2(x), lines) == reduce(table::half2(y), lines);
    }
    EXPECT_NEAR(line1, expected, 6.5 * deviation) << std::hex << difference;
    EXPECT_NEAR(line2, expected, 6.5 * deviation) << std::hex << difference;
  }
}

// The same count for a hash that ends after its first multiplication: the test above would see it.
TEST(Keys, of_a_chosen_difference_would_share_lines_under_half_of_the_hash) {
  const std::uint64_t first = seed_or(43);
  WEIR_TRACE_SEED(first);
  std::mt19937_64 random(first);
  constexpr std::uint32_t lines = 64;
  constexpr unsigned pairs = 20'000;
  const auto half = [](std::uint32_t wire, std::uint64_t flip) {
    std::uint64_t h = (wire | std::uint64_t{wire} << 32) ^ flip;
    h ^= std::rotl(h, 49) ^ std::rotl(h, 24);
    return KeyHash{h * xxh3::rrmxmx_factor};
  };
  const std::uint32_t difference = difference_for(1u << 31);
  double farthest = 0;
  for (const auto part : {table::half1, table::half2}) {
    unsigned shared = 0;
    for (unsigned i = 0; i < pairs; ++i) {
      const std::uint64_t flip = random();
      const auto a = static_cast<std::uint32_t>(random());
      shared += reduce(part(half(a, flip)), lines) == reduce(part(half(a ^ difference, flip)), lines);
    }
    farthest = std::max(farthest, std::abs(shared - double{pairs} / lines));
  }
  EXPECT_GT(farthest, 6.5 * std::sqrt(double{pairs} / lines));
}

// ---- a seed that leaked -------------------------------------------------------------------------

// `count` addresses that share both lines under `seed`, in tables of so many lines.
Addresses colliding(std::uint64_t seed, std::uint32_t lines1, unsigned count) {
  Addresses found;
  const std::uint64_t of_hosts = length_seed(seed, 32);
  for (std::uint32_t a = 0x01000000; found.size() < count; ++a)
    if (reduce(table::half1(hash_v4(byteswap32(a), of_hosts)), lines1) == 0 &&
        reduce(table::half2(hash_v4(byteswap32(a), of_hosts)), 16) == 0)
      found.push_back(a);
  return found;
}

TEST(Keys, that_all_share_their_lines_under_a_seed_that_leaked_are_built_with_another) {
  constexpr std::uint64_t leaked = 0x1EAC;
  constexpr unsigned count = 400; // far beyond two lines and the stash
  const std::uint32_t lines1 = build::table_size<table::LineV4>(count).lines1;
  ASSERT_EQ(build::table_size<table::LineV4>(count).lines2, 16u);
  const Addresses chosen = colliding(leaked, lines1, count);
  const TestImage image(rules_of(chosen), {.seed = leaked, .front_filter = true});
  EXPECT_GT(image.report().attempts, 1u) << "they do collide";
  for (const std::uint32_t a : chosen) {
    const auto value = image::lookup(image.view(), Side::deny, Address::from_host(a));
    ASSERT_TRUE(table::value::is_set(value)) << a;
  }
  unsigned absent = 0;
  for (std::uint32_t a = 0x02000000; a < 0x02000000 + 5000; ++a) {
    if (std::ranges::binary_search(chosen, a)) continue;
    ++absent;
    ASSERT_FALSE(table::value::is_set(image::lookup(image.view(), Side::deny, Address::from_host(a))));
  }
  EXPECT_GT(absent, 4000u);
}

TEST(Keys, that_share_a_bucket_of_a_filter_under_a_seed_that_leaked_are_built_with_another) {
  constexpr std::uint64_t leaked = 0x1EAC;
  const filter::CuckooShape shape{.buckets = 64, .fingerprint_bits = 8};
  Addresses chosen; // with two buckets of four slots for all of them
  for (std::uint32_t a = 0x01000000; chosen.size() < 100; ++a) {
    const auto place = shape.place_of(hash_v4(byteswap32(a), length_seed(leaked, 32)));
    if (place.bucket == 0 && place.fingerprint == 1) chosen.push_back(a);
  }
  RuleSet rules = rules_of(chosen);
  rules.lists[0].side = Side::allow;
  const TestImage image(rules, {.seed = leaked, .guard = build::CuckooParams{chosen.size(), shape}});
  EXPECT_GT(image.report().attempts, 1u) << "they do collide";
  for (const std::uint32_t a : chosen) {
    EXPECT_TRUE(image.view().allow_filter.contains(image.view().hash(byteswap32(a), 32)));
    EXPECT_TRUE(table::value::is_set(image::lookup(image.view(), Side::allow, Address::from_host(a))));
  }
}

// The stack belongs to the seed of the tables: whoever builds takes another for both.
TEST(Keys, that_share_their_lines_behind_a_stack_are_refused_with_a_sentence) {
  constexpr std::uint64_t leaked = 0x1EAC;
  constexpr unsigned count = 400;
  const Addresses chosen = colliding(leaked, build::table_size<table::LineV4>(count).lines1, count);
  const auto built = [&](std::uint64_t seed) -> std::string {
    try {
      const TestImage image(rules_of(chosen),
                            {.seed = seed, .stack = plan_of({}, image::DenyFilterRole::front)});
      return "";
    } catch (const std::runtime_error &error) {
      return error.what();
    }
  };
  EXPECT_NE(built(leaked).find("build both with another"), std::string::npos) << built(leaked);
  EXPECT_EQ(built(leaked + 1), "");
}

TEST(Keys, that_are_added_to_an_image_whose_seed_leaked_go_in_or_ask_for_another_image) {
  constexpr std::uint64_t leaked = 0x1EAC;
  TestImage image(rules_of({0x0B000001, 0x0B000002}), {.seed = leaked, .front_filter = true});
  const auto &table = image.view().v4[Side::deny].table;
  ASSERT_EQ(table.count2, 16u);
  const Addresses chosen = colliding(leaked, table.count1, 400);
  auto writer = image::ImageWriter::attach(image.bytes(), [] {}).value();
  unsigned in_force = 0, refused = 0;
  for (const std::uint32_t a : chosen) {
    image::Delta d;
    d.op = image::DeltaOp::set;
    d.side = Side::deny;
    d.family = Family::ipv4;
    d.length = 32;
    d.address = Address::from_host(a).bytes;
    const image::Change change = writer.apply(d);
    const bool expected = change != image::Change::needs_rebuild;
    ++(expected ? in_force : refused);
    ASSERT_EQ(table::value::is_set(image::lookup(writer.view(), Side::deny, Address::from_host(a))), expected)
        << a;
  }
  EXPECT_GT(in_force, 16u) << "two lines";
  EXPECT_GT(refused, 0u) << "they do collide";
  const TestImage rebuilt(rules_of(chosen), {.seed = leaked + 1, .front_filter = true});
  EXPECT_EQ(rebuilt.report().attempts, 1u) << "another seed has room for all";
}

} // namespace
} // namespace weir::test::keys_test
