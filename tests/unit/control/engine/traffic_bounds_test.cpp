// What bounds traffic: samples that are looked at, rows that it fills.
#include "control/engine/sample_queue.hpp"
#include "control/engine/samples.hpp"
#include "control/workload/busy_networks.hpp"
#include "control/workload/second_sight.hpp"
#include "weir/key/text.hpp"

#include <gtest/gtest.h>

namespace weir::control::traffic_bounds_test {
namespace {

using namespace std::chrono_literals;
using Time = std::chrono::steady_clock::time_point;
const Time start = Time{} + 1h;

Address host(std::uint32_t number) { return Address::from_host(0x50000000 + number); }

TEST(SampleQueue, looks_at_an_address_once_a_batch_and_at_no_more_than_its_share_of_a_second) {
  SampleQueue queue({.waiting_max = 100, .batch_max = 50, .per_second = 1000});
  for (unsigned i = 0; i < 120; ++i)
    EXPECT_EQ(queue.add({.address = host(i / 2), .flags = wire::sample_by_stack}), i < 100);
  EXPECT_EQ(queue.left_out(), 20u);
  const auto first = queue.take(start);
  ASSERT_EQ(first.size(), 25u);
  EXPECT_EQ(first[0].samples.size(), 2u);
  EXPECT_EQ(queue.take(start).size(), 25u);
  EXPECT_TRUE(queue.empty());
  SampleQueue slow({.waiting_max = 100, .batch_max = 50, .per_second = 60});
  for (unsigned i = 0; i < 100; ++i) (void)slow.add({.address = host(i)});
  EXPECT_EQ(slow.take(start).size(), 50u);
  EXPECT_EQ(slow.take(start).size(), 10u) << "60 a second";
  EXPECT_TRUE(slow.take(start).empty());
  EXPECT_EQ(slow.take(start + 500ms).size(), 30u);
}

TEST(SampleQueue, takes_first_what_a_worker_met_twice_and_leaves_a_quarter_to_the_others) {
  SampleQueue queue({.waiting_max = 100, .batch_max = 40, .per_second = 1000});
  for (unsigned i = 0; i < 100; ++i) {
    (void)queue.add({.address = host(i), .flags = wire::sample_by_stack});
    (void)queue.add({.address = host(1000 + i), .flags = wire::sample_again});
  }
  std::size_t again = 0;
  for (const CheckedAddress &one : queue.take(start)) again += one.samples[0].flags == wire::sample_again;
  EXPECT_EQ(again, 30u);
}

TEST(SecondSight, remembers_what_came_of_late_in_bounded_memory) {
  workload::SecondSight<int> seen(10);
  EXPECT_FALSE(seen.again(1));
  EXPECT_TRUE(seen.again(1));
  for (int i = 100; i < 110; ++i) EXPECT_FALSE(seen.again(i));
  EXPECT_TRUE(seen.again(1)) << "ten others are not enough";
  for (int i = 200; i < 100'000; ++i) EXPECT_FALSE(seen.again(i));
  EXPECT_FALSE(seen.again(1));
  EXPECT_LE(seen.held(), 20u);
}

TEST(BusyNetworks, are_those_of_the_last_minutes) {
  workload::BusyNetworks busy;
  for (unsigned i = 0; i < 300; ++i) busy.add(host(i % 200), start);
  for (unsigned i = 0; i < 100; ++i) busy.add(parse_address("2001:db8:7::1").value(), start);
  const auto top = busy.top(5, start + 30s);
  ASSERT_EQ(top.size(), 2u);
  EXPECT_EQ(to_string(top[0].network), "80.0.0.0/24");
  EXPECT_EQ(top[0].at_least, 300u);
  EXPECT_EQ(to_string(top[1].network), "2001:db8:7::/48");
  EXPECT_EQ(busy.total(start + 70s), 400u);
  EXPECT_EQ(busy.total(start + 140s), 0u);
  EXPECT_TRUE(busy.top(5, start + 140s).empty());
}

TEST(SampleTable, shows_what_a_newcomer_has_been_sampled_and_forgets_by_half) {
  SampleTable table;
  const auto see = [&](const Address &address, unsigned times, Time now) {
    wire::Sample sample;
    sample.family = address.family;
    sample.address = address.bytes;
    table.take(std::vector(times, sample), now);
  };
  const Time now = std::chrono::steady_clock::now();
  for (unsigned i = 0; i < SampleTable::rows_max; ++i) see(host(i), 40, now);
  see(host(1 << 20), 1, now);
  const auto rows = table.top(SampleTable::rows_max);
  EXPECT_EQ(rows.back().address, host(1 << 20));
  EXPECT_EQ(rows.back().at_least(), 1u);
  EXPECT_EQ(rows.back().count, 41u) << "the bound";
  see(host(1), 0, now + SampleTable::half_life * 2 + 1s);
  EXPECT_EQ(table.top(1)[0].at_least(), 10u);
  see(host(1), 0, now + SampleTable::half_life * 100);
  EXPECT_TRUE(table.top(1).empty());
}

} // namespace
} // namespace weir::control::traffic_bounds_test
