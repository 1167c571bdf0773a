// Lines of words from all hosts at once: nothing is lost, little goes behind, and any number of threads writes the same.
#include "tests/support/seed.hpp"
#include "weir/build/word_builder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <unordered_map>
#include <vector>

namespace weir::build::word_builder_test {
namespace {

struct Section {
  explicit Section(std::uint32_t lines)
      : memory(std::make_unique<table::WordLine[]>(lines + 1)),
        bytes(reinterpret_cast<std::byte *>(memory.get()), word_bytes(lines)) {}
  std::unique_ptr<table::WordLine[]> memory;
  MutableBytes bytes;
};

class WordBuild : public testing::Test {
protected:
  const std::uint64_t seed = test::seed_or(17);

  [[nodiscard]] std::vector<EntryV4> hosts(std::uint32_t count, std::uint32_t lists) const {
    std::mt19937_64 random(seed);
    std::vector<EntryV4> entries(count);
    for (EntryV4 &e : entries) {
      e.host = static_cast<std::uint32_t>(random());
      e.list = ListId(static_cast<std::uint16_t>(random() % lists));
    }
    std::ranges::sort(entries, {}, &EntryV4::host);
    entries.erase(std::ranges::unique(entries, {}, &EntryV4::host).begin(), entries.end());
    return entries;
  }
};

TEST_F(WordBuild, every_host_stands_in_its_line_or_is_led_behind_it) {
  WEIR_TRACE_SEED(seed);
  for (const std::uint32_t count : {0u, 1u, 150u, 3000u, 80'000u}) {
    const auto entries = hosts(count, 300); // more lists than words of small tables can name
    const WordSize size = word_size(entries);
    Section section(size.lines);
    WordBuilder builder(section.bytes, size.lines, seed);
    std::unordered_map<std::uint32_t, std::uint32_t> behind;
    for (const auto &item : builder.build(entries, 1))
      ASSERT_TRUE(behind.emplace(item.key, item.value).second);
    ASSERT_LE(behind.size(), size.keys_behind);
    ASSERT_EQ(builder.report().hosts, entries.size());
    ASSERT_EQ(builder.report().hosts_behind, behind.size());
    for (const EntryV4 &e : entries) {
      const std::uint32_t wire = byteswap32(e.host), value = table::value::make(e.list, 32);
      const auto found = builder.view().find(wire);
      ASSERT_EQ(found.value, behind.contains(wire) ? 0 : value);
      if (!behind.contains(wire)) continue;
      ASSERT_EQ(behind.at(wire), value);
      ASSERT_TRUE(found.behind);
    }
  }
}

TEST_F(WordBuild, little_goes_behind_and_few_group_bits_are_set) {
  WEIR_TRACE_SEED(seed);
  const auto entries = hosts(400'000, 100);
  const WordSize size = word_size(entries);
  Section section(size.lines);
  WordBuilder builder(section.bytes, size.lines, seed);
  (void)builder.build(entries, 2);
  const WordReport report = builder.report();
  const auto per_host = [&](std::uint64_t n) {
    return static_cast<double>(n) / static_cast<double>(report.hosts);
  };
  EXPECT_NEAR(per_host(report.hosts_behind), 0.0114, 0.0008);
  EXPECT_NEAR(per_host(report.bytes), 64 / word_hosts_a_line, 0.01);
  EXPECT_LT(static_cast<double>(report.group_bits_set) / (16.0 * report.lines), 0.005)
      << "absent hosts asked behind";
}

TEST_F(WordBuild, bytes_and_order_are_the_same_for_any_number_of_threads) {
  WEIR_TRACE_SEED(seed);
  const auto entries = hosts(120'000, 20'000); // lists that some words cannot name
  const WordSize size = word_size(entries);
  Section one(size.lines), three(size.lines);
  WordBuilder first(one.bytes, size.lines, seed), second(three.bytes, size.lines, seed);
  const auto a = first.build(entries, 1), b = second.build(entries, 3);
  EXPECT_TRUE(std::ranges::equal(one.bytes, three.bytes));
  EXPECT_TRUE(std::ranges::equal(
      a, b, [](const auto &x, const auto &y) { return x.key == y.key && x.value == y.value; }));
  EXPECT_GT(a.size(), entries.size() / 10);
}

TEST_F(WordBuild, prefixes_among_the_entries_count_for_nothing) {
  auto entries = hosts(1000, 3);
  const WordSize alone = word_size(entries);
  for (std::uint32_t n = 0; n < 200; ++n) entries.push_back({n << 24, 8, 0, 1});
  const WordSize beside = word_size(entries);
  EXPECT_EQ(alone.lines, beside.lines);
  EXPECT_EQ(alone.keys_behind, beside.keys_behind);
  Section section(beside.lines);
  WordBuilder builder(section.bytes, beside.lines, seed);
  (void)builder.build(entries, 1);
  EXPECT_EQ(builder.report().hosts, entries.size() - 200);
}

} // namespace
} // namespace weir::build::word_builder_test
