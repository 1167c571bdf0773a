// Hosts in one word each: the permutation, what tells the addresses of a line apart, and words as values.
#include "tests/support/seed.hpp"
#include "weir/image/lists.hpp"
#include "weir/table/word_line.hpp"
#include "weir/table/word_writer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

namespace weir::table::word_line_test {
namespace {

// Every number of lines from 4 to 5,000, and large ones about powers of two.
std::vector<std::uint32_t> line_counts() {
  std::vector<std::uint32_t> counts;
  for (std::uint32_t n = WordTableView::lines_least; n <= 5000; ++n) counts.push_back(n);
  for (unsigned power = 13; power <= 28; ++power)
    for (const std::uint32_t off : {0u, 1u, 5u, (1u << power) / 3, (1u << power) - 1})
      counts.push_back((1u << power) + off);
  counts.push_back(WordTableView::lines_most);
  return counts;
}

class WordLines : public testing::Test {
protected:
  const std::uint64_t seed = test::seed_or(61);
  std::mt19937_64 random{seed};
  const WordLine nothing{}; // views need an address, and read nothing there
  [[nodiscard]] WordTableView view_of(std::uint32_t lines) { return {&nothing, lines, seed}; }
  [[nodiscard]] std::uint32_t some() { return static_cast<std::uint32_t>(random()); }
};

TEST_F(WordLines, scatter_addresses_by_a_permutation_that_can_be_undone) {
  WEIR_TRACE_SEED(seed);
  for (unsigned n = 0; n < 64; ++n) {
    const Scatter scatter(random());
    for (const std::uint32_t wire : {0u, 1u, 0x80000000u, 0xFFFFFFFFu})
      ASSERT_EQ(scatter.undone(scatter(wire)), wire);
    for (unsigned i = 0; i < 5000; ++i) {
      const std::uint32_t x = some();
      ASSERT_EQ(scatter.undone(scatter(x)), x);
      ASSERT_EQ(scatter(scatter.undone(x)), x);
    }
  }
}

TEST_F(WordLines, scatter_differently_under_another_secret_and_evenly_under_any) {
  WEIR_TRACE_SEED(seed);
  const Scatter a(random()), b(random());
  unsigned alike = 0;
  std::vector<std::uint32_t> in_line(1000);
  for (std::uint32_t i = 0; i < 11'000; ++i) { // in a row
    alike += a(byteswap32(i)) >> 16 == b(byteswap32(i)) >> 16;
    ++in_line[reduce(a(byteswap32(0x0A000000 + i)), 1000)];
  }
  EXPECT_LT(alike, 10u);
  EXPECT_LT(*std::ranges::max_element(in_line), 30u);
  EXPECT_GT(*std::ranges::min_element(in_line), 0u);
}

// Scattered addresses ascend in a line as their words do, so that it is enough to look at neighbours.
TEST_F(WordLines, tell_all_addresses_of_a_line_apart_whatever_their_number) {
  WEIR_TRACE_SEED(seed);
  for (const std::uint32_t lines : line_counts()) {
    const WordTableView view = view_of(lines);
    const auto spot_of = [&](std::uint32_t x) { return view.spot(view.scatter.undone(x)); };
    const auto expect_apart = [&](std::uint32_t x) {
      const auto here = spot_of(x), next = spot_of(x + 1);
      ASSERT_EQ(next.line, here.line + (next.line != here.line));
      if (next.line != here.line) return;
      ASSERT_GT(next.first_word, here.first_word) << lines << " lines, " << x;
      ASSERT_GT(next.first_word - here.first_word, view.below_rest()) << lines << " lines, " << x;
    };
    for (unsigned i = 0; i < 32; ++i) expect_apart(std::min(some(), 0xFFFFFFFEu));
    // Of one whole line, or as much of it as there is time for, from its first address on.
    const auto line = static_cast<std::uint32_t>(random() % lines);
    const auto first = static_cast<std::uint32_t>(((std::uint64_t{line} << 32) + lines - 1) / lines);
    const auto last = static_cast<std::uint32_t>(((std::uint64_t{line + 1} << 32) + lines - 1) / lines - 1);
    ASSERT_EQ(spot_of(first).line, line);
    ASSERT_EQ(spot_of(last).line, line);
    for (std::uint32_t x = first; x < last && x < first + 64; ++x) expect_apart(x);
    for (std::uint32_t x = last; x > first && x > last - 64; --x) expect_apart(x - 1);
    if (HasFatalFailure()) return;
  }
}

TEST_F(WordLines, give_back_the_address_and_the_list_of_a_word) {
  WEIR_TRACE_SEED(seed);
  for (const std::uint32_t lines : line_counts()) {
    const WordTableView view = view_of(lines);
    ASSERT_EQ(view.value_of(~0u) & ~value::list_mask, 32u << 16)
        << "a damaged word has another length or flags";
    const std::uint32_t lists = std::min<std::uint32_t>(WordTableView::lists_of(lines), image::lists_max);
    ASSERT_TRUE(view.can_name(ListId(static_cast<std::uint16_t>(lists - 1))));
    ASSERT_EQ(view.can_name(ListId(static_cast<std::uint16_t>(lists))),
              lists < WordTableView::lists_of(lines));
    for (unsigned i = 0; i < 8; ++i) {
      const std::uint32_t wire = i == 0 ? 0 : i == 1 ? ~0u : some();
      const ListId list(static_cast<std::uint16_t>(i == 2 ? lists - 1 : random() % lists));
      const auto at = view.spot(wire);
      ASSERT_LT(at.line, lines);
      for (const std::uint32_t group : {0u, WordTableView::group_bit}) {
        const std::uint32_t word = WordTableView::word_of(at, list) | group;
        ASSERT_LT(word - at.first_word, view.words_a_key());
        ASSERT_EQ(view.wire_of(at.line, word), wire) << lines << " lines";
        ASSERT_EQ(view.value_of(word), value::make(list, 32));
        ASSERT_FALSE(view.is_free(word));
        const std::uint32_t emptied = word & ~view.list_bits();
        ASSERT_GE(emptied - at.first_word, view.words_a_key()) << "an empty slot answers";
        ASSERT_TRUE(view.is_free(emptied));
      }
    }
  }
}

class WrittenLines : public WordLines {
protected:
  static constexpr std::uint32_t count = 16;
  std::unique_ptr<WordLine[]> lines = std::make_unique<WordLine[]>(count);
  const WordTableView view{lines.get(), count, seed};
  WordWriter writer{view};

