// Images to registers: which bank, which elements, what is refused and with which words.
#include "p4/export/exporter.hpp"
#include "p4/export/text_sink.hpp"
#include "tests/p4/model.hpp"
#include "tests/support/deny_filter_case.hpp"
#include "tests/support/packets.hpp"
#include "tests/support/test_image.hpp"
#include "weir/image/writer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace weir::exporter_test {
namespace {

using p4::Array;

Prefix prefix(const char *text) { return parse_prefix(text).value(); }
Address address(const char *text) { return parse_address(text).value(); }

test::RuleSet example() {
  return {{},
          {{"bad",
            Side::deny,
            {prefix("203.0.113.7"), prefix("198.51.100.0/24"), prefix("10.0.0.0/8"), prefix("2001:db8::7"),
             prefix("2001:db8:1::/48")}},
           {"good", Side::allow, {prefix("198.51.100.9"), prefix("2001:db8:1::9")}}}};
}
constexpr std::array asked{
    "203.0.113.7", "203.0.113.8", "198.51.100.9",  "198.51.100.10", "10.9.9.9", "11.0.0.0",
    "2001:db8::7", "2001:db8::8", "2001:db8:1::9", "2001:db8:1::8", "0.0.0.0",  "255.255.255.255",
    "::"};

// A sink whose calls fail when they are told to.
class Target final : public p4::RegisterSink {
public:
  explicit Target(const p4::Capacities &capacities = p4::default_capacities()) : memory_(capacities) {}

  [[nodiscard]] Result<std::uint64_t> capacity(std::string_view array) override {
    if (gone) return fail(Errc::io, "the target is gone");
    return memory_.capacity(array);
  }
  [[nodiscard]] Status write(std::string_view array, std::uint64_t first,
                             std::span<const std::uint64_t> values) override {
    if (array == failing) return fail(Errc::io, "the target does not take it");
    return memory_.write(array, first, values);
  }
  [[nodiscard]] Status flip(unsigned bank) override {
    if (keeps_bank) return fail(Errc::io, "the target keeps its bank");
    return memory_.flip(bank);
  }
  [[nodiscard]] std::uint64_t at(Array array, std::uint64_t index) const {
    return registers().of(array).at(index);
  }
  [[nodiscard]] const p4::Registers &registers() const noexcept { return memory_.registers(); }

  bool gone = false, keeps_bank = false;
  std::string failing;

private:
  p4::TextSink memory_;
};

class P4Export : public testing::Test {
protected:
  test::TestImage image{example(), {.family = HashFamily::jhash}};
  Target target;
  p4::Exporter exporter{target};
  test::P4Model model{target.registers()};

