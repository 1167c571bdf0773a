// A large list in two threads is what it is in one: entries, notes, faults and their lines. Also run under
// ThreadSanitizer.
#include "control/rules/feed.hpp"
#include "tests/support/seed.hpp"
#include "weir/key/text.hpp"

#include <gtest/gtest.h>

#include <random>

namespace weir::rules::feed_race_test {
namespace {

constexpr std::size_t large = 1'200'000; // bytes: more than one thread takes by itself

class Text {
public:
  explicit Text(std::uint64_t seed) : random_(seed) {}

  std::string lines(unsigned faults_in_10000) {
    std::string out;
    while (out.size() < large) {
      add_rule(out, below(10'000) < faults_in_10000);
      if (below(8) == 0) out += words[below(5)];
      out += below(16) == 0 ? "\r\n" : "\n";
      if (below(64) == 0) out += "\n# a comment alone\n";
    }
    if (below(2)) out.pop_back(); // the last line may lack its end
    return out;
  }

private:
  static constexpr const char *words[] = {" # abuse", " # abuse", " ; SBL1", " # \xC3\xA9t\xC3\xA9", "#"};

  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  void add_rule(std::string &out, bool bad) {
    if (bad) {
      out += below(2) ? "10.0.0.256" : "10.0.0.1/8";
    } else if (below(10) == 0) {
      out += "2001:db8::" + std::to_string(below(9999));
    } else {
      for (unsigned part = 0; part < 3; ++part) out += std::to_string(below(part == 1 ? 4 : 200)) + '.';
      out += below(10) == 0 ? "0/24" : std::to_string(below(256));
    }
  }

  std::mt19937_64 random_;
};

template <class Entry> bool same_notes(const std::vector<Note<Entry>> &a, const std::vector<Note<Entry>> &b) {
  return std::ranges::equal(a, b, [](const Note<Entry> &x, const Note<Entry> &y) {
    return same_prefix(x.entry, y.entry) && x.ttl_s == y.ttl_s && x.comment_place == y.comment_place;
  });
}

void expect_same(const ListContent &one, const ListContent &two) {
  EXPECT_TRUE(
      std::ranges::equal(one.v4, two.v4, [](const auto &a, const auto &b) { return same_prefix(a, b); }));
  EXPECT_TRUE(
      std::ranges::equal(one.v6, two.v6, [](const auto &a, const auto &b) { return same_prefix(a, b); }));
  EXPECT_TRUE(same_notes(one.notes_v4, two.notes_v4));
  EXPECT_TRUE(same_notes(one.notes_v6, two.notes_v6));
  EXPECT_TRUE(one.comments == two.comments);
  EXPECT_EQ(one.lines, two.lines);
  EXPECT_EQ(one.duplicates, two.duplicates);
  EXPECT_EQ(one.skipped_count, two.skipped_count);
  ASSERT_EQ(one.skipped.size(), two.skipped.size());
  for (std::size_t i = 0; i < one.skipped.size(); ++i) {
    EXPECT_EQ(one.skipped[i].line, two.skipped[i].line);
    EXPECT_EQ(one.skipped[i].text, two.skipped[i].text);
    EXPECT_EQ(one.skipped[i].reason, two.skipped[i].reason);
  }
}

void expect_same(const std::string &text) {
  for (const auto on_error : {config::OnError::refuse, config::OnError::skip}) {
    const auto one = parse_feed(text, "list.txt", {.on_error = on_error, .threads = 1});
    const auto two = parse_feed(text, "list.txt", {.on_error = on_error, .threads = 2});
    ASSERT_EQ(one.has_value(), two.has_value());
    if (one)
      expect_same(*one, *two);
    else
      EXPECT_EQ(one.error().message, two.error().message);
  }
}

TEST(FeedInTwoThreads, is_what_it_is_in_one) {
  const std::uint64_t seed = test::seed_or(20261122);
  WEIR_TRACE_SEED(seed);
  for (const unsigned faults :
       {0u, 1u, 60u, 400u}) // in ten thousand: none, few, more in one half than are listed
    expect_same(Text(seed + faults).lines(faults));
}

TEST(FeedInTwoThreads, keeps_a_comment_once_that_goes_on_behind_the_middle) {
  for (const char *second :
       {"192.0.2.1 # abuse\n", "192.0.2.1 # other\n", "192.0.2.1\n", "2001:db8::1 # abuse\n"}) {
    std::string text;
    while (text.size() < large / 2) text += "10.0.0.1 # abuse\n";
    while (text.size() < large) text += second;
    expect_same(text);
  }
}

TEST(FeedInTwoThreads, takes_sorted_halves_and_halves_that_lie_apart) {
  const auto run = [](unsigned from, unsigned to) {
    std::string text;
    for (unsigned i = from; i < to; ++i) text += to_string(Address::from_host(0x0A000000 + i)) + '\n';
    return text;
  };
  expect_same(run(0, 110'000));
  expect_same(run(55'000, 110'000) + run(0, 55'000));
  expect_same(run(0, 60'000) + run(0, 60'000));
}

TEST(FeedInTwoThreads, finds_no_middle_in_a_file_of_one_line) {
  expect_same(std::string(large, 'x'));
  expect_same("10.0.0.1\n" + std::string(large, ' '));
}

} // namespace
} // namespace weir::rules::feed_race_test
