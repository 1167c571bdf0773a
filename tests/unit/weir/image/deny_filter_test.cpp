// The section of denied hosts as a stacked filter: what its reader refuses, what its header predicts, and
// what deltas do to it.
#include "tests/support/base_filter_cases.hpp"
#include "tests/support/deny_filter_case.hpp"
#include "tests/support/seed.hpp"
#include "weir/image/deny_filter_writer.hpp"
#include "weir/image/writer.hpp"
#include "weir/lookup/explain.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace weir::deny_filter_test {
namespace {

using filter::FilterKind;
using image::Change, image::DenyFilterRole;

constexpr ListId bans = 1, other = 2;

struct Example {
  std::vector<build::EntryV4> v4{test::entry_v4("10.0.0.1", bans), test::entry_v4("10.0.0.2", bans),
                                 test::entry_v4("10.9.0.0/24", other)};
  std::vector<build::EntryV6> v6{test::entry_v6("2001:db8::1", bans)};
  std::vector<Prefix> spared{parse_prefix("10.0.7.0/24").value(), parse_prefix("2001:db8::700/120").value()};

  [[nodiscard]] build::BuildInput input() const {
    build::BuildInput in;
    in.lists = {{"bans", bans}, {"other", other}};
    in.deny = {v4, v6};
    in.seed = 3;
    in.identity.generation = 4;
    return in;
  }
  [[nodiscard]] test::ImageMemory build(DenyFilterRole role, test::StackKind kind = {}) const {
    build::DenyFilterSizes plan = test::plan_of(kind, role);
    plan.spared = spared;
    return test::build_with_stack(input(), plan);
  }
};

std::string denied_by(const image::ImageView &view, const char *address) {
  const std::uint32_t value = image::lookup(view, Side::deny, parse_address(address).value());
  return value == 0 ? "-" : std::string(image::list_name(view, table::value::list_of(value)));
}

Change change(image::ImageWriter &writer, image::DeltaOp op, const char *prefix, ListId list = bans) {
  const Prefix p = parse_prefix(prefix).value();
  return writer.apply(
      {.op = op, .family = p.family(), .length = p.length, .list = list, .address = p.address.bytes});
}

// ---- what the reader refuses ---------------------------------------------------------------------

class DenyFilterSection : public testing::Test {
protected:
  DenyFilterSection() {
    build::DenyFilterSizes plan = test::plan_of({}, DenyFilterRole::judge);
    plan.spared = example.spared;
    section = build::build_deny_filter(example.input().deny, plan, 3).value().section;
  }
  // A copy at a multiple of 64 bytes.
  [[nodiscard]] Result<image::DenyFilterView> attach() {
    memory = std::make_unique<test::ImageMemory>(section.size());
    std::ranges::copy(section, memory->bytes().begin());
    return image::DenyFilterView::attach(memory->bytes().first(section.size()), DenyFilterRole::judge);
  }
  void expect_refused(std::string_view words) {
    const auto view = attach();
    ASSERT_FALSE(view.has_value()) << "accepted; expected: " << words;
    EXPECT_EQ(view.error().code, Errc::bad_image);
    EXPECT_NE(view.error().message.find(words), std::string::npos) << view.error().message;
  }
  template <class T> void put(std::size_t at, T value) {
    std::memcpy(section.data() + at, &value, sizeof value);
  }

