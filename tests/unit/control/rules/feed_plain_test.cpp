#include "control/rules/feed.hpp"

#include "control/base/progress.hpp"
#include "weir/key/text.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace weir::rules::feed_plain_test {
namespace {

using config::Format;
using config::OnError;

ListContent good(std::string_view text, FeedOptions options = {}) {
  auto content = parse_feed(text, "feed", options);
  EXPECT_TRUE(content) << content.error().message;
  return content ? std::move(*content) : ListContent{};
}

std::string refused(std::string_view text, FeedOptions options = {}) {
  const auto content = parse_feed(text, "feed", options);
  EXPECT_FALSE(content) << "accepted: " << text;
  return content ? std::string() : content.error().message;
}

std::vector<std::string> prefixes(const ListContent &content) {
  std::vector<std::string> texts;
  for (const EntryV4 &e : content.v4) texts.push_back(to_string(to_prefix(e)));
  for (const EntryV6 &e : content.v6) texts.push_back(to_string(to_prefix(e)));
  return texts;
}

std::string comment(const ListContent &content, std::string_view prefix) {
  return std::string(content.note_of(*parse_prefix(prefix)).comment);
}

bool has(const std::string &text, std::string_view part) { return text.find(part) != std::string::npos; }
#define EXPECT_HAS(text, part) EXPECT_PRED2(has, text, part)

using Texts = std::vector<std::string>;

TEST(FeedPlain, one_address_or_prefix_a_line_comes_out_sorted_and_unique) {
  const ListContent c =
      good("192.0.2.1\n10.0.0.0/8\n::1\n192.0.2.1/32\n10.0.0.0/16\n2001:db8::/32\n0.0.0.0/0\n::/0\n");
  EXPECT_EQ(prefixes(c),
            (Texts{"0.0.0.0/0", "10.0.0.0/8", "10.0.0.0/16", "192.0.2.1", "::/0", "::1", "2001:db8::/32"}));
  EXPECT_EQ(c.duplicates, 1u);
  EXPECT_EQ(c.lines, 8u);
  EXPECT_EQ(c.format, Format::plain);
}

TEST(FeedPlain, what_editors_leave_behind_does_no_harm) {
  EXPECT_EQ(prefixes(good("\xEF\xBB\xBF"
                          "10.0.0.1\r\n\r\n  10.0.0.2\t\n# a comment\n   # another\n10.0.0.3")),
            (Texts{"10.0.0.1", "10.0.0.2", "10.0.0.3"}));
}

TEST(FeedPlain, a_trailing_comment_is_kept) {
  const ListContent c =
      good("10.0.0.1 # the \xC3\xA4rger\n10.0.0.2\n10.0.0.3;  b \n10.0.0.4 # bad \xFF\x01 bytes\n");
  EXPECT_EQ(c.size(), 4u);
  EXPECT_EQ(comment(c, "10.0.0.1"), "the \xC3\xA4rger");
  EXPECT_EQ(comment(c, "10.0.0.2"), "");
  EXPECT_EQ(comment(c, "10.0.0.3"), "b");
  EXPECT_EQ(comment(c, "10.0.0.4"), "bad ?  bytes");
  EXPECT_EQ(comment(c, "10.0.0.5"), "");
}

TEST(FeedPlain, a_comment_is_kept_as_one_line_of_utf8_without_controls) {
  const auto content = parse_feed("10.0.0.1 # caf\xe9 \xc3\xa9 \x1b[31m \xc2\x9b"
                                  "2J \x7f\xe2\x80\xae x\n",
                                  "list");
  ASSERT_TRUE(content);
  EXPECT_EQ(content->note_of(*parse_prefix("10.0.0.1")).comment, "caf? \xc3\xa9  [31m  2J    x");
  EXPECT_EQ(content->comments_cut, 0u);
}

TEST(FeedPlain, a_long_comment_is_cut_between_two_characters_and_counted) {
  std::string long_comment;
  for (int i = 0; i < 128; ++i) long_comment += "\xc3\xa9";
  const auto content =
      parse_feed("10.0.0.1 # " + long_comment + "\n10.0.0.2 # " + std::string(255, 'a') + "\n", "list");
  ASSERT_TRUE(content);
  EXPECT_EQ(content->note_of(*parse_prefix("10.0.0.1")).comment, long_comment.substr(0, 254));
  EXPECT_EQ(content->note_of(*parse_prefix("10.0.0.2")).comment, std::string(255, 'a'));
  EXPECT_EQ(content->comments_cut, 1u);
}

TEST(FeedPlain, the_first_of_several_comments_stays) {
  EXPECT_EQ(comment(good("10.0.0.1 # b\n10.0.0.1 # a\n"), "10.0.0.1"), "b");
}

TEST(FeedPlain, spamhaus_text_keeps_its_numbers) {
  const ListContent c = good("; Spamhaus DROP List 2026/11/21\n; Expires: soon\n1.10.16.0/20 ; "
                             "SBL256894\n1.19.0.0/16 ; SBL434604\n");
  EXPECT_EQ(c.format, Format::spamhaus_text);
  EXPECT_EQ(prefixes(c), (Texts{"1.10.16.0/20", "1.19.0.0/16"}));
  EXPECT_EQ(comment(c, "1.10.16.0/20"), "SBL256894");
  EXPECT_EQ(comment(c, "1.19.0.0/16"), "SBL434604");
}

TEST(FeedPlain, every_bad_line_is_listed_with_number_text_and_reason) {
  const std::string message = refused("10.0.0.1\n10.0.0.5/8\nhello\n10.0.0.2\n1.2.3.4/33\n1.2.3\n1.2.3.04\n");
  EXPECT_HAS(message, "feed:2: \"10.0.0.5/8\": address bits are set beyond the prefix length; the network "
                      "would be 10.0.0.0/8\n");
  EXPECT_HAS(message, "feed:3: \"hello\": not an IPv4 or IPv6 address\n");
  EXPECT_HAS(message, "feed:5: \"1.2.3.4/33\": the prefix length must be 0 to 32\n");
  EXPECT_HAS(message, "feed:6: \"1.2.3\"");
  EXPECT_HAS(message, "feed:7: \"1.2.3.04\"");
  EXPECT_HAS(message, "feed: 5 bad lines of 7; nothing of it was used");
}

TEST(FeedPlain, near_misses_are_bad_lines) {
  for (const std::string_view bad : {"1.2.3.4/",
                                     "1.2.3.4/032",
                                     "1.2.3.4/-1",
                                     "1.2.3.4/3 2",
                                     "1.2.3.256",
                                     "1.2.3.4.5",
                                     "1..2.3",
                                     ".1.2.3.4",
                                     "1.2.3.4.",
                                     "1.2.3.4/0",
                                     "01.2.3.4",
                                     "1.2.3.1000",
                                     "+1.2.3.4",
                                     "0x1.2.3.4",
                                     "1.2.3.4,5.6.7.8",
                                     "1.2.3.4 5.6.7.8",
                                     "1.2.3.0-1.2.3.255",
                                     "::1/129",
                                     "::1/64",
                                     "1::2::3",
                                     "fe80::1%eth0",
                                     "[::1]",
                                     "2001:db8::/",
                                     "example.org",
                                     "1.2.3.4/320",
                                     "1.2.3.4/99999999999",
                                     "999.1.1.1"})
    EXPECT_FALSE(parse_feed(std::string(bad) + "\n9.9.9.9\n", "feed")) << bad;
}

TEST(FeedPlain, the_quick_path_and_the_careful_path_accept_the_same) {
  for (const std::string_view text :
       {"0.0.0.0", "0.0.0.0/0", "255.255.255.255", "255.255.255.255/32", "128.0.0.0/1", "10.0.0.0/9",
        "1.2.3.4/032", "1.2.3.4/33", "00.0.0.0", "1.2.3.4/3", "1.2.3", "1.2.3.4x"}) {
    const bool quick = parse_feed(std::string(text) + "\n9.9.9.9\n", "feed").has_value();
    const bool careful = parse_feed(" " + std::string(text) + "\n9.9.9.9\n", "feed").has_value();
    EXPECT_EQ(quick, careful) << text;
    EXPECT_EQ(quick, parse_prefix(text).has_value()) << text;
  }
}

TEST(FeedPlain, bad_lines_can_be_skipped_and_are_still_told) {
  const ListContent c = good("10.0.0.1\nhello\n10.0.0.2\nworld\n", {.on_error = OnError::skip});
  EXPECT_EQ(prefixes(c), (Texts{"10.0.0.1", "10.0.0.2"}));
  EXPECT_EQ(c.skipped_count, 2u);
  ASSERT_EQ(c.skipped.size(), 2u);
  EXPECT_EQ(c.skipped[1].line, 4u);
  EXPECT_EQ(c.skipped[1].text, "world");
}

TEST(FeedPlain, without_one_good_line_even_skip_refuses) {
  EXPECT_HAS(refused("hello\nworld\n", {.on_error = OnError::skip}),
             "not one good line of 2 (read as plain)");
}

TEST(FeedPlain, an_empty_file_is_an_empty_list) {
  for (const std::string_view text : {"", "\n\n", "# nothing today\n", "\xEF\xBB\xBF"})
    EXPECT_TRUE(good(text).empty());
}

TEST(FeedPlain, what_is_no_list_at_all_is_refused_even_under_skip) {
  using namespace std::string_view_literals;
  const FeedOptions skip{.on_error = OnError::skip};
  EXPECT_HAS(refused("\n<!DOCTYPE html>\n<html>10.0.0.1\n</html>\n", skip),
             "feed: an HTML or XML page, not a list");
  EXPECT_HAS(refused("\x1F\x8B\x08\n10.0.0.1\n"sv, skip), "gzip data; unpack it first");
  EXPECT_HAS(refused("\xFF\xFE"
                     "1\0.\0"sv,
                     skip),
             "UTF-16 text");
  EXPECT_HAS(refused("[\n{\"cidr\": \"10.0.0.0/8\"}\n]\n", skip), "a JSON array");
}

TEST(FeedPlain, zero_bytes_and_endless_lines_are_bad_lines_shown_short) {
  using namespace std::string_view_literals;
  EXPECT_HAS(refused("10.0.0.1\n10.0.0\0.2\n"sv),
             "feed:2: \"10.0.0\\x00.2\": a zero byte: this line is not text");
  const std::string message = refused("10.0.0.1\n" + std::string(10'000'000, '1') + "\n10.0.0.2\n");
  EXPECT_LT(message.size(), 400u);
  EXPECT_HAS(message, "... (10000000 bytes)");
}

TEST(FeedPlain, a_message_lists_a_thousand_bad_lines_and_counts_the_rest) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "bad\n";
  const std::string message = refused(text);
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 1001);
  EXPECT_HAS(message, "feed: and 4000 more bad lines\n");
}

