// Random feeds: what is written is read back, the quick and the careful path agree, and no bytes
// whatever break the parser or make it give entries that are out of order.
#include "control/rules/feed.hpp"
#include "tests/support/seed.hpp"
#include "weir/config/config.hpp"
#include "weir/config/values.hpp"
#include "weir/key/text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <string>
#include <string_view>

namespace weir::rules::feed_test {
namespace {

using config::Format;
using config::OnError;

std::uint64_t seed() { return test::seed_or(20261121); }

std::string trace(int round) {
  return "WEIR_SEED=" + std::to_string(seed()) + " round " + std::to_string(round);
}

Prefix random_prefix(std::mt19937_64 &random) {
  const bool four = random() % 2 == 0;
  const std::uint64_t words[2] = {random(), random()};
  const Address address =
      four ? Address::from_wire(static_cast<std::uint32_t>(words[0])) : Address::from_v6(words);
  const auto bits = address_bits(address.family);
  const auto length = static_cast<std::uint8_t>(random() % 2 == 0 ? bits : random() % (bits + 1));
  return {masked(address, length), length};
}

TEST(FeedProperty, what_is_written_in_any_format_is_read_back) {
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(trace(round));
    std::mt19937_64 random(seed() + static_cast<std::uint64_t>(round));
    std::array<std::string, 4> texts{"", "; list\n", "",
                                     "create a hash:net family inet\ncreate b hash:net family inet6\n"};
    std::set<Prefix> prefixes;
    for (std::uint64_t n = random() % 300; n > 0; --n) {
      const Prefix p = random_prefix(random);
      prefixes.insert(p);
      const std::string text = to_string(p), end = random() % 2 == 0 ? "\n" : "\r\n";
      texts[0] += text + end;
      texts[1] += text + " ; SBL1" + end;
      texts[2] += R"({"cidr":")" + text + R"(","sblid":"SBL1"})" + end;
      texts[3] +=
          std::string("add ") + (p.family() == Family::ipv4 ? "a " : "b ") + text + " comment \"SBL1\"" + end;
    }
    for (const std::string &text : texts) {
      const auto content = parse_feed(text, "feed");
      ASSERT_TRUE(content) << content.error().message;
      ASSERT_EQ(content->size(), prefixes.size());
      for (const Prefix &p : prefixes) {
        ASSERT_TRUE(content->contains(p)) << to_string(p);
        ASSERT_EQ(content->note_of(p).comment, &text == &texts[0] ? "" : "SBL1");
      }
    }
  }
}

TEST(FeedProperty, a_line_is_accepted_exactly_when_it_is_a_prefix) {
  constexpr std::string_view alphabet = "0123456789./:abf 1255";
  for (int round = 0; round < 30'000; ++round) {
    SCOPED_TRACE(trace(round));
    std::mt19937_64 random(seed() + static_cast<std::uint64_t>(round));
    std::string line = to_string(random_prefix(random));
    for (std::uint64_t edits = random() % 3; edits > 0; --edits) {
      const std::size_t place = random() % line.size();
      const char letter = alphabet[random() % alphabet.size()];
      if (random() % 3 == 0)
        line[place] = letter;
      else if (random() % 2 == 0)
        line.insert(line.begin() + static_cast<std::ptrdiff_t>(place), letter);
      else if (line.size() > 1)
        line.erase(place, 1);
    }
    const std::size_t first = line.find_first_not_of(' ');
    if (first == std::string::npos) continue;
    const std::string bare = line.substr(first, line.find_last_not_of(' ') - first + 1);
    const auto expected = parse_prefix(bare);
    const auto content = parse_feed(line, "feed", {.format = Format::plain});
    ASSERT_EQ(content.has_value(), expected.has_value()) << '"' << line << '"';
    if (!content) continue;
    ASSERT_TRUE(content->size() == 1 && content->contains(*expected)) << '"' << line << '"';
  }
}

template <class Entry> bool in_order(const std::vector<Entry> &entries) {
  return std::ranges::adjacent_find(entries, [](const Entry &a, const Entry &b) { return !before(a, b); }) ==
         entries.end();
}

constexpr std::array<std::string_view, 6> samples{
    "# list\n10.0.0.1\n10.0.0.0/8 # net\n2001:db8::/32\r\n::1\n",
    "; Spamhaus\n1.10.16.0/20 ; SBL256894\n",
    "{\"cidr\":\"1.10.16.0/20\",\"sblid\":\"SBL256894\"}\n{\"type\":\"metadata\",\"records\":1}\n",
    "create a hash:net family inet timeout 0 comment\nadd a 1.2.3.0/24 timeout 600 comment \"x y\"\nadd a "
    "1.1.1.1 nomatch\n",
    "version: 1\nlists:\n- {name: a, action: deny, entries: [10.0.0.0/8]}\nguard: {max_change: 30%}\n",
    "version: 1\nports:\n- {name: a, device: d, side: outside, peer: b}\npolicy: &p {match: remote}\n",
};

std::string damaged(std::mt19937_64 &random) {
  std::string text(samples[random() % samples.size()]);
  for (std::uint64_t edits = random() % 6; edits > 0; --edits) {
    const std::size_t place = random() % (text.size() + 1), other = random() % (text.size() + 1);
    switch (random() % 4) {
    case 0: text.insert(place, 1, static_cast<char>(random())); break;
    case 1: text.erase(place, random() % 4); break;
    case 2: text.insert(place, text.substr(other, random() % 40)); break;
    default:
      if (place < text.size()) text[place] = static_cast<char>(random());
    }
  }
  return text;
}

bool fit_for_a_terminal(const std::string &message) {
  std::string lines = message;
  std::ranges::replace(lines, '\n', ' ');
  return config::printable(lines) == lines;
}

TEST(FeedProperty, no_bytes_break_the_parsers) {
  for (int round = 0; round < 6000; ++round) {
    SCOPED_TRACE(trace(round));
    std::mt19937_64 random(seed() + static_cast<std::uint64_t>(round));
    const std::string text = damaged(random);
    const FeedOptions options{.format = static_cast<Format>(random() % 5),
                              .on_error = random() % 2 == 0 ? OnError::refuse : OnError::skip};
    const auto content = parse_feed(text, "feed", options);
    if (content) {
      ASSERT_TRUE(in_order(content->v4) && in_order(content->v6));
      ASSERT_NE(content->format, Format::automatic);
    } else {
      ASSERT_FALSE(content.error().message.empty());
      ASSERT_TRUE(fit_for_a_terminal(content.error().message));
    }
    const auto config = config::parse(text, "weir.yaml");
    ASSERT_TRUE(config || config.error().message.starts_with("weir.yaml:"));
    ASSERT_TRUE(config || fit_for_a_terminal(config.error().message));
  }
}

} // namespace
} // namespace weir::rules::feed_test
