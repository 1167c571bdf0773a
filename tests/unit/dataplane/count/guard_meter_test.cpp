// Counters of the filter that begin anew with each generation, over workers that only ever add.
#include "dataplane/count/guard_meter.hpp"

#include <gtest/gtest.h>

namespace weir::dataplane {
namespace {

TEST(GuardMeter, counts_for_the_generation_in_force_what_came_since_it_was) {
  Counters counters(2);
  GuardMeter meter;
  counters.worker(0).guard_asked.add(10);
  counters.worker(1).guard_asked.add(5);
  counters.worker(1).guard_false.add(2);
  EXPECT_EQ(meter.under_generation(counters).first, 0u);
  EXPECT_EQ(meter.under_generation(counters).second.asked, 15u) << "nothing came before";
  meter.generation_live(7, counters);
  EXPECT_EQ(meter.under_generation(counters).first, 7u);
  EXPECT_EQ(meter.under_generation(counters).second.asked, 0u);
  counters.worker(0).guard_asked.add(3);
  counters.worker(0).guard_false.add(1);
  counters.worker(1).guard_denied_asked.add(1);
  counters.worker(1).allow_table_asked.add(4);
  const auto [generation, now] = meter.under_generation(counters);
  EXPECT_EQ(now.asked, 3u);
  EXPECT_EQ(now.false_accepted, 1u);
  EXPECT_EQ(now.denied_asked, 1u);
  EXPECT_EQ(now.table_asked, 4u);
  EXPECT_EQ(guard_counters(counters).asked, 18u) << "and all of them stay";
}

} // namespace
} // namespace weir::dataplane
