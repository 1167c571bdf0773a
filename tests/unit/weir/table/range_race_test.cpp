// Readers against a writer that gives a few /16s of IPv4 new ranges all the time, out of so few spare lines that
// these are taken again as soon as they may be. Readers work in passes, like the packet pipeline: cells and
// first lines of a whole burst, then what the lines say.
//
// A change replaces all ranges of a /16 by others of one version: answers of two versions in one address's way, or
// an answer that does not belong to its address, are wrong. Both orders of the writer are proven to matter: lines
// that are taken again without a grace period, and a cell that is stored before its lines, must be seen.
#include "tests/support/quiescence.hpp"
#include "tests/support/range_section.hpp"
#include "tests/support/seed.hpp"
#include "weir/table/range_writer_v4.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <random>
#include <thread>

namespace weir::table::range_race_test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned readers = 2, burst_questions = 32;
constexpr std::uint32_t cells = 6, first_cell = 0x0A00;

using Quiescence = test::Quiescence<readers>;

struct ReusesAtOnce {
  static constexpr bool waits_before_reuse = false, stores_lines_first = true;
};
struct StoresTheCellFirst {
  static constexpr bool waits_before_reuse = true, stores_lines_first = false;
};

// Version v of a cell has 2^(v % 11) ranges. The answer to an address names cell and range: a list from both, and
// the number of ranges in place of a length.
std::uint32_t value_of(std::uint32_t cell, unsigned log2_ranges, std::uint32_t range) {
  return value::make(ListId(static_cast<std::uint16_t>(cell % cells * 1024 + range)), log2_ranges);
}
std::vector<CellRange> ranges_of(std::uint32_t cell, unsigned log2_ranges) {
  std::vector<CellRange> out;
  for (std::uint32_t r = 0; r < 1u << log2_ranges; ++r)
    out.push_back({static_cast<std::uint16_t>(r << (16 - log2_ranges)), value_of(cell, log2_ranges, r)});
  return out;
}
bool belongs(std::uint32_t host, std::uint32_t found) {
  const unsigned log2_ranges = value::length_of(found);
  return log2_ranges <= 10 &&
         found == value_of(host >> 16, log2_ranges, (host & 0xFFFF) >> (16 - log2_ranges));
}

// A map of one prefix for each cell, and a dictionary and lines with just enough room for all versions.
test::AlignedBytes make_section() {
  std::vector<build::EntryV4> entries;
  for (std::uint32_t c = 0; c < cells; ++c)
    entries.push_back({(first_cell + c) << 16, 16, 0, ListId(static_cast<std::uint16_t>(c))});
  const test::AlignedBytes built = test::range_section<build::RangePlanV4>(entries);
  RangeHeaderV4 header = *reinterpret_cast<const RangeHeaderV4 *>(built.bytes().data());
  const RangeLayoutV4 from = range_layout_v4(header.values, header.lines, header.covering);
  header.values = cells * 2048 + 8;
  header.lines = header.lines_used + 2 * 76;
  const RangeLayoutV4 to = range_layout_v4(header.values, header.lines, header.covering);
  test::AlignedBytes section(to.bytes);
  std::memset(section.bytes().data(), 0, to.bytes);
  std::memcpy(section.bytes().data(), &header, sizeof header);
  std::memcpy(section.bytes().data() + to.values, built.bytes().data() + from.values, header.values_used * 4);
  std::memcpy(section.bytes().data() + to.cells, built.bytes().data() + from.cells, range_cells * 8);
  std::memcpy(section.bytes().data() + to.lines, built.bytes().data() + from.lines, header.lines_used * 64);
  return section;
}

struct Seen {
  std::uint64_t lookups = 0, wrong = 0;
};

