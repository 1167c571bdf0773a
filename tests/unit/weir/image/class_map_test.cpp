// The class map of compact mode: it names the list of every denied host, follows changes by the overlay, and is refused where
// it names what is not there.
#include "tests/support/deny_filter_case.hpp"
#include "weir/build/class_map_builder.hpp"
#include "weir/image/writer.hpp"
#include "weir/lookup/explain.hpp"

#include <gtest/gtest.h>

namespace weir::class_map_test {
namespace {

using image::Change, image::DeltaOp, image::DenyFilterRole;

constexpr ListId guests = 3, drop = 7, rare = 200;

struct Example {
  std::vector<build::EntryV4> v4{test::entry_v4("10.9.0.0/24", rare)};
  std::vector<build::EntryV6> v6;
  std::vector<std::byte> map;

  Example() {
    for (std::uint32_t h = 0; h < 2000; ++h) v4.push_back({0x0A010000 + h, 32, 0, list_of(h)});
    for (std::uint32_t h = 0; h < 500; ++h) {
      v6.push_back(test::entry_v6("2001:db8::1:0", list_of(h)));
      v6.back().address[14] = static_cast<std::uint8_t>(h >> 8);
      v6.back().address[15] = static_cast<std::uint8_t>(h);
    }
    test::sort_entries(v4);
    test::sort_entries(v6);
  }
  [[nodiscard]] static ListId list_of(std::uint32_t h) {
    return h % 100 == 0 ? rare : h % 10 == 0 ? drop : guests;
  }

  [[nodiscard]] build::BuildInput input() const {
    build::BuildInput in;
    in.lists = {{"guests", guests}, {"drop", drop}, {"rare", rare}};
    in.deny = {v4, v6};
    in.seed = 3;
    in.identity.generation = 4;
    return in;
  }
  [[nodiscard]] Result<build::BuildReport> try_build(DenyFilterRole role, test::ImageMemory &memory) {
    build::BuildInput in = input();
    const build::DenyFilter stack =
        build::build_deny_filter(in.deny, test::plan_of({.depth = 1, .bits = 24}, role), in.seed).value();
    if (map.empty()) map = build::build_class_map(in.deny, in.seed).value();
    in.deny_filter = stack.input();
    in.deny_filter.class_map = map;
    return build::build_growing(in, [&](std::uint64_t bytes) -> Result<MutableBytes> {
      memory = test::ImageMemory(bytes);
      return memory.bytes();
    });
  }
  [[nodiscard]] test::ImageMemory build() {
    test::ImageMemory memory(0);
    (void)try_build(DenyFilterRole::judge, memory).value();
    return memory;
  }
};

Address address(const char *text) { return parse_address(text).value(); }

// As workers do: tables, overlay and judge, and then the map for what the judge denies.
std::string denied_by(const image::ImageView &view, const Address &a) {
  const std::uint32_t value = image::lookup(view, Side::deny, a);
  if (value == 0) return "-";
  const ListId list = table::value::list_of(value);
  return std::string(
      image::list_name(view, list == compact_list ? view.class_map.list_of(test::host_hash(view, a)) : list));
}

Change change(image::ImageWriter &writer, DeltaOp op, const Address &host, ListId list) {
  const auto length = static_cast<std::uint8_t>(address_bits(host.family));
  return writer.apply(
      {.op = op, .family = host.family, .length = length, .list = list, .address = host.bytes});
}

TEST(ClassMap, names_the_list_of_every_host_of_both_families) {
  Example example;
  const test::ImageMemory m = example.build();
  const image::ImageView view = m.view();
  ASSERT_FALSE(view.class_map.empty());
  EXPECT_EQ(view.class_map.bytes(), example.map.size());
  for (std::uint32_t h = 0; h < 2000; ++h)
    ASSERT_EQ(view.class_map.list_of(test::host_hash(view, Address::from_host(0x0A010000 + h))),
              Example::list_of(h));
  EXPECT_EQ(denied_by(view, address("2001:db8::1:0")), "rare");
  EXPECT_EQ(denied_by(view, address("2001:db8::1:a")), "drop");
  EXPECT_EQ(denied_by(view, address("10.9.0.77")), "rare") << "a prefix, by its own table";
  EXPECT_EQ(denied_by(view, address("172.16.0.1")), "-");
  const auto predicted = static_cast<double>(build::class_map_bytes(example.input().deny));
  EXPECT_NEAR(static_cast<double>(example.map.size()) / predicted, 1, 0.02);
}

TEST(ClassMap, takes_no_bits_for_one_list) {
  Example example;
  for (auto &e : example.v4) e.list = drop;
  for (auto &e : example.v6) e.list = drop;
  const test::ImageMemory m = example.build();
  EXPECT_EQ(example.map.size(), sizeof(filter::FilterHeader));
  EXPECT_EQ(denied_by(m.view(), address("10.1.0.7")), "drop");
}

// Prefixes stand in a table, which knows their lists.
TEST(ClassMap, is_none_where_there_is_no_host) {
  std::vector<build::EntryV4> prefixes{{0x0A000000, 8, 0, drop}};
  build::SideInput deny;
  deny.v4 = prefixes;
  const auto map = build::build_class_map(deny, 3);
  ASSERT_TRUE(map) << map.error().message;
  EXPECT_TRUE(map->empty()) << "a symbol for nobody would be a list that may not be there";
}

TEST(ClassMap, is_not_built_without_a_judge_nor_with_other_lists_than_the_rules) {
  Example example;
  test::ImageMemory memory(0);
  const auto front = example.try_build(DenyFilterRole::front, memory);
  ASSERT_FALSE(front);
  EXPECT_NE(front.error().message.find("without a judge"), std::string::npos) << front.error().message;
  auto other = example.input().deny;
  std::vector<build::EntryV4> moved(other.v4.begin(), other.v4.end());
  for (build::EntryV4 &e : moved)
    if (e.host == 0x0A010005) e.list = drop;
  other.v4 = moved;
  example.map = build::build_class_map(other, 3).value();
  const auto wrong = example.try_build(DenyFilterRole::judge, memory);
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("does not answer for 10.1.0.5/32"), std::string::npos)
      << wrong.error().message;
  for (build::EntryV4 &e : moved)
    if (e.host == 0x0A010005) e.list = 9;
  example.map = build::build_class_map(other, 3).value();
  const auto unknown = example.try_build(DenyFilterRole::judge, memory);
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message.find("names list number 9"), std::string::npos)
      << unknown.error().message;
}

