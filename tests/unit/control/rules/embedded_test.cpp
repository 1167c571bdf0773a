#include "control/rules/embedded.hpp"

#include "weir/config/config.hpp"
#include "weir/key/text.hpp"

#include <gtest/gtest.h>

#include <string>

namespace weir::rules::embedded_test {
namespace {

std::string embedded(const char *text) {
  const auto found = embedded_v4(to_entry_v6(parse_prefix(text).value()));
  return found ? std::string(found->kind) + " " + to_string(found->prefix) : std::string();
}

TEST(Embedded, IPv4_is_found_in_the_four_kinds_of_IPv6_addresses_that_carry_it) {
  EXPECT_EQ(embedded("::ffff:192.0.2.1"), "IPv4-mapped 192.0.2.1");
  EXPECT_EQ(embedded("::ffff:192.0.2.0/120"), "IPv4-mapped 192.0.2.0/24");
  EXPECT_EQ(embedded("64:ff9b::192.0.2.1"), "NAT64 192.0.2.1");
  EXPECT_EQ(embedded("2002:c000:201::/48"), "6to4 192.0.2.1");
  EXPECT_EQ(embedded("2002:c000:201:7::9"), "6to4 192.0.2.1") << "any address behind the gateway";
  EXPECT_EQ(embedded("2002:c000::/24"), "6to4 192.0.0.0/8");
  EXPECT_EQ(embedded("2001:0:4136:e378:8000:63bf:3fff:fdd2"), "Teredo 192.0.2.45");
  EXPECT_EQ(embedded("2001:0:4136:e378:8000:63bf:3fff:fd00/120"), "Teredo 192.0.2.0/24");
}

TEST(Embedded, nothing_is_found_in_others_and_in_prefixes_that_say_nothing_of_IPv4) {
  for (const char *text : {"2001:db8::1", "::1", "::192.0.2.1", "64:ff9b:1::c000:201", "::ffff:0:0/96",
                           "2002::/16", "2001::/32", "2001:0:4136:e378::/64", "::/0"})
    EXPECT_EQ(embedded(text), "") << text;
}

TEST(Embedded, expanding_keeps_what_is_written_and_its_comment) {
  auto content = parse_feed("::ffff:192.0.2.1 # one\n192.0.2.9\n2001:db8::1\n", "feed").value();
  expand_embedded(content);
  EXPECT_EQ(content.v4.size(), 2u);
  EXPECT_EQ(content.v6.size(), 2u);
  EXPECT_TRUE(content.contains(parse_prefix("192.0.2.1").value()));
  EXPECT_EQ(content.note_of(parse_prefix("192.0.2.1").value()).comment, "one");
  EXPECT_EQ(content.note_of(parse_prefix("::ffff:192.0.2.1").value()).comment, "one");
}

TEST(Embedded, the_sentence_names_an_example_and_the_remedy) {
  const auto content = parse_feed("::ffff:192.0.2.1\n2002:c000:201::/48\n", "feed").value();
  config::List list;
  list.name = "drop";
  EXPECT_EQ(
      embedded_text(list, embedded_in(content)),
      "list drop: 2 IPv6 entries carry an IPv4 address and match IPv6 packets alone: ::ffff:192.0.2.1 is "
      "IPv4-mapped for 192.0.2.1; write mapped: both for the list to match that, too");
  EXPECT_EQ(embedded_text(list, {}), "");
}

} // namespace
} // namespace weir::rules::embedded_test