void read_until_stopped(const RangeMapV4 &map, std::uint32_t lines, Quiescence &quiescence, unsigned self,
                        std::uint64_t seed, Seen &seen) {
  std::mt19937_64 random(seed);
  while (!quiescence.stop.load()) {
    std::array<std::uint32_t, burst_questions> hosts;
    std::array<const RangeLine *, burst_questions> first;
    for (unsigned i = 0; i < burst_questions; ++i) {
      hosts[i] = static_cast<std::uint32_t>((first_cell + random() % cells) << 16 | (random() & 0xFFFF));
      const std::uint32_t wire = byteswap32(hosts[i]);
      first[i] = map.first_line(*map.entrance(wire), wire);
    }
    if (random() % 8 == 0) std::this_thread::yield(); // other bursts are at work meanwhile
    for (unsigned i = 0; i < burst_questions; ++i) {
      const auto key = static_cast<std::uint16_t>(hosts[i]);
      const RangeLine *line = first[i];
      std::uint16_t said = range_step(*line, key);
      while (leads_on(said) && line - map.lines() + lines_ahead(said) < lines) {
        line += lines_ahead(said);
        said = range_step(*line, key);
      }
      const std::uint32_t found = leads_on(said) ? 0 : map.value(said);
      seen.wrong +=
          value::is_set(found) && (value::length_of(found) == 16 || belongs(hosts[i], found)) ? 0 : 1;
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
template <class Protocol> Outcome churn(std::uint64_t seed, std::uint64_t changes, bool until_trouble) {
  const test::AlignedBytes section = make_section();
  const auto map = test::attached<RangeMapV4>(section.bytes());
  const std::uint32_t lines = reinterpret_cast<const RangeHeaderV4 *>(section.bytes().data())->lines;
  using Writer = RangeWriterV4<Protocol>;
  auto writer = *Writer::adopt(section.bytes());
  Quiescence quiescence;
  std::array<Seen, readers> seen;
  std::vector<std::thread> threads;
  for (unsigned r = 0; r < readers; ++r)
    threads.emplace_back([&, r] { read_until_stopped(map, lines, quiescence, r, seed + r, seen[r]); });
  std::mt19937_64 random(seed + 100);
  Outcome out;
  const auto end = Clock::now() + std::chrono::minutes(5);
  const auto trouble = [&] { // racy on purpose: a hint to stop early
    std::uint64_t n = 0;
    for (const Seen &s : seen) n += __atomic_load_n(&s.wrong, __ATOMIC_RELAXED);
    return n != 0;
  };
  while (Clock::now() < end && (until_trouble ? !trouble() : out.changes < changes)) {
    const auto cell = static_cast<std::uint32_t>(first_cell + random() % cells);
    const auto ranges = ranges_of(cell, 1 + static_cast<unsigned>(random() % (random() % 4 ? 6 : 10)));
    if (writer.put(cell, ranges) == Writer::Put::changed) {
      ++out.changes;
      continue;
    }
    if (writer.retired_lines() == 0) { // others fill all lines: make room
      (void)writer.put(cell, ranges_of(cell, 0));
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

TEST(RangeRace, readers_see_a_16_before_or_after_a_change_and_nothing_between) {
  const std::uint64_t seed = test::seed_or(1);
  WEIR_TRACE_SEED(seed);
  const Outcome o = churn<SafeRanges>(seed, 20'000, false);
  EXPECT_EQ(o.seen.wrong, 0u) << "of " << o.seen.lookups << " lookups";
  EXPECT_GE(o.changes, 20'000u);
  EXPECT_GT(o.waits, 100u) << "lines were never short";
  EXPECT_GT(o.seen.lookups, 10'000u);
}

TEST(RangeRace, lines_that_are_taken_again_without_a_grace_period_is_caught) {
  const std::uint64_t seed = test::seed_or(2);
  WEIR_TRACE_SEED(seed);
  const Outcome o = churn<ReusesAtOnce>(seed, 0, true);
  EXPECT_GT(o.seen.wrong, 0u) << o.seen.lookups << " lookups, " << o.changes << " changes";
}

TEST(RangeRace, a_cell_that_is_stored_before_its_lines_is_caught) {
  const std::uint64_t seed = test::seed_or(3);
  WEIR_TRACE_SEED(seed);
  const Outcome o = churn<StoresTheCellFirst>(seed, 0, true);
  EXPECT_GT(o.seen.wrong, 0u) << o.seen.lookups << " lookups, " << o.changes << " changes";
}

} // namespace
} // namespace weir::table::range_race_test
