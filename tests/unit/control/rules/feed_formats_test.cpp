#include "control/rules/feed.hpp"
#include "weir/config/config.hpp"
#include "weir/key/text.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace weir::rules::feed_formats_test {
namespace {

using config::Format;
using config::OnError;
using Texts = std::vector<std::string>;

ListContent good(std::string_view text) {
  auto content = parse_feed(text, "feed");
  EXPECT_TRUE(content) << content.error().message;
  return content ? std::move(*content) : ListContent{};
}

std::string refused(std::string_view text) {
  const auto content = parse_feed(text, "feed");
  EXPECT_FALSE(content) << "accepted: " << text;
  return content ? std::string() : content.error().message;
}

Texts prefixes(const ListContent &content) {
  Texts texts;
  for (const EntryV4 &e : content.v4) texts.push_back(to_string(to_prefix(e)));
  for (const EntryV6 &e : content.v6) texts.push_back(to_string(to_prefix(e)));
  return texts;
}

EntryNote note(const ListContent &content, std::string_view prefix) {
  return content.note_of(*parse_prefix(prefix));
}

bool has(const std::string &text, std::string_view part) { return text.find(part) != std::string::npos; }
#define EXPECT_HAS(text, part) EXPECT_PRED2(has, text, part)

TEST(FeedJson, spamhaus_lines_give_prefix_and_number) {
  const ListContent c = good(R"({"cidr":"1.10.16.0/20","sblid":"SBL256894","rir":"apnic"}
{"cidr":"2001:db8::/32","sblid":"SBL1","rir":"ripencc"}
{"type":"metadata","timestamp":1700000000,"size":100,"records":2,"copyright":"all"}
)");
  EXPECT_EQ(c.format, Format::spamhaus_json);
  EXPECT_EQ(prefixes(c), (Texts{"1.10.16.0/20", "2001:db8::/32"}));
  EXPECT_EQ(note(c, "1.10.16.0/20").comment, "SBL256894");
  EXPECT_EQ(note(c, "2001:db8::/32").comment, "SBL1");
}

TEST(FeedJson, objects_without_a_prefix_are_bad_lines) {
  const std::string message = refused(R"({"cidr":"1.10.16.0/20"}
{"asn":64500}
{"cidr":17}
{"cidr":"1.10.16.1/20"}
{"cidr":"1.10.
null
{}
)");
  EXPECT_HAS(message, "feed:2: \"{\"asn\":64500}\": a list of AS numbers");
  EXPECT_HAS(message, "feed:3: \"{\"cidr\":17}\": \"cidr\" is not a text");
  EXPECT_HAS(message, "feed:4: ");
  EXPECT_HAS(message, "the network would be 1.10.16.0/20");
  EXPECT_HAS(message, "feed:5: \"{\"cidr\":\"1.10.\": not a JSON object; was the file cut?");
  EXPECT_HAS(message, "feed:6: \"null\": not a JSON object");
  EXPECT_HAS(message, "feed:7: \"{}\": no \"cidr\"");
}

TEST(FeedJson, deep_and_endless_lines_are_refused_without_harm) {
  refused("{\"cidr\":" + std::string(60'000, '[') + "\n");
  EXPECT_HAS(refused("{\"cidr\":\"1.1.1.1\"}\n{" + std::string(100'000, ' ') + "}\n"), "feed:2: ");
}

TEST(FeedIpset, create_and_add_lines_give_entries_with_timeout_and_comment) {
  const ListContent c = good(
      R"(create bad hash:net family inet hashsize 1024 maxelem 65536 timeout 0 comment counters bucketsize 12 initval 0x1d
add bad 1.2.3.0/24 timeout 600 packets 1 bytes 84 comment "ssh, again"
add bad 9.9.9.9 timeout 0
create bad6 hash:ip family inet6 hashsize 1024 maxelem 65536
add bad6 2001:db8::1
add bad 0.0.0.0/0
)");
  EXPECT_EQ(c.format, Format::ipset_save);
  EXPECT_EQ(prefixes(c), (Texts{"0.0.0.0/0", "1.2.3.0/24", "9.9.9.9", "2001:db8::1"}));
  EXPECT_EQ(note(c, "1.2.3.0/24").comment, "ssh, again");
  EXPECT_EQ(note(c, "1.2.3.0/24").ttl, std::chrono::seconds(600));
  EXPECT_EQ(note(c, "9.9.9.9").ttl, std::nullopt);
}

TEST(FeedIpset, what_it_cannot_express_is_refused_with_the_reason) {
  const std::string message = refused(R"(create a hash:net family inet
create p hash:ip,port family inet
create m hash:ip family inet netmask 24
create l list:set size 8
create a hash:net
add a 10.0.0.0/8 nomatch
add a 2001:db8::1
add p 10.0.0.1,tcp:80
add q 10.0.0.1
add a 10.0.0.1 timeout soon
add a 10.0.0.1 colour red
flush a
add a
)");
  EXPECT_HAS(message,
             "feed:2: \"create p hash:ip,port family inet\": a set of type hash:ip,port cannot be a list");
  EXPECT_HAS(
      message,
      "feed:3: \"create m hash:ip family inet netmask 24\": with netmask an address stands for a network");
  EXPECT_HAS(message, "feed:4: ");
  EXPECT_HAS(message, "feed:5: \"create a hash:net\": this set was created before");
  EXPECT_HAS(message, "feed:6: \"add a 10.0.0.0/8 nomatch\": nomatch makes an exception");
  EXPECT_HAS(message, "feed:7: \"add a 2001:db8::1\": an IPv6 address in a set of family inet");
  EXPECT_HAS(message, "feed:9: \"add q 10.0.0.1\": no create line above names this set");
  EXPECT_HAS(message, "feed:10: ");
  EXPECT_HAS(message, "feed:11: \"add a 10.0.0.1 colour red\": unknown option colour");
  EXPECT_HAS(message, "feed:12: \"flush a\"");
  EXPECT_HAS(message, "feed:13: ");
  EXPECT_HAS(message, "12 bad lines of 13") << "the add to the refused set counts";
  EXPECT_FALSE(has(message, "feed:8:")) << "what follows from line 2 is not listed again";
}

TEST(FeedFormat, is_found_in_the_content) {
  EXPECT_EQ(detect_format("# firehol\n\n1.2.3.4\n"), Format::plain);
  EXPECT_EQ(detect_format("; Spamhaus\n1.2.3.4\n"), Format::spamhaus_text);
  EXPECT_EQ(detect_format("1.2.3.4 ; SBL1\n"), Format::spamhaus_text);
  EXPECT_EQ(detect_format("\xEF\xBB\xBF{\"cidr\":\"1.2.3.4\"}\n"), Format::spamhaus_json);
  EXPECT_EQ(detect_format("# saved\ncreate a hash:ip\n"), Format::ipset_save);
  EXPECT_EQ(detect_format(""), Format::plain);
}

TEST(FeedFormat, a_format_that_is_given_is_not_guessed) {
  EXPECT_FALSE(parse_feed("1.2.3.4\n", "feed", {.format = Format::spamhaus_json}));
  EXPECT_FALSE(parse_feed("{\"cidr\":\"1.2.3.4\"}\n", "feed", {.format = Format::plain}));
}

class FeedFile : public testing::Test {
protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("rules-feed-" + std::to_string(::getpid()));
};

TEST_F(FeedFile, is_read_whole_and_named_in_errors) {
  const auto path = folder_ / "list.txt";
  std::ofstream(path) << "10.0.0.1\n10.0.0.2";
  const auto content = load_feed(path);
  ASSERT_TRUE(content) << content.error().message;
  EXPECT_EQ(content->size(), 2u);
  EXPECT_EQ(content->bytes, 17u);
  std::ofstream(path) << "x\n";
  EXPECT_HAS(load_feed(path).error().message, path.string() + ":1: \"x\"");
}

TEST_F(FeedFile, that_is_no_regular_file_is_refused_at_once) {
  EXPECT_HAS(load_feed(folder_ / "absent").error().message, "No such file or directory");
  EXPECT_HAS(load_feed(folder_).error().message, "it is a folder");
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_HAS(load_feed(folder_ / "pipe").error().message, "not a regular file");
}

TEST_F(FeedFile, and_inline_entries_make_one_list) {
  config::List list;
  list.name = "a";
  list.file = folder_ / "list.txt";
  list.entries = {"10.0.0.9", "10.0.0.1", "::1"};
  std::ofstream(list.file) << "10.0.0.1 # from the file\n10.0.0.5 # too\n";
  const auto content = load_list(list);
  ASSERT_TRUE(content) << content.error().message;
  EXPECT_EQ(prefixes(*content), (Texts{"10.0.0.1", "10.0.0.5", "10.0.0.9", "::1"}));
  EXPECT_EQ(content->duplicates, 1u);
  EXPECT_EQ(note(*content, "10.0.0.1").comment, "from the file");
  list.entries = {"10.0.0.1/8"};
  EXPECT_HAS(load_list(list).error().message, "entries of list a:1: \"10.0.0.1/8\"");
}

TEST(FeedJoin, keeps_the_notes_of_both) {
  const ListContent joined =
      join(good("10.0.0.1 # a\n10.0.0.2\n"), good("10.0.0.1 # b\n10.0.0.2 # c\n10.0.0.3 # d\n"));
  EXPECT_EQ(note(joined, "10.0.0.1").comment, "a");
  EXPECT_EQ(note(joined, "10.0.0.2").comment, "c");
  EXPECT_EQ(note(joined, "10.0.0.3").comment, "d");
  EXPECT_EQ(joined.duplicates, 2u);
}

TEST(FeedDynamic, a_dynamic_list_starts_empty) {
  config::List list;
  list.dynamic = true;
  const auto content = load_list(list);
  ASSERT_TRUE(content);
  EXPECT_TRUE(content->empty());
}

} // namespace
} // namespace weir::rules::feed_formats_test
