#include "dataplane/count/worker_beats.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::dataplane {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(WorkerBeats, a_worker_that_finishes_no_round_is_named_until_it_does) {
  Counters counters(3);
  WorkerBeats beats(counters);
  EXPECT_THAT(beats.silent(), ElementsAre(0, 1, 2));
  counters.worker(0)[CounterId::busy_cycles].add(1);
  counters.worker(2)[CounterId::idle_cycles].add(1);
  EXPECT_THAT(beats.silent(), ElementsAre(1));
  counters.worker(1)[CounterId::idle_cycles].add(1);
  EXPECT_THAT(beats.silent(), IsEmpty());
  beats.begin_anew();
  EXPECT_THAT(beats.silent(), ElementsAre(0, 1, 2)) << "what was seen before counts no more";
}

} // namespace
} // namespace weir::dataplane