  Example example;
  std::vector<std::byte> section;
  std::unique_ptr<test::ImageMemory> memory;
};

TEST_F(DenyFilterSection, is_taken_as_it_was_built) {
  const auto view = attach();
  ASSERT_TRUE(view.has_value()) << view.error().message;
  EXPECT_TRUE(view->judges());
  EXPECT_EQ(view->depth(), 3u);
  EXPECT_EQ(view->built().positives, 3u);
  EXPECT_EQ(view->planned().spared_v4, 1u);
  EXPECT_EQ(view->planned().spared_v6, 1u);
}

TEST_F(DenyFilterSection, is_refused_when_a_field_is_impossible) {
  const auto honest = section;
  const auto with = [&](std::size_t at, auto value, std::string_view words) {
    section = honest;
    put(at, value);
    expect_refused(words);
  };
  with(0, std::uint8_t{1}, "reserved bytes are not zero");
  with(3, std::uint8_t{1}, "reserved bytes are not zero");
  with(60, std::uint8_t{1}, "reserved bytes are not zero");
  with(24, image::stack_rate_max + 1, "a planned rate lies above 1");
  with(40, std::uint32_t{1} << 30, "size does not match its ranges");
  with(64, std::uint32_t{0xFFFFFFFF}, "its ranges are out of order");
  const std::size_t stack = image::deny_filter_offset(1, 1), layers = stack + filter::stack_layers_offset(3);
  with(stack, std::uint8_t{0}, "stacked filter: the section does not begin as filters do");
  with(stack + 8, static_cast<std::uint32_t>(FilterKind::bloom), "stacked filter: the section holds a Bloom");
  with(stack + offsetof(filter::StackHeader, depth), std::uint32_t{2},
       "the section goes on after its last layer");
  with(stack + offsetof(filter::StackHeader, depth), std::uint32_t{0},
       "the number of layers is not one of 1 to 25");
  with(layers + 8, static_cast<std::uint32_t>(FilterKind::cuckoo), "layer 1: cuckoo filter");
  with(layers + 8, std::uint32_t{99}, "layer 1: filter: kind 99 (unknown filter) does not serve here");
  with(layers + 8, static_cast<std::uint32_t>(FilterKind::bloom), "layer 1: Bloom filter");
  with(layers + 16, std::uint32_t{0}, "there is no block");
}

TEST_F(DenyFilterSection, is_refused_with_an_even_number_of_layers) {
  std::vector<filter::Bloom> odd, even;
  odd.push_back(filter::Bloom::make(*filter::Bloom::shape_for(10, 512), 1).value());
  even.push_back(filter::Bloom::make(*filter::Bloom::shape_for(10, 512), 2).value());
  build::StackCounts counts;
  counts.keys = {0, 0};
  const auto stack = filter::Stacked<filter::Bloom>::of(std::move(odd), std::move(even)).value();
  const std::uint64_t begin = image::deny_filter_offset(0, 0);
  section.assign(begin + build::stack_section_bytes(stack), std::byte{0});
  build::write_stack(stack, counts, MutableBytes(section).subspan(begin));
  expect_refused("the number of layers is not an odd one: 2");
}

TEST_F(DenyFilterSection, is_refused_at_every_shorter_length) {
  const auto honest = section;
  for (std::size_t bytes = 0; bytes < honest.size(); bytes += 7) {
    section.assign(honest.begin(), honest.begin() + static_cast<std::ptrdiff_t>(bytes));
    EXPECT_FALSE(attach().has_value()) << bytes;
  }
}

// A stack of any layers, behind the header and the ranges of `section`.
std::vector<std::byte> with_layers(std::span<const std::byte> section, const std::vector<Bytes> &layers) {
  const auto depth = static_cast<unsigned>(layers.size());
  const std::size_t begin = image::deny_filter_offset(1, 1);
  std::vector<filter::StackLayerEntry> entries;
  std::size_t end = filter::stack_layers_offset(depth);
  for (const Bytes layer : layers) {
    entries.push_back({end, layer.size()});
    end = round_up(end + layer.size(), cache_line_bytes);
  }
  const filter::StackHeader header = filter::stack_header(depth);
  std::vector<std::byte> all(begin + end);
  const MutableBytes stack = MutableBytes(all).subspan(begin);
  std::ranges::copy(section.first(begin), all.begin());
  std::memcpy(stack.data(), &header, sizeof header);
  std::ranges::copy(std::as_bytes(std::span(entries)), stack.subspan(sizeof header).begin());
  for (unsigned i = 0; i < depth; ++i) std::ranges::copy(layers[i], stack.subspan(entries[i].offset).begin());
  return all;
}

TEST_F(DenyFilterSection, holds_layers_of_any_base_filter) {
  const std::uint64_t seed = test::seed_or(14);
  WEIR_TRACE_SEED(seed);
  const std::vector<KeyHash> hosts = test::random_keys(400, seed), others = test::absent_keys(4'000, seed);
  const std::span known = std::span(others).first(300);
  const auto layer = [&]<class F>(std::type_identity<F>, std::span<const KeyHash> keys, unsigned number) {
    return test::filled<F>(*test::shape_of<F>(keys.size(), 10), keys, number);
  };
  const auto one = layer(std::type_identity<filter::CuckooFilter>{}, hosts, 1);
  const auto two = layer(std::type_identity<build::XorFilter>{}, known, 2);
  const auto three = layer(std::type_identity<filter::CuckooFilter>{}, hosts, 3);
  section = with_layers(section, {one.section(), two.section(), three.section()});
  const auto view = attach();
  ASSERT_TRUE(view) << view.error().message;
  EXPECT_EQ(view->kind(), FilterKind::cuckoo);
  EXPECT_EQ(view->kind_below(), FilterKind::xor_table);
  EXPECT_TRUE(view->first().blocks.empty() && view->second().blocks.empty()) << "nothing for the kernels";
  EXPECT_EQ(view->bloom(0), nullptr);
  EXPECT_EQ(test::missed(*view, hosts), 0u);
  EXPECT_TRUE(test::batch_equals_single(*view, test::mixed_keys(hosts, others)));
  for (const KeyHash key : others)
    ASSERT_EQ(view->contains(key), one.contains(key) && (!two.contains(key) || three.contains(key)));
  auto writer = image::DenyFilterWriter::adopt(memory->bytes().first(section.size()), *view);
  ASSERT_TRUE(writer) << writer.error().message;
  EXPECT_FALSE(writer->insert(others.back())) << "additions belong into the overlay";
  EXPECT_EQ(test::missed(*view, hosts), 0u);
}

TEST_F(DenyFilterSection, is_refused_when_odd_or_even_layers_are_of_several_kinds) {
  const std::vector<KeyHash> keys = test::random_keys(100, 15);
  const auto blocks = test::filled<filter::SplitBlockFilter>(
      *test::shape_of<filter::SplitBlockFilter>(keys.size(), 10), keys, 1);
  const auto bloom = test::filled<filter::Bloom>(*test::shape_of<filter::Bloom>(keys.size(), 10), keys, 2);
  const Bytes a = blocks.section(), b = bloom.section();
  const auto honest = section;
  const auto taken = [&](const std::vector<Bytes> &layers) {
    section = with_layers(honest, layers);
    return attach().has_value();
  };
  EXPECT_TRUE(taken({a, b, a, b, a}));
  EXPECT_FALSE(taken({a, b, b, b, a}));
  EXPECT_FALSE(taken({a, b, a, a, a}));
  section = with_layers(honest, {a, b, b});
  expect_refused("of different kinds");
}

TEST_F(DenyFilterSection, has_at_most_nine_layers) {
  build::DenyFilterSizes plan = test::plan_of({.depth = 11}, DenyFilterRole::front);
  const auto too_deep = build::build_deny_filter(example.input().deny, plan, 3);
  ASSERT_FALSE(too_deep.has_value());
  EXPECT_EQ(too_deep.error().message, "11 layers, at most 9");
}

TEST(DenyFilter, is_refused_beside_a_front_filter_and_beside_a_list_of_its_name) {
  const Example example;
  build::BuildInput in = example.input();
  const auto stack =
      build::build_deny_filter(in.deny, test::plan_of({}, DenyFilterRole::judge), in.seed).value();
  in.deny_filter = stack.input();
  std::vector<std::byte> none;
  in.deny.front_filter = true;
  EXPECT_EQ(build::build_image(in, none).error().message, "two filters for the deny side: give it one");
  in.deny.front_filter = false;
  in.lists.push_back({"compact", 5});
  EXPECT_NE(build::build_image(in, none).error().message.find("rename it"), std::string::npos);
}

TEST(DenyFilter, of_another_seed_does_not_pass_the_check_of_the_image) {
  const Example example;
  build::BuildInput in = example.input();
  const auto stack =
      build::build_deny_filter(in.deny, test::plan_of({.bits = 16}, DenyFilterRole::judge), 99).value();
  in.deny_filter = stack.input();
  test::ImageMemory memory(build::image_bytes(in));
  const auto built = build::build_image(in, memory.bytes());
  ASSERT_FALSE(built.has_value());
  EXPECT_NE(built.error().message.find("does not answer for"), std::string::npos);
}

TEST(DenyFilter, refuses_a_denied_host_in_a_spared_range) {
  Example example;
  example.spared.push_back(parse_prefix("10.0.0.0/30").value());
  build::DenyFilterSizes plan = test::plan_of({}, DenyFilterRole::judge);
  plan.spared = example.spared;
  const auto stack = build::build_deny_filter(example.input().deny, plan, 3);
  ASSERT_FALSE(stack.has_value());
  EXPECT_EQ(stack.error().message, "deny entry 10.0.0.1 lies in a range that is never to be denied");
}

// ---- what its header predicts --------------------------------------------------------------------

class DenyFilterRates : public testing::TestWithParam<test::StackKind> {};

TEST_P(DenyFilterRates, are_those_that_the_header_predicts) {
  const std::uint64_t seed = test::seed_or(77);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  std::vector<build::EntryV4> hosts;
  std::vector<Address> known;
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    hosts.push_back({0x0A000000 + i * 3, 32, 0, bans});
    known.push_back(Address::from_host(0x30000000 + i));
  }
  build::BuildInput in;
  in.lists = {{"bans", bans}};
  in.deny = {hosts, {}};
  in.seed = random();
  build::DenyFilterSizes plan = test::plan_of(GetParam(), DenyFilterRole::judge);
  plan.known = known;
  plan.psi = 0.5;
  const build::DenyFilter stack = build::build_deny_filter(in.deny, plan, in.seed).value();
  in.deny_filter = stack.input(known);
  const test::ImageMemory memory = test::ImageMemory::build(in);
  const image::ImageView view = memory.view();
  unsigned unknown = 0;
  constexpr unsigned asked = 200'000;
  for (std::uint32_t i = 0; i < asked; ++i)
    unknown += view.deny_filter.contains(test::host_hash(view, Address::from_host(0x60000000 + i)));
  const double efpb = image::stack_rate(view.deny_filter.planned().efpb), measured = unknown / double{asked};
  EXPECT_NEAR(measured, efpb, 0.1 * efpb + 4 * std::sqrt(efpb / asked));
  const double efpr = image::stack_rate(view.deny_filter.planned().efpr);
  const double efpr_measured = 0.5 * memory.report().stack_accepts + 0.5 * measured;
  EXPECT_NEAR(efpr_measured, efpr, 0.1 * efpr + 4 * std::sqrt(efpr / asked));
  EXPECT_DOUBLE_EQ(stack.efpb, build::unknown_rate(stack.rates));
}

INSTANTIATE_TEST_SUITE_P(Kinds, DenyFilterRates,
                         testing::Values(test::StackKind{}, test::StackKind{.fuse_below = true},
                                         test::StackKind{.base = FilterKind::bloom, .depth = 5},
                                         test::StackKind{.base = FilterKind::binary_fuse, .bits = 10},
                                         test::StackKind{.base = FilterKind::chained_and, .bits = 4},
                                         test::StackKind{.base = FilterKind::chained_and_shared, .bits = 4}),
                         [](const auto &kind) { return test::name_of(kind.param); });

// ---- deltas --------------------------------------------------------------------------------------

TEST(DenyFilter, that_judges_names_the_list_compact_and_leaves_prefixes_to_the_ranges) {
  const test::ImageMemory m = Example().build(DenyFilterRole::judge, {.bits = 24});
  const image::ImageView view = m.view();
  EXPECT_EQ(denied_by(view, "10.0.0.1"), "compact");
  EXPECT_EQ(denied_by(view, "2001:db8::1"), "compact");
  EXPECT_EQ(denied_by(view, "10.9.0.77"), "other");
  EXPECT_EQ(denied_by(view, "10.0.0.3"), "-");
  const auto &header = *(reinterpret_cast<const table::TableHeader *>(view.v4[Side::deny].table.lines1) - 1);
  EXPECT_EQ(header.keys, 0u) << "hosts stand in the table";
}

TEST(DenyFilter, that_judges_takes_a_host_in_place_and_puts_a_removed_one_into_the_overlay) {
  const test::ImageMemory m = Example().build(DenyFilterRole::judge, {.bits = 24});
  auto writer = image::ImageWriter::attach(m.bytes(), [] {}).value();
  const image::ImageView &view = writer.view();
  EXPECT_EQ(change(writer, image::DeltaOp::set, "10.0.0.9"), Change::in_place);
  EXPECT_EQ(denied_by(view, "10.0.0.9"), "compact");
  EXPECT_EQ(change(writer, image::DeltaOp::unset, "10.0.0.1"), Change::overlay);
  EXPECT_EQ(denied_by(view, "10.0.0.1"), "-");
  EXPECT_EQ(change(writer, image::DeltaOp::unset, "10.0.0.1"), Change::unchanged);
  EXPECT_EQ(change(writer, image::DeltaOp::set, "10.0.0.1", other), Change::overlay);
  EXPECT_EQ(denied_by(view, "10.0.0.1"), "other");
  EXPECT_EQ(change(writer, image::DeltaOp::unset, "10.0.0.200"), Change::unchanged);
  EXPECT_EQ(denied_by(view, "10.0.0.2"), "compact");
}

TEST(DenyFilter, that_judges_denies_a_spared_host_by_the_overlay_alone) {
  const test::ImageMemory m = Example().build(DenyFilterRole::judge);
  auto writer = image::ImageWriter::attach(m.bytes(), [] {}).value();
  EXPECT_EQ(change(writer, image::DeltaOp::set, "10.0.7.1", other), Change::overlay);
  EXPECT_EQ(denied_by(writer.view(), "10.0.7.1"), "other");
  EXPECT_EQ(change(writer, image::DeltaOp::set, "2001:db8::701", other), Change::overlay);
  EXPECT_EQ(denied_by(writer.view(), "2001:db8::701"), "other");
}

TEST(DenyFilter, relieves_whom_it_denies_wrongly_and_nobody_whom_a_delta_denies) {
  Example example;
  for (std::uint32_t h = 0; h < 1000; ++h) example.v4.push_back({0x0A010000 + h, 32, 0, bans});
  test::sort_entries(example.v4);
  const test::ImageMemory m = example.build(DenyFilterRole::judge, {.depth = 1, .bits = 4});
  auto writer = image::ImageWriter::attach(m.bytes(), [] {}).value();
  const image::ImageView &view = writer.view();
  unsigned wrong = 0;
  for (std::uint32_t h = 0x0A000400; h < 0x0A000500; ++h) {
    const Address a = Address::from_host(h);
    const bool denied = image::lookup(view, Side::deny, a) != 0;
    wrong += denied;
    const Change done = writer.relieve(a);
    if (done == Change::needs_rebuild) break;
    EXPECT_EQ(done, denied ? Change::overlay : Change::unchanged);
    EXPECT_EQ(image::lookup(view, Side::deny, a), 0u);
    EXPECT_EQ(writer.relieve(a), Change::unchanged);
  }
  EXPECT_GT(wrong, 0u) << "the filter was never wrong: nothing was shown";
  EXPECT_EQ(change(writer, image::DeltaOp::unset, "10.0.0.1"), Change::overlay);
  EXPECT_EQ(change(writer, image::DeltaOp::set, "10.0.0.1"), Change::overlay);
  EXPECT_EQ(writer.relieve(parse_address("10.0.0.1").value()), Change::unchanged);
  EXPECT_EQ(denied_by(view, "10.0.0.1"), "bans");
}

// Whoever spoofs sources chooses how many are relieved; rules must not feel it.
TEST(DenyFilter, gives_reliefs_a_quarter_of_the_overlay_and_takes_their_places_for_rules) {
  Example example;
  for (std::uint32_t h = 0; h < 1000; ++h) example.v4.push_back({0x0A010000 + h, 32, 0, bans});
  test::sort_entries(example.v4);
  const test::ImageMemory m = example.build(DenyFilterRole::judge, {.depth = 1, .bits = 4});
  unsigned graces = 0;
  auto writer = image::ImageWriter::attach(m.bytes(), [&graces] { ++graces; }).value();
  const image::ImageView &view = writer.view();
  const std::uint32_t places = view.v4[Side::deny].overlay.count * table::LineV4::slots;
  std::vector<Address> relieved;
  for (std::uint32_t h = 0x0A010400; relieved.size() < 2 * places; ++h) {
    const Address a = Address::from_host(h);
    if (image::lookup(view, Side::deny, a) == 0) continue;
    unsigned may_displace = 1;
    if (writer.relieve(a, may_displace) != Change::overlay) continue;
    EXPECT_EQ(image::lookup(view, Side::deny, a), 0u);
    relieved.push_back(a);
    ASSERT_LE(*view.v4[Side::deny].overlay.keys, places / 4);
  }
  EXPECT_GT(graces, places) << "the newest took the places of others";
  const auto still = std::ranges::count_if(
      relieved, [&](const Address &a) { return image::lookup(view, Side::deny, a) == 0; });
  EXPECT_EQ(still, places / 4) << "as many as may be are let through, and no more";
  unsigned none = 0;
  const Address refused = *std::ranges::find_if(
      relieved, [&](const Address &a) { return image::lookup(view, Side::deny, a) != 0; });
  EXPECT_EQ(writer.relieve(refused, none), Change::needs_rebuild);

  // Deletions take a place each, and have as many as without reliefs.
  const test::ImageMemory other_memory = example.build(DenyFilterRole::judge, {.depth = 1, .bits = 4});
  auto without = image::ImageWriter::attach(other_memory.bytes(), [] {}).value();
  unsigned fit = 0, fit_without = 0;
  for (std::uint32_t h = 0; h < 1000; ++h) {
    const std::string address = to_string(Address::from_host(0x0A010000 + h));
    fit_without += change(without, image::DeltaOp::unset, address.c_str()) == Change::overlay;
    if (change(writer, image::DeltaOp::unset, address.c_str()) != Change::overlay) continue;
    ++fit;
    EXPECT_EQ(denied_by(view, address.c_str()), "-");
  }
  EXPECT_GT(fit_without, places / 2);
  EXPECT_EQ(fit, fit_without);
}

TEST(DenyFilter, of_a_form_that_never_changes_sends_additions_and_removals_to_the_overlay) {
  for (const test::StackKind &kind : {test::StackKind{.base = FilterKind::binary_fuse, .bits = 36},
                                      test::StackKind{.base = FilterKind::chained_and, .bits = 18},
                                      test::StackKind{.base = FilterKind::chained_and_shared, .bits = 18}}) {
    SCOPED_TRACE(test::name_of(kind));
    const test::ImageMemory m = Example().build(DenyFilterRole::judge, kind);
    auto writer = image::ImageWriter::attach(m.bytes(), [] {}).value();
    EXPECT_EQ(change(writer, image::DeltaOp::set, "10.0.0.9", other), Change::overlay);
    EXPECT_EQ(denied_by(writer.view(), "10.0.0.9"), "other");
    EXPECT_EQ(denied_by(writer.view(), "10.0.0.1"), "compact");
    EXPECT_EQ(change(writer, image::DeltaOp::unset, "10.0.0.1"), Change::overlay);
    EXPECT_EQ(denied_by(writer.view(), "10.0.0.1"), "-");
    EXPECT_EQ(change(writer, image::DeltaOp::unset, "10.0.0.9"), Change::overlay);
    EXPECT_EQ(denied_by(writer.view(), "10.0.0.9"), "-");
    EXPECT_EQ(denied_by(writer.view(), "10.0.0.2"), "compact");
    EXPECT_EQ(writer.deny_filter().keys(), 0u) << "nobody counts what cannot change";
    EXPECT_FALSE(writer.deny_filter().is_saturated());
  }
}

TEST(DenyFilter, of_a_chained_filter_is_planned_as_two_stages) {
  build::DenyFilterSizes plan =
      test::plan_of({.base = FilterKind::chained_and, .bits = 6}, DenyFilterRole::judge);
  plan.layers.pop_back();
  const auto refused = build::build_deny_filter(Example().input().deny, plan, 3);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("planned as two stages"), std::string::npos)
      << refused.error().message;
}

