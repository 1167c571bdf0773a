// What control knows of the traffic, as it is kept for its next life.
#include "control/engine/traffic_note.hpp"
#include "tests/support/seed.hpp"
#include "weir/key/text.hpp"

#include <gtest/gtest.h>

#include <random>

namespace weir::control::traffic_note_test {
namespace {

watch::DenyFilterWatch busy_watch(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> weights;
  for (unsigned rank = 1; rank <= 5000; ++rank) weights.push_back(1.0 / rank);
  std::discrete_distribution<std::uint32_t> zipf(weights.begin(), weights.end());
  watch::DenyFilterWatch watch;
  for (int i = 0; i < 20'000; ++i) watch.negative(Address::from_host(0x0B000000 + zipf(random)));
  watch.negative(parse_address("2001:db8::7").value());
  watch.wrong(parse_address("80.0.0.1").value());
  return watch;
}

TEST(TrafficNote, of_the_sources_leaves_hot_ones_and_psi_as_they_were) {
  const std::uint64_t seed = test::seed_or(5);
  WEIR_TRACE_SEED(seed);
  const watch::DenyFilterWatch before = busy_watch(seed);
  const std::string note = encode_sources(before.keep(500));
  EXPECT_LT(note.size(), 100'000u);
  const auto kept = decode_sources(note);
  ASSERT_TRUE(kept);
  watch::DenyFilterWatch after;
  after.resume(*kept);
  const workload::Negatives was = before.look(), is = after.look();
  EXPECT_EQ(is.total, was.total);
  ASSERT_EQ(is.hottest.size(), 500u);
  for (std::size_t i = 0; i < 100; ++i) EXPECT_DOUBLE_EQ(is.hottest[i].cost, was.hottest[i].cost) << i;
  EXPECT_DOUBLE_EQ(is.psi(300), was.psi(300)) << "the discount rests on those that were not kept, too";
  EXPECT_EQ(is.denied_wrongly, was.denied_wrongly);
  EXPECT_EQ(after.samples(), before.samples());
}

TEST(TrafficNote, of_the_most_frequent_addresses_leaves_rows_as_they_were) {
  SampleTable table;
  std::vector<wire::Sample> samples(300);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    samples[i].address = parse_address(i % 3 == 0   ? "10.0.0.1"
                                       : i % 3 == 1 ? "10.0.0.2"
                                                    : "2001:db8::1")
                             .value()
                             .bytes;
    samples[i].family = i % 3 == 2 ? Family::ipv6 : Family::ipv4;
    samples[i].kind = i % 3 == 0 ? wire::SampleKind::denied : wire::SampleKind{};
    samples[i].list = 3;
  }
  table.take(samples);
  const auto kept = decode_top(encode_top(table.keep()));
  ASSERT_TRUE(kept);
  SampleTable again;
  again.resume(*kept);
  EXPECT_EQ(again.total(), 300u);
  const auto was = table.top(10), is = again.top(10);
  ASSERT_EQ(is.size(), was.size());
  for (std::size_t i = 0; i < is.size(); ++i) {
    EXPECT_EQ(is[i].address, was[i].address);
    EXPECT_EQ(is[i].denied, was[i].denied);
    EXPECT_EQ(is[i].count, was[i].count);
  }
}

TEST(TrafficNote, that_was_cut_or_changed_is_as_good_as_none) {
  const std::string note = encode_sources(busy_watch(1).keep(20));
  EXPECT_FALSE(decode_sources(""));
  EXPECT_FALSE(decode_top(note + "x"));
  for (std::size_t i = 0; i < note.size(); i += 7) {
    std::string bad = note;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    EXPECT_FALSE(decode_sources(bad)) << "byte " << i;
    EXPECT_FALSE(decode_sources(note.substr(0, i))) << "cut at " << i;
  }
}

} // namespace
} // namespace weir::control::traffic_note_test
