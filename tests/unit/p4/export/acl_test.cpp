// The stand around p4/acl.p4 is strict: what the program does wrong it does not pass over.
#include "p4/export/exporter.hpp"
#include "tests/p4/acl.hpp"
#include "tests/support/packets.hpp"
#include "tests/support/test_image.hpp"
#include "weir/key/text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

namespace weir::test::acl_test {
namespace {

using testing::HasSubstr;

// acl.p4 with one text in place of another that stands there once.
P4Acl program_with(const std::string &old, const std::string &other) {
  std::ifstream in("p4/acl.p4");
  std::ostringstream all;
  all << in.rdbuf();
  std::string text = all.str();
  const std::size_t at = text.find(old);
  if (at == std::string::npos || text.find(old, at + 1) != std::string::npos)
    throw std::runtime_error("acl.p4 does not have this text once: " + old);
  text.replace(at, old.size(), other);
  const auto program = p4_16::Program::parse(text, "p4/acl.p4");
  if (!program) throw std::runtime_error(program.error().message);
  return P4Acl(*program);
}

// Of a denied host.
Result<P4Acl::Answer> answer_of(P4Acl program) {
  RuleSet rules;
  rules.policy.match = Match::source;
  rules.lists.push_back({.name = "listed", .prefixes = {parse_prefix("203.0.113.7/32").value()}});
  const TestImage image(rules, {.family = HashFamily::jhash});
  p4::Exporter exporter(program);
  const auto done = exporter.write(image.view());
  if (!done) throw std::runtime_error(done.error().message);
  return program.judge(FrameBuilder().ethernet().ipv4({.source = "203.0.113.7"}).udp(1, 2).frame().bytes);
}

constexpr std::string_view same = "list_hits.count(meta.list);";

TEST(P4Acl, denies_a_denied_host) {
  const auto is = answer_of(program_with(std::string(same), std::string(same)));
  ASSERT_TRUE(is) << is.error().message;
  EXPECT_EQ(*is, (P4Acl::Answer{Verdict::drop, Reason::deny, 1}));
}

TEST(P4Acl, answers_otherwise_when_one_number_of_the_text_is_wrong) {
  const auto is = answer_of(program_with("#define HOST_V4 0x200000", "#define HOST_V4 0x210000"));
  ASSERT_TRUE(is) << is.error().message;
  EXPECT_EQ(is->reason, Reason::fallthrough);
}

TEST(P4Acl, takes_no_answer_that_the_counters_do_not_share) {
  const auto error = [](const char *old, const char *other) {
    const auto is = answer_of(program_with(old, other));
    return is ? "none" : is.error().message;
  };
  EXPECT_THAT(error("packets.count(meta.kind);", ""), HasSubstr("no counter knows of the packet"));
  EXPECT_THAT(error("packets.count(meta.kind);", "packets.count(5);"),
              HasSubstr("packets[5] grew by 1 for reason 6"));
  EXPECT_THAT(error("bytes.count(meta.kind, hdr.from_port.wire);", "bytes.count(meta.kind, 1);"),
              HasSubstr("bytes[6] grew by 1 for reason 6"));
}

TEST(P4Acl, takes_no_frame_that_was_changed) {
  const auto is = answer_of(program_with(same.data(), "hdr.ipv4.hops = 0;"));
  ASSERT_FALSE(is);
  EXPECT_THAT(is.error().message, HasSubstr("the program changed a frame"));
}

TEST(P4Acl, ends_where_a_value_is_missing) {
  const auto is = answer_of(program_with("meta.cells = meta.bank << 17;", ""));
  ASSERT_FALSE(is);
  EXPECT_THAT(is.error().message, HasSubstr("p4/acl.p4:"));
  EXPECT_THAT(is.error().message, HasSubstr("read before this packet gave it a value: meta.cells"));
}

TEST(P4Acl, grows_its_arrays_and_stays_within_them) {
  P4Acl program = P4Acl::load().value();
  const std::uint64_t before = program.capacity("slots4").value();
  ASSERT_TRUE(program.enlarge("slots4", 2 * before));
  EXPECT_EQ(program.capacity("slots4").value(), 2 * before);
  EXPECT_THAT(program.enlarge("slots4", before).error().message, HasSubstr("slots4 has more than"));
  EXPECT_THAT(program.enlarge("none", 1).error().message, HasSubstr("no array none"));
  EXPECT_THAT(program.capacity("none").error().message, HasSubstr("no array none"));
  const std::array<std::uint64_t, 2> two{1, 2};
  EXPECT_TRUE(program.write("slots4", 2 * before - 2, two));
  EXPECT_THAT(program.write("slots4", 2 * before - 1, two).error().message,
              HasSubstr("past the end of slots4"));
}

} // namespace
} // namespace weir::test::acl_test
