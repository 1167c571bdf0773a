// Cells of the IPv4 length map: what they say themselves, and what a changed prefix does to them.
#include "tests/support/image_memory.hpp"
#include "tests/support/seed.hpp"
#include "weir/build/prefix_ranges.hpp"
#include "weir/image/writer.hpp"
#include "weir/lookup/burst_lookup.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <random>

namespace weir::length_map_test {
namespace {

using test::entry_v4;

std::uint32_t wire_of(const char *address) { return parse_prefix(address).value().address.wire(); }

TEST(LengthMap, a_lone_prefix_answers_inside_itself_and_nowhere_else) {
  const std::uint64_t seed = test::seed_or(20261122);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  for (unsigned round = 0; round < 20'000; ++round) {
    const auto host = static_cast<std::uint32_t>(random());
    const auto length = 17 + static_cast<unsigned>(random() % 15);
    const std::uint32_t mask = ~std::uint32_t{0} << (32 - length);
    const std::uint32_t value = table::value::make(ListId(random() % 65535), length);
    const std::uint64_t others = random() % 2 ? table::length_bit(32) : 0;
    const std::uint64_t cell = table::with_lone(table::length_bit(length) | others, host & mask, value);
    const std::uint32_t asked = (host & 0xFFFF0000) | ((host ^ 1u << random() % 16) & 0xFFFF);
    const table::CellAnswer answer = table::ask_cell(cell, byteswap32(asked));
    ASSERT_EQ(answer.value, ((asked ^ host) & mask) == 0 ? value : 0) << length;
    ASSERT_EQ(answer.lengths, table::long_lengths(others)) << "its own length needs no probe";
    ASSERT_EQ(table::short_value(cell), 0u);
    ASSERT_EQ(table::without_lone(cell), table::length_bit(length) | others);
  }
}

TEST(LengthMap, a_short_prefix_answers_everywhere_below_and_every_length_is_asked) {
  const std::uint32_t value = table::value::make(7, 12);
  const std::uint64_t cell = table::length_bit(24) | table::length_bit(32) | value;
  for (const char *address : {"10.1.0.0", "10.1.2.3", "10.1.255.255"}) {
    const table::CellAnswer answer = table::ask_cell(cell, wire_of(address));
    EXPECT_EQ(answer.value, value);
    EXPECT_EQ(answer.lengths, table::long_lengths(cell));
  }
}

// 64 hosts below every /16 in question, so that bursts ask for hosts and read few cells, or none.
class LonePrefix : public testing::TestWithParam<bool> {
protected:
  static test::ImageMemory build(std::initializer_list<const char *> prefixes) {
    std::vector<build::EntryV4> entries;
    for (const char *p : prefixes) entries.push_back(entry_v4(p, 3));
    if (GetParam())
      for (std::uint32_t i = 0; i < 64; ++i)
        entries.push_back({0x0A010000 + 0x10000 * (i % 4) + i, 32, 0, 1});
    std::ranges::sort(entries);
    build::BuildInput in;
    in.lists = {{"hosts", 1}, {"nets", 3}, {"more", 4}};
    in.deny = {entries, {}};
    in.ranges = std::make_shared<const build::PrefixRanges>(); // prefixes in the table
    return test::ImageMemory::build(in);
  }

  static std::uint32_t ask(const image::ImageView &view, const char *address) {
    const auto burst = std::make_unique<lookup::BurstLookup>();
    burst->begin(view);
    burst->ask_v4(0, wire_of(address));
    burst->send();
    burst->probe_first();
    burst->finish();
    EXPECT_EQ(image::lookup(view, Side::deny, parse_prefix(address).value().address), burst->deny(0));
    probes = burst->cost().probes;
    return burst->deny(0);
  }

  static void change(image::ImageWriter &writer, const char *prefix, std::optional<ListId> list) {
    const Prefix p = parse_prefix(prefix).value();
    image::Delta d;
    d.op = list ? image::DeltaOp::set : image::DeltaOp::unset;
    d.side = Side::deny;
    d.family = Family::ipv4;
    d.length = p.length;
    d.list = list.value_or(ListId());
    d.address = p.address.bytes;
    ASSERT_NE(writer.apply(d), image::Change::needs_rebuild);
  }

  static inline unsigned probes = 0;
};

INSTANTIATE_TEST_SUITE_P(With, LonePrefix, testing::Values(false, true),
                         [](const auto &i) { return i.param ? "hosts" : "prefixes_alone"; });

TEST_P(LonePrefix, costs_no_probe_of_its_own) {
  const test::ImageMemory m = build({"10.1.128.0/17", "10.2.0.0/24", "10.3.0.0/24", "10.3.0.0/25"});
  const unsigned for_the_host = GetParam() ? 1 : 0;
  EXPECT_EQ(ask(m.view(), "10.1.200.1"), table::value::make(3, 17));
  EXPECT_EQ(probes, for_the_host);
  EXPECT_EQ(ask(m.view(), "10.1.100.1"), 0u);
  EXPECT_EQ(probes, for_the_host);
  EXPECT_EQ(ask(m.view(), "10.2.0.200"), table::value::make(3, 24));
  EXPECT_EQ(ask(m.view(), "10.3.0.100"), table::value::make(3, 25)) << "of two, none is alone";
  EXPECT_EQ(probes, for_the_host + 2);
}

TEST_P(LonePrefix, is_forgotten_when_it_changes_goes_or_is_alone_no_longer) {
  const test::ImageMemory m = build({"10.1.0.0/20", "10.2.0.0/20", "10.3.0.0/20", "10.4.0.0/20"});
  auto writer = image::ImageWriter::attach(m.bytes(), [] {}).value();
  change(writer, "10.1.0.0/20", ListId(4));
  EXPECT_EQ(ask(writer.view(), "10.1.9.9"), table::value::make(4, 20));
  change(writer, "10.2.0.0/20", {});
  EXPECT_EQ(ask(writer.view(), "10.2.9.9"), 0u);
  change(writer, "10.3.8.0/21", ListId(4));
  EXPECT_EQ(ask(writer.view(), "10.3.9.9"), table::value::make(4, 21));
  EXPECT_EQ(ask(writer.view(), "10.3.7.7"), table::value::make(3, 20));
  change(writer, "10.0.0.0/8", ListId(4));
  EXPECT_EQ(ask(writer.view(), "10.4.9.9"), table::value::make(3, 20)) << "a wider one came";
  EXPECT_EQ(ask(writer.view(), "10.4.99.9"), table::value::make(4, 8));
  change(writer, "10.0.0.0/8", {});
  EXPECT_EQ(ask(writer.view(), "10.4.9.9"), table::value::make(3, 20));
  EXPECT_EQ(ask(writer.view(), "10.4.99.9"), 0u);
}

} // namespace
} // namespace weir::length_map_test