  // The i-th address of a line.
  [[nodiscard]] std::uint32_t wire_in(std::uint32_t line, std::uint32_t i) const {
    return view.scatter.undone(static_cast<std::uint32_t>((std::uint64_t{line} << 32) / count) + i * 7919);
  }
};

TEST_F(WrittenLines, take_sixteen_hosts_change_them_and_use_a_freed_slot_again) {
  std::uint32_t wires[17];
  for (unsigned i = 0; i < 17; ++i) wires[i] = wire_in(5, i);
  for (unsigned i = 0; i < 16; ++i) {
    ASSERT_FALSE(writer.change(view.spot(wires[i]), 1));
    ASSERT_TRUE(writer.add(view.spot(wires[i]), ListId(i % 7)));
  }
  EXPECT_FALSE(writer.add(view.spot(wires[16]), 1)) << "the line is full";
  for (unsigned i = 0; i < 16; ++i) ASSERT_EQ(view.find(wires[i]).value, value::make(ListId(i % 7), 32));
  EXPECT_TRUE(writer.change(view.spot(wires[3]), 6));
  EXPECT_EQ(view.find(wires[3]).value, value::make(6, 32));
  EXPECT_TRUE(writer.erase(view.spot(wires[3])));
  EXPECT_FALSE(writer.erase(view.spot(wires[3])));
  EXPECT_EQ(view.find(wires[3]).value, 0u);
  EXPECT_TRUE(writer.add(view.spot(wires[16]), 2));
  EXPECT_EQ(view.find(wires[16]).value, value::make(2, 32));
  for (const std::uint32_t wire : wires) EXPECT_FALSE(view.find(wire).behind);
}

TEST_F(WrittenLines, keep_group_bits_whatever_comes_and_goes_in_their_slots) {
  const std::uint32_t gone = wire_in(3, 0);
  const auto at = view.spot(gone);
  ASSERT_TRUE(writer.add(at, 1));
  writer.lead_behind(at);
  EXPECT_TRUE(view.find(gone).behind);
  std::vector<std::uint32_t> came;
  for (std::uint32_t i = 0; i < 16; ++i) {
    came.push_back(wire_in(3, 100 + i));
    ASSERT_TRUE(writer.add(view.spot(came.back()), 2));
    ASSERT_TRUE(view.find(gone).behind);
  }
  for (const std::uint32_t wire : came) ASSERT_EQ(view.find(wire).value, value::make(2, 32));
  for (const std::uint32_t wire : came) ASSERT_TRUE(writer.change(view.spot(wire), 3));
  for (const std::uint32_t wire : came) ASSERT_TRUE(writer.erase(view.spot(wire)));
  EXPECT_TRUE(view.find(gone).behind);
  for (unsigned group = 0; group < WordLine::groups; ++group)
    EXPECT_EQ(group_bit(lines[3], group), group == at.group());
}

} // namespace
} // namespace weir::table::word_line_test
