// explain() walks the same lines as a lookup and says where it ended.
#include "tests/support/allow_filter_kind.hpp"
#include "tests/support/image_memory.hpp"
#include "weir/build/prefix_ranges.hpp"
#include "weir/image/writer.hpp"
#include "weir/key/text.hpp"
#include "weir/lookup/explain.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace weir::lookup::explain_test {
namespace {

std::string step(const Explanation &e, std::string_view name) {
  for (const Explanation::Step &s : e.path)
    if (s.step == name) return s.text;
  return "(no such step)";
}

struct Example {
  std::vector<build::EntryV4> deny4{test::entry_v4("10.0.0.0/8", 1), test::entry_v4("10.1.1.0/24", 1),
                                    test::entry_v4("10.1.1.9", 2)};
  std::vector<build::EntryV6> deny6{test::entry_v6("2001:db8::/32", 1)};

  test::ImageMemory build(bool front, bool ranges = true) const {
    build::BuildInput in;
    if (!ranges) in.ranges = std::make_shared<const build::PrefixRanges>(); // prefixes in the table
    in.lists = {{"drop", 1}, {"bans", 2}};
    in.deny = {deny4, deny6, front};
    in.seed = 3;
    return test::ImageMemory::build(in);
  }
};

TEST(Explain, names_the_line_and_slot_of_a_host_and_the_range_that_answers) {
  const test::ImageMemory m = Example().build(false);
  const Explanation e = explain(m.view(), parse_address("10.1.1.9").value());
  EXPECT_EQ(e.verdict, Verdict::drop);
  EXPECT_EQ(e.list, "bans");
  EXPECT_EQ(e.entry, "10.1.1.9");
  EXPECT_EQ(step(e, "deny lengths"), "(no such step)");
  EXPECT_TRUE(step(e, "deny /32").ends_with(": match")) << step(e, "deny /32");
  EXPECT_TRUE(step(e, "deny ranges").ends_with(": 10.1.1.0/24")) << step(e, "deny ranges");
  EXPECT_TRUE(step(e, "allow ranges").ends_with(": no prefix")) << step(e, "allow ranges");
  const Explanation other = explain(m.view(), parse_address("10.2.2.9").value());
  EXPECT_EQ(other.entry, "10.0.0.0/8");
  EXPECT_EQ(step(other, "deny /32"), "no hosts near it: absent");
  const Explanation v6 = explain(m.view(), parse_address("2001:db8::1").value());
  EXPECT_EQ(v6.list, "drop");
  EXPECT_TRUE(step(v6, "deny ranges").ends_with(": 2001:db8::/32")) << step(v6, "deny ranges");
}

TEST(Explain, names_line_and_slot_of_every_length_that_a_table_is_asked_for) {
  const test::ImageMemory m = Example().build(false, false);
  const Explanation e = explain(m.view(), parse_address("10.1.1.9").value());
  EXPECT_EQ(e.verdict, Verdict::drop);
  EXPECT_EQ(e.list, "bans");
  EXPECT_EQ(e.entry, "10.1.1.9");
  EXPECT_EQ(step(e, "deny lengths"), "below 10.1.0.0/16: /8 /24 /32");
  EXPECT_TRUE(step(e, "deny /32").ends_with(": match")) << step(e, "deny /32");
  EXPECT_TRUE(step(e, "deny /24").ends_with(": match")) << step(e, "deny /24");
  const Explanation other = explain(m.view(), parse_address("10.1.2.9").value());
  EXPECT_EQ(other.entry, "10.0.0.0/8");
  EXPECT_TRUE(step(other, "deny /32").ends_with("group bit clear: absent")) << step(other, "deny /32");
}

TEST(Explain, says_when_the_front_filter_ends_a_lookup) {
  const test::ImageMemory m = Example().build(true);
  EXPECT_EQ(step(explain(m.view(), parse_address("10.1.2.9").value()), "deny /32"), "front filter: absent");
}

TEST(Explain, names_the_one_line_that_a_chain_leads_to) {
  const Example example;
  build::BuildInput in;
  in.lists = {{"drop", 1}, {"bans", 2}};
  in.deny = {example.deny4, example.deny6, false, build::Predictor::chained};
  const test::ImageMemory m = test::ImageMemory::build(in);
  const std::string hit = step(explain(m.view(), parse_address("10.1.1.9").value()), "deny /32");
  EXPECT_TRUE(hit.starts_with("chained predictor: table 1 line") && hit.ends_with(": match")) << hit;
  const std::string absent = step(explain(m.view(), parse_address("10.1.2.8").value()), "deny /32");
  EXPECT_TRUE(absent.ends_with("no match: absent")) << absent;
}

// Two allowed hosts in a denied net, one outside; the filter is large enough to refuse all else.
struct AllowFilterExample {
  std::vector<build::EntryV4> deny4{test::entry_v4("10.0.0.0/8", 1)};
  std::vector<build::EntryV4> allow4{test::entry_v4("10.1.1.9", 2), test::entry_v4("10.2.0.0/16", 2),
                                     test::entry_v4("192.0.2.1", 2)};

