// Bursts of questions to range maps, by every set of kernels that this processor can run, against single
// questions.
#include "tests/support/longest_match.hpp"
#include "tests/support/range_section.hpp"
#include "tests/support/seed.hpp"
#include "weir/lookup/kernels/choose.hpp"
#include "weir/lookup/range_burst.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <memory>

namespace weir::range_burst_test {
namespace {

using build::EntryV4, build::EntryV6, build::RangePlanV4, build::RangePlanV6;
using lookup::Kernels, lookup::RangeBurst, table::RangeMapV4, table::RangeMapV6;

constexpr unsigned room = 64;
constexpr std::uint32_t untouched = 0xEEEE'EEEE;

struct V4 {
  using Entry = EntryV4;
  using Plan = RangePlanV4;
  using Map = RangeMapV4;
  static std::uint32_t question(const Address &a) { return a.wire(); }
};
struct V4Points : V4 {
  using Plan = test::PointsPlanV4;
};
struct V6 {
  using Entry = EntryV6;
  using Plan = RangePlanV6;
  using Map = RangeMapV6;
  static table::KeyV6 question(const Address &a) { return table::KeyV6::load(a.bytes.data()); }
};

template <class F> class RangeBurstTest : public testing::Test {
protected:
  using Map = typename F::Map;
  using Questions = std::array<typename Map::Question, room>;
  using Values = std::array<std::uint32_t, room>;

  const std::uint64_t seed = test::seed_or(77);
  std::mt19937_64 random{seed};
  // Every depth: a crowd of hosts below one /16, and nests all over.
  std::vector<typename F::Entry> entries = [this] {
    auto all = test::random_entries<typename F::Entry>(random, 4000, 30);
    for (unsigned i = 0; i < 6000; ++i) {
      Address a = test::prefix_of(typename F::Entry{}).address;
      const unsigned bytes = address_bytes(a.family);
      a.bytes[0] = 10;
      for (unsigned byte = bytes - 2; byte < bytes; ++byte)
        a.bytes[byte] = static_cast<std::uint8_t>(random());
      all.push_back(test::entry_of({a, static_cast<std::uint8_t>(bytes * 8)},
                                   static_cast<std::uint16_t>(i % 99), typename F::Entry{}));
    }
    return test::in_order(std::move(all));
  }();
  const std::vector<Address> places = test::boundaries(entries);
  test::AlignedBytes section = test::range_section<typename F::Plan>(entries);
  Map map = test::attached<Map>(section.bytes());

  Questions some_questions() {
    Questions out;
    for (auto &q : out) {
      Address a = places[random() % places.size()];
      if (random() % 8 == 0)
        a.bytes[random() % address_bytes(a.family)] ^= static_cast<std::uint8_t>(random());
      q = F::question(a);
    }
    return out;
  }
  void expect_answers(const Questions &questions, unsigned count, const Values &values, const char *kernels) {
    for (unsigned i = 0; i < count; ++i)
      ASSERT_EQ(values[i], map.find(questions[i])) << kernels << ": " << i << " of " << count;
  }
};
using Families = testing::Types<V4, V4Points, V6>;
TYPED_TEST_SUITE(RangeBurstTest, Families);

TYPED_TEST(RangeBurstTest, every_number_of_questions_is_answered_as_single_ones_are) {
  WEIR_TRACE_SEED(this->seed);
  const auto burst = std::make_unique<RangeBurst<typename TypeParam::Map>>();
  for (const Kernels *kernels : lookup::available_kernels()) {
    for (unsigned round = 0; round < 4 * (room + 1); ++round) {
      const unsigned count = round % (room + 1);
      const auto questions = this->some_questions();
      typename TestFixture::Values values;
      values.fill(untouched);
      burst->ask(*kernels, this->map, questions.data(), count);
      burst->prefetch_words();
      burst->locate(*kernels);
      burst->prefetch_lines();
      burst->probe(*kernels);
      burst->finish(*kernels, values.data());
      this->expect_answers(questions, count, values, kernels->name);
      for (unsigned i = (count + 15) / 16 * 16; i < room; ++i) ASSERT_EQ(values[i], untouched);
    }
  }
}

// So many have been probed and are not finished that there is not room for all they are led on to.
TYPED_TEST(RangeBurstTest, bursts_of_all_sizes_in_flight_do_not_mix) {
  WEIR_TRACE_SEED(this->seed);
  constexpr unsigned in_flight = 8, bursts = 400;
  using Burst = RangeBurst<typename TypeParam::Map>;
  const auto ring = std::make_unique<std::array<Burst, in_flight>>();
  for (const Kernels *kernels : lookup::available_kernels()) {
    std::array<typename TestFixture::Questions, in_flight> questions;
    std::array<unsigned, in_flight> counts{};
    for (unsigned n = 0; n < bursts; ++n) {
      const auto at = [&](unsigned behind) -> unsigned { return (n + in_flight - behind) % in_flight; };
      questions[at(0)] = this->some_questions();
      counts[at(0)] = static_cast<unsigned>(this->random() % (room + 1));
      (*ring)[at(0)].ask(*kernels, this->map, questions[at(0)].data(), counts[at(0)]);
      if (n >= 1) (*ring)[at(1)].locate(*kernels);
      if (n < 3) continue;
      Burst *const ahead = n > 3 && this->random() % 8 != 0 ? &(*ring)[at(4)] : nullptr;
      (*ring)[at(3)].probe(*kernels, (*ring)[at(1)], (*ring)[at(0)], ahead);
      ASSERT_EQ((*ring)[at(3)].took_over(), ahead != nullptr);
      if (n < 7) continue;
      unsigned holder = 7;
      while (holder > 3 && (*ring)[at(holder - 1)].took_over()) --holder;
      typename TestFixture::Values values;
      (*ring)[at(7)].finish(*kernels, values.data(), &(*ring)[at(holder)]);
      this->expect_answers(questions[at(7)], counts[at(7)], values, kernels->name);
    }
  }
}

// Keys of a wide line have their high halves in common with the address, or are next to it.
void make_wide(table::RangeLine &line, const table::KeyV6 &address, std::mt19937_64 &random) {
  auto wide = std::bit_cast<table::WideRangeLine>(line);
  wide.first_window =
      static_cast<std::uint16_t>(table::range_wide + random() % (table::range_wide_window_max + 1));
  const table::WideKey key = RangeMapV6::wide_key(address, wide.first_window);
  for (unsigned k = 0; k < table::WideRangeLine::keys; ++k) {
    if (random() % 4 != 0) wide.high[k] = key.high + random() % 3 - 1;
    if (random() % 4 == 0) wide.low[k] = key.low;
  }
  line = std::bit_cast<table::RangeLine>(wide);
}

// Keys next to what is looked for, and any others.
void make_first(table::RangeLine &line, std::uint32_t key, std::mt19937_64 &random) {
  auto first = std::bit_cast<table::FirstLineV6>(line);
  first.kind = table::range_first;
  for (std::uint32_t &k : first.key)
    if (random() % 4 == 0) k = key + static_cast<std::uint32_t>(random() % 3) - 1;
  line = std::bit_cast<table::RangeLine>(first);
}

// Lines of no order, and values that lead anywhere: what a set of kernels makes of them is what all make.
TYPED_TEST(RangeBurstTest, lines_of_any_content_are_read_alike_by_all_kernels) {
  WEIR_TRACE_SEED(this->seed);
  constexpr bool is_v6 = std::is_same_v<TypeParam, V6>, points = std::is_same_v<TypeParam, V4Points>;
  using Key = std::conditional_t<is_v6, table::KeyV6, std::uint16_t>;
  using Open = lookup::RangeOpen<Key>;
  struct Read {
    std::uint64_t on = 0;
    std::array<std::uint16_t, room> said{}, said_further{};
    unsigned left = 0;
    std::vector<const table::RangeLine *> next;
    std::vector<const Key *> next_keys;
    std::vector<std::ptrdiff_t> next_places;
    typename TestFixture::Values values{}, further{};
    bool operator==(const Read &) const = default;
  };
  std::vector<table::RangeLine> first_lines(room), lines(room);
  std::vector<std::uint32_t> dictionary(0x8000);
  for (std::uint32_t &v : dictionary) v = static_cast<std::uint32_t>(this->random());
  dictionary[0] = 0;
  for (unsigned round = 0; round < 500; ++round) {
    const bool wide = is_v6 && round / 2 % 2 != 0; // some lines are
    std::array<typename TypeParam::Map::Key, room> keys;
    std::array<Key, room> whole;
    std::array<const table::RangeLine *, room> at;
    for (unsigned i = 0; i < room; ++i) {
      for (unsigned s = 0; s < table::RangeLine::slots; ++s) {
        lines[i].key[s] = static_cast<std::uint16_t>(round % 2 ? this->random() : 3 * s);
        lines[i].value[s] = static_cast<std::uint16_t>(this->random());
        if (points == table::leads_on(lines[i].value[s]))
          lines[i].value[s] &= ~table::range_point; // as in any map
      }
      at[i] = &first_lines[i];
      if constexpr (is_v6) {
        lines[i].key[0] = static_cast<std::uint16_t>(this->random() % 8);
        whole[i] = {this->random(), this->random()};
        keys[i] = RangeMapV6::key_of(whole[i]);
      } else {
        keys[i] = static_cast<std::uint16_t>(round % 2 ? this->random() : this->random() % 50);
        whole[i] = keys[i];
      }
    }
    first_lines = lines;
    if constexpr (is_v6)
      for (unsigned i = 0; i < room; ++i) {
        make_first(first_lines[i], keys[i], this->random);
        if (wide && this->random() % 2) make_wide(lines[i], whole[i * 5 % room], this->random);
      }
    const unsigned count = round % (room + 1);
    const auto read_by = [&](const Kernels &kernels) {
      Read out;
      const auto steps = [&] {
        if constexpr (is_v6)
          return kernels.ranges->steps_v6;
        else
          return points ? kernels.ranges->steps_v4_points : kernels.ranges->steps_v4;
      }();
      out.on = steps({at.data(), keys.data(), count, {}, {}, 0}, out.said.data());
      Open open, next;
      for (unsigned i = 0; i < room; ++i) {
        open.lines[i] = &lines[i];
        open.keys[i] = &whole[i * 5 % room];
        open.said[i] = &out.said_further[i * 3 % room];
      }
      if constexpr (is_v6)
        out.left = (wide ? kernels.ranges->follow_v6_wide : kernels.ranges->follow_v6)(open, count, next);
      else
        out.left = (points ? kernels.ranges->follow_v4_points : kernels.ranges->follow_v4)(open, count, next);
      const auto numbers = points ? kernels.ranges->numbers_points : kernels.ranges->numbers;
      numbers(dictionary.data(), out.said.data(), count, out.values.data());
      numbers(dictionary.data(), out.said_further.data(), room, out.further.data());
      if constexpr (points)
        for (auto *all : {&out.said, &out.said_further})
          for (std::uint16_t &said : *all) said = table::without_point(said);
      out.next.assign(next.lines.begin(), next.lines.begin() + out.left);
      out.next_keys.assign(next.keys.begin(), next.keys.begin() + out.left);
      for (unsigned n = 0; n < out.left; ++n)
        out.next_places.push_back(next.said[n] - out.said_further.data());
      return out;
    };
    const Read portable = read_by(lookup::portable_kernels);
    for (const Kernels *kernels : lookup::available_kernels())
      ASSERT_TRUE(read_by(*kernels) == portable) << kernels->name << ", " << count << " questions";
  }
}

} // namespace
} // namespace weir::range_burst_test