  void expect_answers(const image::ImageView &view) const {
    for (const char *text : asked)
      for (const Side side : {Side::deny, Side::allow})
        EXPECT_EQ(model.lookup(side, address(text)), image::lookup(view, side, address(text))) << text;
  }
  [[nodiscard]] image::ImageWriter writer() {
    return image::ImageWriter::attach(image.bytes(), [] {}).value();
  }
  static void change(image::ImageWriter &writer, const char *text, std::optional<ListId> list) {
    const Prefix p = prefix(text);
    const image::Delta delta{.op = list ? image::DeltaOp::set : image::DeltaOp::unset,
                             .family = p.family(),
                             .length = p.length,
                             .list = list.value_or(ListId()),
                             .address = p.address.bytes};
    ASSERT_NE(writer.apply(delta), image::Change::needs_rebuild);
  }
  [[nodiscard]] std::string refusal(const image::ImageView &view, const p4::Setting &setting = {}) {
    const auto done = exporter.write(view, setting);
    if (done) return "written";
    EXPECT_EQ(done.error().code, Errc::refused);
    return done.error().message;
  }
};

TEST_F(P4Export, gives_registers_that_answer_as_the_image_does) {
  ASSERT_TRUE(exporter.write(image.view()));
  EXPECT_NE(model.lookup(Side::deny, address("203.0.113.7")), 0u);
  expect_answers(image.view());
}

TEST_F(P4Export, puts_a_short_prefix_into_the_cells_of_the_length_map) {
  ASSERT_TRUE(exporter.write(image.view()));
  const std::uint64_t bank1 = 1u << 17;
  EXPECT_EQ(target.at(Array::lmap, bank1 | 0x0A09), table::value::make(0, 8))
      << "10.9.0.0/16 lies in 10.0.0.0/8";
  EXPECT_EQ(target.at(Array::lmap, bank1 | 0x0B00), 0u);
  EXPECT_EQ(target.at(Array::lmap, bank1 | 0xC633), std::uint64_t{1} << (32 + 24 - 17)) << "198.51.0.0/16";
  EXPECT_EQ(target.at(Array::lmap, bank1 | 1u << 16 | 0xC633), std::uint64_t{1} << 47) << "the allow side";
}

TEST_F(P4Export, puts_a_key_and_its_value_into_one_element) {
  ASSERT_TRUE(exporter.write(image.view()));
  const std::vector<std::uint64_t> &slots = target.registers().of(Array::slots4);
  const std::uint64_t host = std::uint64_t{0xCB007107} << 32 | table::value::make(0, 32);
  EXPECT_EQ(std::ranges::count(slots, host), 1);
  EXPECT_EQ(std::ranges::find(slots, host) - slots.begin() >= std::ptrdiff_t{1} << 19, true)
      << "the half of bank 1";
  EXPECT_GT(std::ranges::count(slots, p4::empty_slot), 0);
}

TEST_F(P4Export, gives_every_table_elements_of_its_own) {
  ASSERT_TRUE(exporter.write(image.view()));
  const auto bases = [&](std::uint32_t parameter) {
    std::set<std::uint64_t> all;
    for (std::uint32_t n = 0; n < 4; ++n)
      all.insert(
          target.at(Array::cfg, p4::cfg_elements + p4::cfg::lookup + n * p4::cfg::lookup_stride + parameter));
    return all.size();
  };
  EXPECT_EQ(bases(p4::cfg::side::chain_base), 4u) << "of all sides and families, however small";
  EXPECT_EQ(target.at(Array::cfg, p4::cfg_elements + p4::cfg::lookup + p4::cfg::side::chain_base), 1u << 16);
}

TEST_F(P4Export, fills_the_idle_bank_and_turns_to_it) {
  EXPECT_EQ(exporter.bank(), 0u);
  EXPECT_EQ(exporter.write(image.view())->bank, 1u);
  EXPECT_EQ(target.at(Array::bank, 0), 1u);
  EXPECT_EQ(target.at(Array::cfg, p4::cfg::valid), 0u) << "bank 0 holds nothing yet";
  EXPECT_EQ(exporter.write(image.view())->bank, 0u);
  EXPECT_EQ(target.at(Array::bank, 0), 0u);
  EXPECT_EQ(target.at(Array::cfg, p4::cfg::valid), 1u);
}

TEST_F(P4Export, writes_the_one_element_that_a_delta_changes_once_to_each_bank) {
  ASSERT_TRUE(exporter.write(image.view()));
  ASSERT_TRUE(exporter.write(image.view()));
  EXPECT_EQ(exporter.write(image.view())->written, 0u) << "both banks hold it";
  image::ImageWriter writes = writer();
  change(writes, "203.0.113.7", ListId(1)); // another list, in its slot
  for (const std::uint64_t elements : {1u, 1u, 0u}) {
    const auto done = exporter.write(image.view());
    ASSERT_TRUE(done);
    EXPECT_EQ(done->written, elements);
    EXPECT_EQ(done->runs, elements);
    EXPECT_EQ(table::value::list_of(model.lookup(Side::deny, address("203.0.113.7"))), 1u);
  }
}

TEST_F(P4Export, carries_additions_and_removals_that_stand_in_an_overlay) {
  image::ImageWriter writes = writer();
  const std::uint32_t &in_overlay = *image.view().v4[Side::deny].overlay.keys;
  const auto host = [](unsigned n) { return "203.0.114." + std::to_string(n); };
  unsigned hosts = 0;
  while (in_overlay < 20 && hosts < 250) change(writes, host(hosts++).c_str(), ListId(0));
  change(writes, host(hosts - 1).c_str(), std::nullopt);
  ASSERT_GE(in_overlay, 20u);
  ASSERT_TRUE(exporter.write(image.view()));
  expect_answers(image.view());
  for (unsigned n = 0; n < hosts; ++n)
    EXPECT_EQ(model.lookup(Side::deny, address(host(n).c_str())) != 0, n + 1 < hosts) << host(n);
}

TEST_F(P4Export, says_which_address_each_port_judges) {
  constexpr std::array sides{PortSide::outside, PortSide::inside};
  ASSERT_TRUE(exporter.write(image.view(), {.ports = sides}));
  const test::Frame from = test::FrameBuilder()
                               .ethernet()
                               .ipv4({.source = "203.0.113.7", .destination = "11.0.0.1"})
                               .udp(1, 2)
                               .frame();
  const test::Frame to = test::FrameBuilder()
                             .ethernet()
                             .ipv4({.source = "11.0.0.1", .destination = "203.0.113.7"})
                             .udp(1, 2)
                             .frame();
  EXPECT_EQ(model.judge(from.bytes, 0).reason, Reason::deny);
  EXPECT_EQ(model.judge(to.bytes, 0).reason, Reason::fallthrough);
  EXPECT_EQ(model.judge(from.bytes, 1).reason, Reason::fallthrough);
  EXPECT_EQ(model.judge(to.bytes, 1).reason, Reason::deny);
  EXPECT_EQ(model.judge(from.bytes, 2).reason, Reason::deny) << "a port without a side: the source";
}

TEST_F(P4Export, asks_the_allow_side_last_where_the_policy_says_so) {
  for (const Confirm confirm : {Confirm::exact, Confirm::on_conflict}) {
    test::RuleSet rules = example();
    rules.lists[1].prefixes.push_back(prefix("11.0.0.1"));
    rules.policy.confirm = confirm;
    const test::TestImage guarded(rules,
                                  {.guard = test::jhash_seesaw(100, 64, 8), .family = HashFamily::jhash});
    ASSERT_TRUE(exporter.write(guarded.view()));
    const auto reason = [&](const char *source) {
      return model.judge(test::FrameBuilder().ethernet().ipv4({.source = source}).udp(1, 2).frame().bytes, 0)
          .reason;
    };
    EXPECT_EQ(reason("198.51.100.9"), Reason::allow) << "denied as well";
    EXPECT_EQ(reason("11.0.0.1"), confirm == Confirm::exact ? Reason::allow : Reason::fallthrough);
    EXPECT_EQ(reason("203.0.113.7"), Reason::deny);
  }
}

TEST_F(P4Export, leaves_no_image_with_the_verdict_for_that) {
  const test::Frame frame = test::FrameBuilder().ethernet().ipv4({.source = "203.0.113.7"}).udp(1, 2).frame();
  EXPECT_EQ(model.judge(frame.bytes, 0).reason, Reason::no_image) << "a program just loaded";
  EXPECT_EQ(model.judge(frame.bytes, 0).verdict, Verdict::pass);
  ASSERT_TRUE(exporter.write_none({.no_image = Verdict::drop}));
  EXPECT_EQ(model.judge(frame.bytes, 0).reason, Reason::no_image);
  EXPECT_EQ(model.judge(frame.bytes, 0).verdict, Verdict::drop);
  ASSERT_TRUE(exporter.write(image.view()));
  EXPECT_EQ(model.judge(frame.bytes, 0).reason, Reason::deny);
  ASSERT_TRUE(exporter.write_none());
  EXPECT_EQ(model.judge(frame.bytes, 0).verdict, Verdict::pass);
}

TEST_F(P4Export, knows_what_a_bank_holds_beyond_the_end_of_what_was_written_last) {
  for (unsigned n = 0; n < p4::banks; ++n) ASSERT_TRUE(exporter.write(image.view()));
  for (unsigned n = 0; n < p4::banks; ++n) ASSERT_TRUE(exporter.write_none());
  const auto again = exporter.write(image.view());
  ASSERT_TRUE(again);
  EXPECT_LT(again->written, 1000u) << "parameters and cells; the slots still stand there";
  expect_answers(image.view());
}

// ---- what is refused -----------------------------------------------------------------------------

TEST_F(P4Export, refuses_the_other_hash_family) {
  const test::TestImage other(example());
  EXPECT_NE(refusal(other.view()).find("hash family is xxh3: start weir-control with --target p4"),
            std::string::npos);
}

TEST_F(P4Export, refuses_at_once_all_that_the_program_cannot_do) {
  test::RuleSet rules = example();
  rules.policy.match = Match::either;
  rules.policy.tunnels = Tunnels::both;
  for (unsigned length = 20; length < 29; ++length)
    rules.lists[1].prefixes.push_back(
        {masked(address("2001:db8::"), length), static_cast<std::uint8_t>(length)});
  test::TestImage wide(rules, {.family = HashFamily::jhash});
  auto writes = image::ImageWriter::attach(wide.bytes(), [] {}).value();
  writes.give_up_exactness(Side::deny);
  image::ImageView view = wide.view();
  const std::uint32_t in_stash = 3;
  view.v4[Side::allow].table.stash_keys = &in_stash;
  const std::string why = refusal(view, {.ports = std::vector<PortSide>(65)});
  for (const char *part :
       {"generation 1", "match: either judges two addresses, choose remote", "policy.tunnels",
        "65 input ports, only the first 64", "the allow side has IPv6 prefixes of 10 lengths, at most 8",
        "the predictor of the deny IPv4 table is no",
        "the predictor of the deny IPv6 table is no longer exact: build the image again",
        "the allow IPv4 table keeps 3 keys in its stash: build the image again"})
    EXPECT_NE(why.find(part), std::string::npos) << part << " is not in: " << why;
}

TEST_F(P4Export, refuses_a_stack_that_is_too_deep_for_the_program) {
  test::ImageOptions options{.family = HashFamily::jhash};
  options.stack = test::plan_of({filter::FilterKind::bloom, false, 9, 4}, image::DenyFilterRole::front);
  const test::TestImage deep(example(), options);
  EXPECT_NE(refusal(deep.view()).find("the stack of denied hosts has 9 layers, at most 7"),
            std::string::npos);
}

TEST_F(P4Export, names_each_array_that_is_too_small_and_the_size_that_does) {
  const p4::Capacities least = p4::capacities_for(image.view()).value();
  EXPECT_EQ(least, p4::default_capacities()) << "nobody has to enlarge anything for so little";
  test::RuleSet rules = example();
  for (std::uint32_t n = 0; n < 20'000; ++n)
    rules.lists[0].prefixes.push_back({Address::from_host(0xC0000000 + n), 32});
  const test::TestImage large(rules, {.family = HashFamily::jhash});

  p4::Capacities small = p4::default_capacities();
  small[static_cast<std::size_t>(Array::slots4)] = 1u << 12;
  small[static_cast<std::size_t>(Array::chain)] = 1u << 4;
  Target little(small);
  p4::Exporter to_little(little);
  const auto refused = to_little.write(large.view());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "registers of the P4 program are too small: slots4 (IPv4 tables and overlays) has 4096 elements "
            "and needs "
            "131072, chain (location predictors) has 16 elements and needs 1024; load it with slots4=131072 "
            "chain=1024");
  EXPECT_EQ(little.at(Array::bank, 0), 0u);

  small[static_cast<std::size_t>(Array::slots4)] = 131072;
  small[static_cast<std::size_t>(Array::chain)] = 1024;
  Target enough(small);
  p4::Exporter to_enough(enough);
  EXPECT_TRUE(to_enough.write(large.view()));
  small[static_cast<std::size_t>(Array::slots4)] = 65536;
  Target half(small);
  p4::Exporter to_half(half);
  EXPECT_EQ(to_half.write(large.view()).error().code, Errc::refused);
}

TEST_F(P4Export, goes_on_in_the_bank_in_use_when_a_write_fails) {
  ASSERT_TRUE(exporter.write(image.view()));
  ASSERT_TRUE(exporter.write(image.view()));
  image::ImageWriter writes = writer();
  change(writes, "203.0.113.8", ListId(0));
  for (const char *array : {"slots4", "lmap"}) { // the host, then the cell of a prefix that comes as well
    target.failing = array;
    const auto failed = exporter.write(image.view());
    ASSERT_FALSE(failed) << array;
    EXPECT_EQ(failed.error().message, "the target does not take it");
    EXPECT_EQ(exporter.bank(), 0u);
    EXPECT_EQ(model.lookup(Side::deny, address("203.0.113.8")), 0u) << array;
    EXPECT_NE(model.lookup(Side::deny, address("203.0.113.7")), 0u) << array;
    change(writes, "12.0.0.0/8", ListId(0));
  }
  target.failing.clear();
  const auto done = exporter.write(image.view());
  ASSERT_TRUE(done);
  EXPECT_EQ(done->written, done->elements) << "what the failed ones left there is unknown";
  EXPECT_NE(model.lookup(Side::deny, address("203.0.113.8")), 0u);
  EXPECT_NE(model.lookup(Side::deny, address("12.0.0.1")), 0u);
}

TEST_F(P4Export, writes_to_no_bank_while_packets_may_use_either) {
  target.keeps_bank = true;
  EXPECT_EQ(exporter.write(image.view()).error().message, "the target keeps its bank");
  const p4::Registers before = target.registers();
  EXPECT_EQ(exporter.write(image.view()).error().message, "the target keeps its bank");
  EXPECT_EQ(exporter.write_none().error().message, "the target keeps its bank");
  for (const p4::ArrayInfo &info : p4::arrays)
    EXPECT_EQ(target.registers().of(info.array), before.of(info.array)) << info.name;
  target.keeps_bank = false;
  const auto done = exporter.write(image.view());
  ASSERT_TRUE(done);
  EXPECT_EQ(done->bank, 0u) << "after bank 1, which was waiting";
  expect_answers(image.view());
}

TEST_F(P4Export, says_that_a_target_is_gone) {
  target.gone = true;
  EXPECT_EQ(exporter.write(image.view()).error().message, "the target is gone");
}

} // namespace
} // namespace weir::exporter_test