  test::ImageMemory build(Confirm confirm, test::AllowFilterKind kind = test::AllowFilterKind::seesaw) const {
    build::BuildInput in;
    in.lists = {{"drop", 1}, {"ops", 2, Side::allow}};
    in.deny = {deny4, {}};
    in.allow = {allow4, {}};
    in.policy.confirm = confirm;
    if (kind == test::AllowFilterKind::cuckoo)
      in.allow_filter.params = build::CuckooParams{8, {16, 20}};
    else
      in.allow_filter.params = build::SeesawParams{.planned_keys = 8, .cell_words = 64, .modulator_words = 8};
    return test::ImageMemory::build(in);
  }
};

TEST(Explain, shows_what_the_filter_in_front_of_the_allow_tables_answered) {
  const test::ImageMemory m = AllowFilterExample().build(Confirm::exact);
  const Explanation allowed = explain(m.view(), parse_address("10.1.1.9").value());
  EXPECT_EQ(allowed.reason, Reason::allow);
  EXPECT_TRUE(step(allowed, "allow /32").starts_with("seesaw: yes; table 1 line"))
      << step(allowed, "allow /32");
  const Explanation denied = explain(m.view(), parse_address("10.1.1.8").value());
  EXPECT_EQ(denied.reason, Reason::deny);
  EXPECT_EQ(step(denied, "allow /32"), "seesaw: no");
  EXPECT_EQ(step(denied, "allow"), "seesaw: no");
  EXPECT_EQ(explain(m.view(), parse_address("10.2.3.4").value()).reason, Reason::allow)
      << "a prefix stands in the ranges, not in the filter";
}

TEST(Explain, under_on_conflict_asks_the_allow_side_about_denied_addresses_alone) {
  const test::ImageMemory m = AllowFilterExample().build(Confirm::on_conflict);
  const Explanation saved = explain(m.view(), parse_address("10.1.1.9").value());
  EXPECT_EQ(saved.reason, Reason::allow);
  EXPECT_EQ(saved.list, "ops");
  EXPECT_EQ(saved.entry, "10.1.1.9");
  const Explanation undenied = explain(m.view(), parse_address("192.0.2.1").value());
  EXPECT_EQ(undenied.verdict, Verdict::pass);
  EXPECT_EQ(undenied.reason, Reason::fallthrough);
  EXPECT_EQ(undenied.list, "");
  EXPECT_EQ(step(undenied, "allow"), "not asked: nothing denies it");
  const Explanation denied = explain(m.view(), parse_address("10.1.1.8").value());
  EXPECT_EQ(denied.reason, Reason::deny);
  EXPECT_EQ(denied.list, "drop");
  EXPECT_EQ(step(denied, "allow"), "seesaw: no");
}

TEST(Explain, names_the_kind_of_the_filter) {
  const test::ImageMemory m = AllowFilterExample().build(Confirm::exact, test::AllowFilterKind::cuckoo);
  EXPECT_TRUE(step(explain(m.view(), parse_address("10.1.1.9").value()), "allow /32")
                  .starts_with("cuckoo: yes; table 1 line"));
  EXPECT_EQ(step(explain(m.view(), parse_address("10.1.1.8").value()), "allow"), "cuckoo: no");
}

TEST(Explain, says_when_the_overlay_decides) {
  Example example;
  example.deny4.clear();
  example.deny6.clear();
  const test::ImageMemory m = example.build(false);
  auto writer = image::ImageWriter::attach(m.bytes(), [] {}).value();
  image::Delta d;
  d.length = 32;
  d.list = 2;
  image::Change change = image::Change::in_place;
  for (std::uint32_t n = 0; change != image::Change::overlay; ++n) { // fills the table first
    d.address = Address::from_host(0xC6330000 + n).bytes;
    change = writer.apply(d);
    ASSERT_NE(change, image::Change::needs_rebuild);
  }
  const Address last = Address::from_wire(load_unaligned<std::uint32_t>(d.address.data()));
  EXPECT_EQ(step(explain(writer.view(), last), "deny /32"), "overlay: match");
  d.op = image::DeltaOp::unset;
  ASSERT_EQ(writer.apply(d), image::Change::overlay);
  EXPECT_EQ(step(explain(writer.view(), last), "deny /32"), "overlay: removed, absent");
}

} // namespace
} // namespace weir::lookup::explain_test