TEST(ClassMap, leaves_what_has_changed_to_the_overlay) {
  Example example;
  const test::ImageMemory m = example.build();
  auto writer = image::ImageWriter::attach(m.bytes(), [] {}).value();
  const image::ImageView &view = writer.view();
  const Address host = address("10.1.0.7"), fresh = address("10.1.200.1"), six = address("2001:db8::1:a");
  EXPECT_EQ(change(writer, DeltaOp::set, host, drop), Change::overlay);
  EXPECT_EQ(denied_by(view, host), "drop");
  EXPECT_EQ(change(writer, DeltaOp::set, six, rare), Change::overlay);
  EXPECT_EQ(denied_by(view, six), "rare");
  EXPECT_EQ(change(writer, DeltaOp::unset, host, drop), Change::overlay);
  EXPECT_EQ(denied_by(view, host), "-");
  EXPECT_EQ(change(writer, DeltaOp::set, host, guests), Change::overlay)
      << "a tombstone stands before the map";
  EXPECT_EQ(denied_by(view, host), "guests");
  for (const ListId list : {guests, drop, rare}) {
    EXPECT_NE(change(writer, DeltaOp::set, fresh, list), Change::needs_rebuild);
    EXPECT_EQ(denied_by(view, fresh), image::list_name(view, list));
  }
}

TEST(ClassMap, denies_under_another_name_rather_than_not_when_the_overlay_is_full) {
  Example example;
  const test::ImageMemory m = example.build();
  auto writer = image::ImageWriter::attach(m.bytes(), [] {}).value();
  unsigned in_overlay = 0, in_place = 0, misnamed = 0;
  for (std::uint32_t h = 0; h < 1000; ++h) {
    const Address a = Address::from_host(0x0A020000 + h);
    const Change done = change(writer, DeltaOp::set, a, rare);
    ASSERT_NE(done, Change::needs_rebuild);
    (done == Change::overlay ? in_overlay : in_place) += 1;
    const std::string name = denied_by(writer.view(), a);
    EXPECT_NE(name, "-");
    misnamed += name != "rare";
    if (in_place == 0) {
      EXPECT_EQ(misnamed, 0u);
    }
  }
  EXPECT_GT(in_overlay, 10u);
  EXPECT_GT(in_place, 10u);
  EXPECT_GT(misnamed, 0u);
}

TEST(ClassMap, is_told_by_explain) {
  Example example;
  const test::ImageMemory m = example.build();
  const auto why = lookup::explain(m.view(), address("10.1.0.10"));
  EXPECT_EQ(why.verdict, Verdict::drop);
  EXPECT_EQ(why.list, "drop");
  EXPECT_TRUE(why.judged);
  EXPECT_TRUE(std::ranges::any_of(why.path, [](const auto &step) {
    return step.step == "class map" && step.text == "list drop, if a rule denies the host";
  }));
  EXPECT_FALSE(lookup::explain(m.view(), address("10.9.0.77")).judged);
}

} // namespace
} // namespace weir::class_map_test