// A known negative that a list denies all the same: the list counts.
TEST(DenyFilter, of_a_chained_filter_never_misses_a_host_that_is_also_known_as_a_negative) {
  const Example example;
  const std::vector<Address> known{parse_address("10.0.0.1").value(), parse_address("10.0.0.9").value()};
  for (const FilterKind base : {FilterKind::chained_and, FilterKind::chained_and_shared}) {
    build::DenyFilterSizes plan = test::plan_of({.base = base, .bits = 6}, DenyFilterRole::judge);
    plan.known = known;
    const test::ImageMemory m = test::build_with_stack(example.input(), plan);
    EXPECT_EQ(denied_by(m.view(), "10.0.0.1"), "compact");
    EXPECT_EQ(denied_by(m.view(), "10.0.0.9"), "-");
    EXPECT_EQ(m.report().stack_accepts, 0.5) << "of two, the one that is denied";
  }
}

TEST(DenyFilter, is_saturated_by_one_host_in_ten_more_than_planned) {
  std::vector<build::EntryV4> hosts;
  for (std::uint32_t i = 0; i < 1000; ++i) hosts.push_back({0x0A000000 + i, 32, 0, bans});
  build::BuildInput in;
  in.lists = {{"bans", bans}};
  in.deny = {hosts, {}};
  const test::ImageMemory m =
      test::build_with_stack(in, test::plan_of({.depth = 1, .bits = 16}, DenyFilterRole::judge));
  auto writer = image::ImageWriter::attach(m.bytes(), [] {}).value();
  image::Delta d{.op = image::DeltaOp::set, .length = 32, .list = bans};
  unsigned taken = 0;
  for (; taken < 200 && !writer.deny_filter().is_saturated(); ++taken) {
    d.address = Address::from_host(0x0B000000 + taken).bytes;
    const bool saturated = writer.apply_batch({&d, 1}).stack_saturated;
    EXPECT_EQ(saturated, writer.deny_filter().is_saturated());
  }
  EXPECT_GE(taken, 101u); // hosts that it accepts already are not put in
  EXPECT_LT(taken, 110u);
}

