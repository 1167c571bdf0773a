#include "control/cli/frame.hpp"

#include "control/cli/text.hpp"

#include <gtest/gtest.h>

namespace weir::cli::frame_test {
namespace {

TEST(CliFrame, a_line_is_cut_between_characters_and_keeps_its_styles) {
  Line line("täglich ", Style::strong);
  line.add("mehr");
  EXPECT_EQ(line.columns(), 12u);
  line.cut(0);
  EXPECT_EQ(line.text(), "täglich mehr");
  line.cut(9);
  EXPECT_EQ(line.text(), "täglich m");
  EXPECT_EQ(line.spans()[0].style, Style::strong);
  line.cut(2);
  EXPECT_EQ(line.text(), "tä");
  EXPECT_EQ(line.spans().size(), 1u);
  line.paint(Style::faint);
  EXPECT_EQ(line.spans()[0].style, Style::faint);
}

TEST(CliFrame, parts_are_whole_or_not_there) {
  PartsLine line(12);
  line.add("one");
  line.add("thousand");
  line.add("two");
  line.add("");
  EXPECT_EQ(line.take().text(), "one   two");
  PartsLine endless(0);
  endless.add("one");
  endless.add(std::string(500, 'x'));
  EXPECT_EQ(endless.take().columns(), 506u);
}

TEST(CliFrame, sentences_are_broken_at_blanks_and_words_that_are_too_long_anywhere) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(wrapped("a quick brown fox", 9), (Lines{"a quick", "brown fox"}));
  EXPECT_EQ(wrapped("a quick brown fox", 7), (Lines{"a quick", "brown", "fox"}));
  EXPECT_EQ(wrapped("2001:db8::1 is out", 6), (Lines{"2001:d", "b8::1", "is out"}));
  EXPECT_EQ(wrapped("short", 80), (Lines{"short"}));
  EXPECT_EQ(wrapped("as long as it is", 0), (Lines{"as long as it is"}));
  EXPECT_EQ(wrapped("", 5), (Lines{""}));
  for (std::size_t columns = 1; columns < 30; ++columns)
    for (const std::string &line : wrapped("größer als die Zeile, und länger als man meint", columns))
      EXPECT_LE(width_of(line), columns);
}

} // namespace
} // namespace weir::cli::frame_test
