// Readers against a writer that gives a few /16s new ranges all the time, out of so few spare lines that
// these are taken again as soon as they may be. Readers work in passes, like the packet pipeline: entrances and
// first lines of a whole burst, then what the lines say.
//
// A change replaces all ranges of a /16 by others of one version: answers of two versions in one address's way, or
// an answer that does not belong to its address, are wrong. Both orders of the writer are proven to matter: lines
// that are taken again without a grace period, and a cell or a place that is stored before its lines, must be seen.
#include "tests/support/quiescence.hpp"
#include "tests/support/range_section.hpp"
#include "tests/support/seed.hpp"
#include "weir/table/range_prefix.hpp"
#include "weir/table/range_writer_v4.hpp"
#include "weir/table/range_writer_v6.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <random>
#include <thread>

namespace weir::table::range_race_test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned readers = 2, burst_questions = 32;
constexpr std::uint32_t sixteens = 6, first_sixteen = 0x0A00;

using Quiescence = test::Quiescence<readers>;

struct ReusesAtOnce {
  static constexpr bool waits_before_reuse = false, stores_lines_first = true;
};
struct StoresTheEntranceFirst {
  static constexpr bool waits_before_reuse = true, stores_lines_first = false;
};

// Version v of a /16 has 2^(v % 11) ranges. The answer to an address names /16 and range: a list from both, and
// the number of ranges in place of a length.
std::uint32_t value_of(std::uint32_t sixteen, unsigned log2_ranges, std::uint32_t range) {
  return value::make(ListId(static_cast<std::uint16_t>(sixteen % sixteens * 1024 + range)), log2_ranges);
}

// A part of a section: where a layout says that it begins, and its bytes as built.
template <class Layout> struct Part {
  std::uint64_t Layout::*at;
  std::uint64_t bytes;
};
// A map of one prefix for each /16, with room for all versions in the dictionary, and for few lines.
template <class F> test::AlignedBytes make_section() {
  const test::AlignedBytes built = test::range_section<typename F::Plan>(F::entries());
  auto header = *reinterpret_cast<const typename F::Header *>(built.bytes().data());
  const auto from = F::layout(header);
  header.values = sixteens * 2048 + 8;
  header.lines = header.lines_used + F::spare_lines;
  const auto to = F::layout(header);
  test::AlignedBytes section(to.bytes);
  std::memset(section.bytes().data(), 0, to.bytes);
  std::memcpy(section.bytes().data(), &header, sizeof header);
  for (const auto &part : F::parts(header))
    std::memcpy(section.bytes().data() + to.*part.at, built.bytes().data() + from.*part.at, part.bytes);
  return section;
}

struct V4 {
  using Map = RangeMapV4;
  using Header = RangeHeaderV4;
  template <class Protocol> using Writer = RangeWriterV4<Protocol>;

  using Plan = build::RangePlanV4;
  static constexpr std::uint32_t spare_lines = 2 * 76;

  static std::vector<build::EntryV4> entries() {
    std::vector<build::EntryV4> entries;
    for (std::uint32_t c = 0; c < sixteens; ++c)
      entries.push_back({(first_sixteen + c) << 16, 16, 0, ListId(static_cast<std::uint16_t>(c))});
    return entries;
  }
  static RangeLayoutV4 layout(const Header &h) { return range_layout_v4(h.values, h.lines, h.covering); }
  static std::array<Part<RangeLayoutV4>, 3> parts(const Header &h) {
    return {{{&RangeLayoutV4::values, h.values_used * 4},
             {&RangeLayoutV4::cells, range_cells * 8},
             {&RangeLayoutV4::lines, h.lines_used * 64}}};
  }
  static auto put(auto &writer, std::uint32_t sixteen, unsigned log2_ranges) {
    std::vector<CellRange> out;
    for (std::uint32_t r = 0; r < 1u << log2_ranges; ++r)
      out.push_back({static_cast<std::uint16_t>(r << (16 - log2_ranges)), value_of(sixteen, log2_ranges, r)});
    return writer.put(sixteen, out);
  }
  static std::uint32_t some_question(std::uint32_t sixteen, std::mt19937_64 &random) {
    return byteswap32(static_cast<std::uint32_t>(sixteen << 16 | (random() & 0xFFFF)));
  }
  static std::uint32_t sixteen_of(std::uint32_t wire) { return byteswap32(wire) >> 16; }
  static std::uint32_t range_of(std::uint32_t wire, unsigned log2_ranges) {
    return (byteswap32(wire) & 0xFFFF) >> (16 - log2_ranges);
  }
};