// ---- explain -------------------------------------------------------------------------------------

std::string step(const lookup::Explanation &e, std::string_view name) {
  for (const auto &s : e.path)
    if (s.step == name) return s.text;
  return "(no such step)";
}

TEST(DenyFilter, is_named_by_explain) {
  const Example example;
  const Address denied = parse_address("10.0.0.1").value(), absent = parse_address("10.0.0.77").value();
  const test::ImageMemory judge = example.build(DenyFilterRole::judge, {.bits = 24});
  const auto judged = lookup::explain(judge.view(), denied);
  EXPECT_EQ(judged.verdict, Verdict::drop);
  EXPECT_EQ(judged.list, "compact");
  EXPECT_NE(step(judged, "deny /32").find("it judges alone, with a predicted false positive rate of"),
            std::string::npos)
      << step(judged, "deny /32");
  const test::ImageMemory front = example.build(DenyFilterRole::front, {.bits = 24});
  EXPECT_TRUE(
      step(lookup::explain(front.view(), denied), "deny /32").starts_with("stacked filter: yes; table 1"));
  EXPECT_EQ(step(lookup::explain(front.view(), absent), "deny /32"), "stacked filter: absent");
  const test::ImageMemory chained =
      example.build(DenyFilterRole::judge, {.base = FilterKind::chained_and, .bits = 18});
  EXPECT_TRUE(step(lookup::explain(chained.view(), denied), "deny /32")
                  .starts_with("chained filter: denied; it judges alone"));
  EXPECT_EQ(step(lookup::explain(chained.view(), absent), "deny /32"), "chained filter: absent");
}

} // namespace
} // namespace weir::deny_filter_test