TEST(FeedPlain, large_and_small_lists_are_sorted_alike) {
  std::string text;
  std::vector<EntryV4> expected;
  std::uint64_t state = 1;
  for (int i = 0; i < 20'000; ++i) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    const auto length = static_cast<std::uint8_t>(8 + (state >> 20) % 25);
    const auto host = static_cast<std::uint32_t>(state >> 32) & ~std::uint32_t{0} << (32 - length);
    expected.push_back({.host = host, .length = length});
    text += to_string(to_prefix(expected.back())) + "\n";
  }
  std::ranges::sort(expected);
  const auto rest = std::ranges::unique(expected);
  expected.erase(rest.begin(), rest.end());
  EXPECT_EQ(good(text).v4, expected);
}

// Its pages go while it is read, from either end of both halves.
TEST(FeedPlain, a_large_file_is_what_its_text_is) {
  std::string text;
  for (std::uint32_t i = 0; text.size() < (20u << 20); ++i) {
    text += to_string(Address::from_host(i * 2654435761u));
    if (i % 1000 == 7) text += " # number " + std::to_string(i);
    if (i % 100'000 == 99) text += " is bad";
    text += '\n';
  }
  const auto file = std::filesystem::temp_directory_path() / ("weir-feed-" + std::to_string(::getpid()));
  std::ofstream(file) << text;
  for (const unsigned threads : {1u, 2u}) {
    const FeedOptions options{.on_error = OnError::skip, .threads = threads};
    const auto read = load_feed(file, options);
    ASSERT_TRUE(read) << read.error().message;
    const ListContent wanted = good(text, options);
    EXPECT_TRUE(read->v4 == wanted.v4);
    EXPECT_EQ(read->comments, wanted.comments);
    EXPECT_EQ(read->lines, wanted.lines);
    ASSERT_EQ(read->skipped.size(), wanted.skipped.size());
    for (std::size_t i = 0; i < wanted.skipped.size(); ++i) {
      EXPECT_EQ(read->skipped[i].line, wanted.skipped[i].line);
      EXPECT_EQ(read->skipped[i].text, wanted.skipped[i].text);
    }
  }
  std::filesystem::remove(file);
}

TEST(FeedPlain, every_byte_and_entry_is_told_to_whoever_asks_how_far_it_is) {
  std::string plain, json, ipset = "create bad hash:ip family inet\n";
  constexpr std::uint32_t entries = 300'000;
  for (std::uint32_t i = 0; i < entries; ++i) {
    const std::string address = to_string(Address::from_host(i * 2654435761u));
    plain += address + (i % 1000 == 7 ? " # seen\n" : "\n");
    if (i < entries / 10) json += "{\"cidr\":\"" + address + "\"}\n";
    ipset += "add bad " + address + "\n";
  }
  for (const auto &[text, expected] : {std::pair{&plain, entries}, {&json, entries / 10}, {&ipset, entries}})
    for (const unsigned threads : {1u, 2u}) {
      control::Progress progress;
      progress.begin(control::Progress::Phase::reading, text->size());
      const ListContent content = good(*text, {.threads = threads, .progress = &progress});
      EXPECT_EQ(content.size(), expected);
      EXPECT_EQ(progress.now().done, text->size());
      EXPECT_EQ(progress.now().entries, expected);
    }
}

} // namespace
} // namespace weir::rules::feed_plain_test