// All ranges are below one /32, but for those around it, which are as its first one.
struct V6 {
  using Map = RangeMapV6;
  using Header = RangeHeaderV6;
  template <class Protocol> using Writer = RangeWriterV6<Protocol>;
  static constexpr std::uint64_t crowd = 1; // the second 16 bits of that /32

  using Plan = build::RangePlanV6;
  static constexpr std::uint32_t spare_lines = 2 * 200;

  static std::vector<build::EntryV6> entries() {
    std::vector<build::EntryV6> entries;
    for (std::uint32_t c = 0; c < sixteens; ++c)
      entries.push_back({{static_cast<std::uint8_t>(first_sixteen >> 8), static_cast<std::uint8_t>(c)},
                         16,
                         0,
                         ListId(static_cast<std::uint16_t>(c))});
    return entries;
  }
  static RangeLayoutV6 layout(const Header &h) {
    return range_layout_v6(h.values, h.array, h.lines, h.covering, h.host_marks);
  }
  static std::array<Part<RangeLayoutV6>, 4> parts(const Header &h) {
    return {{{&RangeLayoutV6::values, h.values_used * 4},
             {&RangeLayoutV6::roots, range_cells * 4},
             {&RangeLayoutV6::array, h.array * 4},
             {&RangeLayoutV6::lines, h.lines_used * 64}}};
  }
  static auto put(auto &writer, std::uint32_t sixteen, unsigned log2_ranges) {
    const std::uint64_t base = std::uint64_t{sixteen} << 48;
    std::vector<PlaceRange> out{{{base, 0}, value_of(sixteen, log2_ranges, 0)}};
    for (std::uint64_t r = 1; r < 1u << log2_ranges; ++r)
      out.push_back({{base | crowd << 32 | r << (32 - log2_ranges), 0},
                     value_of(sixteen, log2_ranges, static_cast<std::uint32_t>(r))});
    if (log2_ranges != 0) out.push_back({{base | (crowd + 1) << 32, 0}, out[0].value});
    return writer.put(sixteen, 0, out);
  }
  static KeyV6 some_question(std::uint32_t sixteen, std::mt19937_64 &random) {
    const std::uint64_t below = random() % 8 == 0 ? random() % 4 : crowd;
    return question_of(AddressV6{std::uint64_t{sixteen} << 48 | below << 32 | (random() & 0xFFFF'FFFF), 0});
  }
  static std::uint32_t sixteen_of(const KeyV6 &q) {
    return static_cast<std::uint32_t>(address_of(q).high >> 48);
  }
  static std::uint32_t range_of(const KeyV6 &q, unsigned log2_ranges) {
    const std::uint64_t address = address_of(q).high;
    if ((address >> 32 & 0xFFFF) != crowd) return 0;
    return static_cast<std::uint32_t>(address & 0xFFFF'FFFF) >> (32 - log2_ranges) &
           ((1u << log2_ranges) - 1);
  }
};

template <class F> bool belongs(const typename F::Map::Question &question, std::uint32_t found) {
  const unsigned log2_ranges = value::length_of(found);
  if (log2_ranges == 0) return found == value_of(F::sixteen_of(question), 0, 0);
  return log2_ranges <= 10 &&
         found == value_of(F::sixteen_of(question), log2_ranges, F::range_of(question, log2_ranges));
}

struct Seen {
  std::uint64_t lookups = 0, wrong = 0;
};

template <class F>
void read_until_stopped(const typename F::Map &map, std::uint32_t lines, Quiescence &quiescence,
                        unsigned self, std::uint64_t seed, Seen &seen) {
  std::mt19937_64 random(seed);
  while (!quiescence.stop.load()) {
    std::array<typename F::Map::Question, burst_questions> questions;
    std::array<const RangeLine *, burst_questions> first;
    for (unsigned i = 0; i < burst_questions; ++i) {
      questions[i] =
          F::some_question(static_cast<std::uint32_t>(first_sixteen + random() % sixteens), random);
      first[i] = map.first_line(*map.entrance(questions[i]), questions[i]);
    }
    if (random() % 8 == 0) std::this_thread::yield(); // other bursts are at work meanwhile
    for (unsigned i = 0; i < burst_questions; ++i) {
      const RangeLine *line = first[i];
      std::uint16_t said = map.step(*line, questions[i]);
      while (leads_on(said) && line - map.lines() + lines_ahead(said) < lines) {
        line += lines_ahead(said);
        said = map.step(*line, questions[i]);
      }
      const std::uint32_t found = leads_on(said) ? 0 : map.value(said);
      seen.wrong +=
          value::is_set(found) && (value::length_of(found) == 16 || belongs<F>(questions[i], found)) ? 0 : 1;
    }
    seen.lookups += burst_questions;
    quiescence.passed[self].fetch_add(1);
  }
}

struct Outcome {
  Seen seen;
  std::uint64_t changes = 0, waits = 0;
};

// Changes so many times or, looking for trouble, until some is seen or `limit` has passed.
template <class F, class Protocol>
Outcome churn(std::uint64_t seed, std::uint64_t changes, bool until_trouble) {
  const test::AlignedBytes section = make_section<F>();
  const auto map = test::attached<typename F::Map>(section.bytes());
  const std::uint32_t lines = map.header().lines;
  using Writer = typename F::template Writer<Protocol>;
  auto writer = *Writer::adopt(section.bytes());
  Quiescence quiescence;
  std::array<Seen, readers> seen;
  std::vector<std::thread> threads;
  for (unsigned r = 0; r < readers; ++r)
    threads.emplace_back([&, r] { read_until_stopped<F>(map, lines, quiescence, r, seed + r, seen[r]); });
  std::mt19937_64 random(seed + 100);
  Outcome out;
  const auto end = Clock::now() + std::chrono::minutes(5);
  const auto trouble = [&] { // racy on purpose: a hint to stop early
    std::uint64_t n = 0;
    for (const Seen &s : seen) n += __atomic_load_n(&s.wrong, __ATOMIC_RELAXED);
    return n != 0;
  };
  while (Clock::now() < end && (until_trouble ? !trouble() : out.changes < changes)) {
    const auto sixteen = static_cast<std::uint32_t>(first_sixteen + random() % sixteens);
    const auto log2_ranges = 1 + static_cast<unsigned>(random() % (random() % 4 ? 6 : 10));
    if (F::put(writer, sixteen, log2_ranges) == Writer::Put::changed) {
      ++out.changes;
      continue;
    }
    if (writer.retired_lines() == 0) { // others fill all lines: make room
      (void)F::put(writer, sixteen, 0);
    }
    quiescence.wait();
    writer.grace_passed();
    ++out.waits;
  }
  quiescence.stop = true;
  for (std::thread &t : threads) t.join();
  for (const Seen &s : seen) {
    out.seen.lookups += s.lookups;
    out.seen.wrong += s.wrong;
  }
  return out;
}

template <class F> class RangeRace : public testing::Test {};
using Families = testing::Types<V4, V6>;
TYPED_TEST_SUITE(RangeRace, Families);

TYPED_TEST(RangeRace, readers_see_a_16_before_or_after_a_change_and_nothing_between) {
  const std::uint64_t seed = test::seed_or(1);
  WEIR_TRACE_SEED(seed);
  const Outcome o = churn<TypeParam, SafeRanges>(seed, 20'000, false);
  EXPECT_EQ(o.seen.wrong, 0u) << "of " << o.seen.lookups << " lookups";
  EXPECT_GE(o.changes, 20'000u);
  EXPECT_GT(o.waits, 100u) << "lines were never short";
  EXPECT_GT(o.seen.lookups, 10'000u);
}

TYPED_TEST(RangeRace, lines_that_are_taken_again_without_a_grace_period_is_caught) {
  const std::uint64_t seed = test::seed_or(2);
  WEIR_TRACE_SEED(seed);
  const Outcome o = churn<TypeParam, ReusesAtOnce>(seed, 0, true);
  EXPECT_GT(o.seen.wrong, 0u) << o.seen.lookups << " lookups, " << o.changes << " changes";
}

TYPED_TEST(RangeRace, an_entrance_that_is_stored_before_its_lines_is_caught) {
  const std::uint64_t seed = test::seed_or(3);
  WEIR_TRACE_SEED(seed);
  const Outcome o = churn<TypeParam, StoresTheEntranceFirst>(seed, 0, true);
  EXPECT_GT(o.seen.wrong, 0u) << o.seen.lookups << " lookups, " << o.changes << " changes";
}

} // namespace
} // namespace weir::table::range_race_test
