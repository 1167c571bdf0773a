// Counters that begin anew with each generation, over workers that only ever add.
#include "dataplane/count/generation_meter.hpp"

#include <gtest/gtest.h>

namespace weir::dataplane::generation_meter_test {
namespace {

TEST(GenerationMeter, counts_for_the_generation_in_force_what_came_since_it_was) {
  Counters counters(2);
  GenerationMeter meter;
  counters.worker(0)[CounterId::allow_asked].add(10);
  counters.worker(1)[CounterId::allow_asked].add(5);
  counters.worker(1)[CounterId::allow_false].add(2);
  EXPECT_EQ(meter.under_generation(counters).first, 0u);
  EXPECT_EQ(meter.under_generation(counters).second[CounterId::allow_asked], 15u) << "nothing came before";
  meter.generation_live(7, counters);
  EXPECT_EQ(meter.under_generation(counters).first, 7u);
  EXPECT_EQ(meter.under_generation(counters).second[CounterId::allow_asked], 0u);
  counters.worker(0)[CounterId::allow_asked].add(3);
  counters.worker(0)[CounterId::allow_false].add(1);
  counters.worker(1)[CounterId::allow_denied_asked].add(1);
  counters.worker(1)[CounterId::deny_denied].add(4);
  const auto [generation, now] = meter.under_generation(counters);
  EXPECT_EQ(now[CounterId::allow_asked], 3u);
  EXPECT_EQ(now[CounterId::allow_false], 1u);
  EXPECT_EQ(now[CounterId::allow_denied_asked], 1u);
  EXPECT_EQ(now[CounterId::deny_denied], 4u);
  EXPECT_EQ(sum(counters)[CounterId::allow_asked], 18u) << "and all of them stay";
}

} // namespace
} // namespace weir::dataplane::generation_meter_test
