#include "control/base/line_diff.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace weir::control::line_diff_test {
namespace {

using Lines = std::vector<std::string>;

TEST(LineDiff, shows_what_came_and_went_in_order) {
  EXPECT_EQ(line_diff("a\nb\nc\n", "a\nx\nc\nd\n"), (Lines{"-b", "+x", "+d"}));
  EXPECT_EQ(line_diff("a\nb\n", "a\nb\n"), Lines());
  EXPECT_EQ(line_diff("", "a"), Lines{"+a"});
  EXPECT_EQ(line_diff("a", ""), Lines{"-a"});
  EXPECT_EQ(line_diff("a\nb\na\n", "b\na\nb\n"), (Lines{"-a", "+b"}));
}

TEST(LineDiff, blanks_at_the_end_and_empty_lines_do_not_count) {
  EXPECT_EQ(line_diff("a  \r\n\n\n b\n", "a\n b"), Lines());
  EXPECT_EQ(line_diff(" a\n", "a\n"), (Lines{"- a", "+a"})) << "at the beginning they are meaning";
}

// Of random texts of few letters: what is left of one without what went is what is left of the other.
TEST(LineDiff, both_sides_agree_on_what_stayed) {
  unsigned state = 1;
  const auto next = [&] { return (state = state * 1103515245 + 12345) >> 16; };
  for (unsigned round = 0; round < 300; ++round) {
    Lines before, after;
    std::string before_text, after_text;
    for (unsigned i = next() % 12; i > 0; --i) before_text += before.emplace_back(1, 'a' + next() % 3) + "\n";
    for (unsigned i = next() % 12; i > 0; --i) after_text += after.emplace_back(1, 'a' + next() % 3) + "\n";
    Lines gone, came;
    for (const std::string &line : line_diff(before_text, after_text))
      (line[0] == '-' ? gone : came).push_back(line.substr(1));
    const auto without = [](const Lines &all,
                            const Lines &some) { // some is a subsequence of all, or all is kept
      Lines left;
      std::size_t at = 0;
      for (const std::string &line : all)
        if (at < some.size() && line == some[at])
          ++at;
        else
          left.push_back(line);
      EXPECT_EQ(at, some.size());
      return left;
    };
    Lines stayed = without(before, gone), stayed_after = without(after, came);
    std::ranges::sort(stayed);
    std::ranges::sort(stayed_after);
    EXPECT_EQ(stayed, stayed_after) << before_text << "->\n" << after_text;
  }
}

TEST(LineDiff, of_large_texts_that_differ_everywhere_is_all_of_both) {
  std::string before, after;
  for (unsigned i = 0; i < 5000; ++i) {
    before += "a" + std::to_string(i) + "\n";
    after += "b" + std::to_string(i) + "\n";
  }
  EXPECT_EQ(line_diff(before, after).size(), 10'000u);
}

} // namespace
} // namespace weir::control::line_diff_test
