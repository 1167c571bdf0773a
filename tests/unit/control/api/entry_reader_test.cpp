// Requests for entries, read from long lines without a tree.
#include "control/api/entry_reader.hpp"
#include "weir/key/text.hpp"

#include <gtest/gtest.h>

namespace weir::control::entry_reader_test {
namespace {

TEST(EntryReader, force_is_true_or_false) {
  const std::string entries = R"("list":"bans","verb":"list_add","entries":["0.0.0.0/1"])";
  EXPECT_TRUE(parse_entry_request(R"({"force":true,)" + entries + "}")->force);
  EXPECT_FALSE(parse_entry_request("{" + entries + "}")->force);
  EXPECT_FALSE(parse_entry_request(R"({"force":1,)" + entries + "}"));
  EXPECT_FALSE(parse_entry_request(R"({"force":"yes",)" + entries + "}"));
}

TEST(EntryReader, takes_prefixes_alone_and_with_ttl_and_comment_whatever_the_order_of_fields) {
  const auto read = parse_entry_request(
      R"({"entries":["203.0.113.9",{"comment":"ssh\nx","prefix":"2001:db8::/32","ttl":600},{"ttl":null,"prefix":"10.0.0.0/8"}],)"
      R"("list":"bans","verb":"list_add"})");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->verb, "list_add");
  EXPECT_EQ(read->list, "bans");
  ASSERT_EQ(read->entries.size(), 3u);
  EXPECT_EQ(to_string(read->entries[0].prefix), "203.0.113.9");
  EXPECT_FALSE(read->entries[0].ttl_s);
  EXPECT_EQ(to_string(read->entries[1].prefix), "2001:db8::/32");
  EXPECT_EQ(read->entries[1].ttl_s, 600u);
  EXPECT_EQ(read->entries[1].comment, "ssh x") << "cleaned";
  EXPECT_EQ(to_string(read->entries[2].prefix), "10.0.0.0/8");
  EXPECT_FALSE(read->entries[2].ttl_s);
}

TEST(EntryReader, answers_what_it_cannot_take_with_a_sentence) {
  const std::pair<const char *, const char *> bad[] = {
      {"", "cannot be read"},
      {"[1,2]", "JSON object"},
      {R"({"verb":"list_add","list":"bans","entries":["nonsense"]})", "nonsense"},
      {R"({"verb":"list_add","list":"bans","entries":[{"ttl":5}]})", "entry 1 has no prefix"},
      {R"({"verb":"list_add","list":"bans","entries":[{"prefix":"10.0.0.1","ttl":-1}]})", "ttl is -1"},
      {R"({"verb":"list_add","list":"bans","entries":[{"prefix":"10.0.0.1","ttl":"60"}]})", "ttl is a text"},
      {R"({"verb":"list_add","list":"bans","entries":[5]})", "entry 1 is 5"},
      {R"({"verb":"list_add","list":"bans","entries":"10.0.0.1"})", "entries is a text"},
      {R"({"verb":"list_add","list":7,"entries":[]})", "list is 7"},
      {R"({"verb":"list_add","list":"bans"})", "entries is missing"},
      {R"({"verb":"list_add","entries":[]})", "list is missing"},
      {R"({"verb":"apply","list":"x","entries":[]})", "list_add or list_del"},
      {R"({"verb":"list_add","list":"bans","entries":[["10.0.0.1"]]})", "entry 1 is an array"},
      {R"({"verb":"list_add","list":"bans","entries":["10.0.0.1"})", "cannot be read"}};
  for (const auto &[line, part] : bad) {
    const auto read = parse_entry_request(line);
    ASSERT_FALSE(read) << line;
    EXPECT_NE(read.error().message.find(part), std::string::npos) << line << ": " << read.error().message;
  }
}

} // namespace
} // namespace weir::control::entry_reader_test
