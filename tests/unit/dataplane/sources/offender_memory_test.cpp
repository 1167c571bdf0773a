// The memory of offenders: it holds what its plan says, with one thread and with two, over a save and a load, and knows its shape.
#include "dataplane/sources/offender_memory.hpp"

#include "tests/support/offenders_case.hpp"
#include "tests/support/seed.hpp"
#include "weir/key/text.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace weir::test::offender_memory_test {
namespace {

using dataplane::Mark;
using dataplane::Marks;
using dataplane::OffenderDesk;
using dataplane::OffenderMemory;
using dataplane::Shadow;
using dataplane::SourceRates;

Address v4(std::uint32_t host) { return Address::from_wire(byteswap32(host)); }
KeyHash key_of(std::uint64_t i, std::uint64_t seed) { return {remix({i}, seed)}; }

struct Held {
  AlignedSection section;
  image::OffendersView view;
  std::shared_ptr<OffenderMemory> memory;
  explicit Held(const OffendersCase &c, unsigned workers = 1)
      : section(c.section()), view(image::OffendersView::attach(section.bytes()).value()),
        memory(OffenderMemory::make(view, workers).value()) {}

  void tell(std::uint64_t from, std::uint64_t to, std::uint64_t seed) const {
    for (std::uint64_t i = from; i < to; ++i) {
      const KeyHash key = key_of(i, seed);
      const float score = score_of(i);
      memory->insert_batch({&key, 1}, {&score, 1});
    }
  }
  [[nodiscard]] bool knows(std::uint64_t i, std::uint64_t seed) const {
    return memory->contains(key_of(i, seed), score_of(i));
  }
  static float score_of(std::uint64_t i) { return i % 2 == 0 ? -1.0F : 1.0F; } // both groups
};

struct Errors {
  double missed = 0, accepted = 0;
};
// Of keys told a gap ago, and of others.
Errors errors_of(const Held &held, std::uint64_t told, std::uint64_t gap, std::uint64_t seed) {
  Errors errors;
  const std::uint64_t asked = std::min<std::uint64_t>(gap / 10, 2000), others = 200'000;
  for (std::uint64_t i = 0; i < asked; ++i) errors.missed += held.knows(told - gap + i, seed) ? 0 : 1;
  for (std::uint64_t i = 0; i < others; ++i) errors.accepted += held.knows((1ull << 40) + i, seed) ? 1 : 0;
  return {errors.missed / double(asked), errors.accepted / double(others)};
}

class OffenderMemoryOf : public testing::TestWithParam<OffenderFilter> {
protected:
  static OffendersCase learned() {
    OffendersCase c;
    c.filter = GetParam();
    c.targets = {.accepted = 0.02, .missed = 0.1, .gap = 20'000};
    c.trees = one_split(10, 1, 128, -1, 1);
    return c;
  }
};

TEST_P(OffenderMemoryOf, errs_as_planned_on_a_stream_that_does_not_end) {
  const std::uint64_t seed = seed_or(11);
  WEIR_TRACE_SEED(seed);
  OffendersCase c = learned();
  c.seed = seed;
  const Held held(c);
  const std::uint64_t told = 10 * c.targets.gap;
  held.tell(0, told, seed);
  const Errors errors = errors_of(held, told, c.targets.gap, seed);
  EXPECT_LT(errors.accepted, 1.1 * c.targets.accepted);
  EXPECT_GT(errors.accepted, 0.3 * c.targets.accepted) << "much more memory than it needs";
  EXPECT_LT(errors.missed, GetParam() == OffenderFilter::rotating ? 0 + 1e-12 : 1.25 * c.targets.missed);
}

TEST_P(OffenderMemoryOf, two_threads_tell_it_and_few_of_their_keys_are_lost) {
  const std::uint64_t seed = seed_or(12);
  WEIR_TRACE_SEED(seed);
  const OffendersCase c = learned();
  const std::uint64_t gap = c.targets.gap, told = 4 * gap;
  const Held one(c), two(c, 2);
  one.tell(0, told, seed);
  {
    // In step, so that each group sees its share of every turn.
    std::array<std::atomic<std::uint64_t>, 2> at{};
    const auto work = [&](std::uint64_t begin) {
      for (std::uint64_t i = begin; i < told; i += 2) {
        at[begin] = i;
        while (at[1 - begin] + 200 < i) std::this_thread::yield();
        two.tell(i, i + 1, seed);
      }
      at[begin] = told;
    };
    const std::jthread a(work, 0), b(work, 1);
  }
  EXPECT_EQ(two.memory->told(), told);
  // The last keys of both threads, told within half a gap whatever they overtook.
  double lost = 0, lost_by_one = 0;
  for (std::uint64_t i = 0; i < gap / 4; ++i) {
    lost += two.knows(told - 1 - i, seed) ? 0 : 1;
    lost_by_one += one.knows(told - 1 - i, seed) ? 0 : 1;
  }
  EXPECT_LT(lost, lost_by_one + 0.02 * double(gap / 4));
  EXPECT_LT(errors_of(two, told, gap, seed).accepted, 1.15 * c.targets.accepted);
}

TEST_P(OffenderMemoryOf, what_was_saved_answers_alike_and_goes_on_alike) {
  const std::uint64_t seed = seed_or(13);
  WEIR_TRACE_SEED(seed);
  const OffendersCase c = learned();
  const Held held(c), loaded(c);
  held.tell(0, 50'000, seed);
  ASSERT_TRUE(held.memory->marks().set(v4(7), Mark::marked, 0, 1));
  ASSERT_TRUE(loaded.memory->restore(held.memory->saved()));
  EXPECT_TRUE(loaded.memory->was_restored());
  EXPECT_EQ(loaded.memory->told(), held.memory->told());
  EXPECT_EQ(loaded.memory->marks().of(v4(7)), Mark::marked);
  held.tell(50'000, 100'000, seed);
  loaded.tell(50'000, 100'000, seed);
  for (std::uint64_t i = 0; i < 110'000; ++i) ASSERT_EQ(held.knows(i, seed), loaded.knows(i, seed)) << i;
}

INSTANTIATE_TEST_SUITE_P(Filters, OffenderMemoryOf,
                         testing::Values(OffenderFilter::rotating, OffenderFilter::stable),
                         [](const auto &param) { return std::string(name_of(param.param)); });

TEST(OffenderMemory, takes_no_words_of_another_shape_but_their_marks) {
  OffendersCase c, other;
  other.targets.gap = 2 * c.targets.gap;
  const Held held(c), another(other);
  held.tell(0, 100, 1);
  ASSERT_TRUE(held.memory->marks().set(v4(7), Mark::marked, 0, 1));
  const auto words = held.memory->saved();
  EXPECT_FALSE(another.memory->restore(words));
  EXPECT_FALSE(another.memory->restore(std::span(words).first(1)));
  EXPECT_EQ(another.memory->told(), 0u);
  another.memory->restore_marks(words);
  EXPECT_EQ(another.memory->marks().of(v4(7)), Mark::marked);
}

TEST(OffenderMemory, a_key_that_is_asked_under_another_score_is_missed) {
  OffendersCase c;
  c.trees = one_split(10, 1, 128, -1, 1);
  const Held held(c);
  const KeyHash key = key_of(1, 1);
  const float told = -1, asked = 1;
  held.memory->insert_batch({&key, 1}, {&told, 1});
  EXPECT_TRUE(held.memory->contains(key, told));
  EXPECT_FALSE(held.memory->contains(key, asked)) << "a score has to be a function of what is remembered";
}

TEST(Marks, hold_what_people_said_and_make_room_of_what_is_outlived) {
  Marks marks(5);
  EXPECT_TRUE(marks.empty());
  EXPECT_TRUE(marks.set(v4(1), Mark::marked, 0, 10));
  EXPECT_TRUE(marks.set(v4(2), Mark::forgotten, 0, 10));
  EXPECT_EQ(marks.of(v4(1)), Mark::marked);
  EXPECT_EQ(marks.of(v4(2)), Mark::forgotten);
  EXPECT_EQ(marks.of(v4(3)), Mark::none);
  EXPECT_EQ(marks.of(parse_address("::1").value()), Mark::none);
  marks.lift(v4(1));
  EXPECT_EQ(marks.of(v4(1)), Mark::marked) << "what is told does not end a mark";
  marks.lift(v4(2));
  EXPECT_EQ(marks.of(v4(2)), Mark::none);
  EXPECT_TRUE(marks.set(v4(1), Mark::none, 0, 10));
  EXPECT_EQ(marks.of(v4(1)), Mark::none);
  EXPECT_TRUE(marks.empty());

  unsigned taken = 0;
  for (std::uint32_t i = 0; i < 3 * Marks::most; ++i)
    taken += marks.set(v4(i), Mark::forgotten, 100, 10) ? 1 : 0;
  EXPECT_LE(taken, Marks::most);
  EXPECT_GT(taken, Marks::most / 2);
  EXPECT_EQ(marks.size(Mark::forgotten), taken);
  unsigned later = 0;
  for (std::uint32_t i = 0; i < 1000; ++i)
    later += marks.set(v4(0x100000 + i), Mark::marked, 200, 10) ? 1 : 0;
  EXPECT_EQ(later, 1000u) << "what was forgotten long ago makes room";
}

TEST(Shadow, knows_when_a_key_was_told) {
  constexpr std::uint64_t gap = 10'000;
  Shadow shadow(gap);
  std::vector<KeyHash> keys;
  for (std::uint64_t i = 0; keys.size() < 100; ++i)
    if (const KeyHash key = key_of(i, 3); Shadow::has(key)) keys.push_back(key);
  std::uint64_t now = 0;
  for (const KeyHash key : keys) shadow.tell(key, now++);
  unsigned within = 0, before = 0, never = 0;
  for (const KeyHash key : keys) {
    within += shadow.knows(key, now) == Shadow::Knows::within ? 1 : 0;
    before += shadow.knows(key, now + 2 * gap) == Shadow::Knows::before ? 1 : 0;
    never += shadow.knows(key, now + 9 * gap) == Shadow::Knows::never ? 1 : 0;
  }
  EXPECT_GE(within, 95u);
  EXPECT_GE(before, 95u);
  EXPECT_EQ(never, 100u);
  EXPECT_EQ(shadow.knows(key_of(1u << 30, 3), now), Shadow::Knows::never);
}

TEST(Shadow, has_one_key_in_64) {
  unsigned has = 0;
  for (std::uint64_t i = 0; i < 640'000; ++i) has += Shadow::has(key_of(i, 4)) ? 1 : 0;
  EXPECT_NEAR(has, 10'000, 500);
}

TEST(SourceRates, finds_who_sends_more_and_never_overstates) {
  SourceRates rates;
  const KeyHash heavy = key_of(1, 5);
  unsigned found = 0;
  for (unsigned i = 0; i < 1000; ++i) {
    found += rates.exceeds(heavy, 7, 600) ? 1 : 0;
    EXPECT_FALSE(rates.exceeds(key_of(2 + i, 5), 7, 1));
  }
  EXPECT_GE(found, 350u);
  EXPECT_LE(found, 400u);
  EXPECT_FALSE(rates.exceeds(heavy, 8, 600)) << "a second begins anew";
  KeyHash beside = heavy;
  beside.bits ^= 1ull << 40; // the same place
  unsigned beside_found = 0;
  for (unsigned i = 0; i < 1000; ++i) {
    beside_found += rates.exceeds(beside, 9, 10) ? 1 : 0;
    (void)rates.exceeds(heavy, 9, 10);
  }
  EXPECT_EQ(beside_found, 0u) << "neither sends more than the other";
}

TEST(OffenderDesk, a_bucket_lets_its_rate_pass_and_no_more) {
  const auto desk = std::make_unique<OffenderDesk>(1000);
  constexpr std::uint64_t ms = 1'000'000;
  unsigned passed = 0;
  for (std::uint64_t t = 0; t < 10'000; ++t) passed += desk->takes_token(3, (5000 + t) * ms, 100, 20) ? 1 : 0;
  EXPECT_NEAR(passed, 20 + 10 * 100, 2);
  EXPECT_TRUE(desk->takes_token(4, 15'000 * ms, 100, 20)) << "each group has its own";
}

} // namespace
} // namespace weir::test::offender_memory_test
