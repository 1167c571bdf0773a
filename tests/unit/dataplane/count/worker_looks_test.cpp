// Workers that stand still are named, and the watchdog is told nothing good meanwhile.
#include "dataplane/count/worker_looks.hpp"

#include <gtest/gtest.h>

namespace weir::dataplane::worker_looks_test {
namespace {

using namespace std::chrono_literals;

class WorkerLook : public testing::Test {
protected:
  // A look each second; those of `moving` have come round in between.
  void pass(unsigned seconds, std::initializer_list<unsigned> moving) {
    for (unsigned i = 0; i < seconds; ++i) {
      for (const unsigned id : moving)
        counters.worker(id)[i % 2 ? CounterId::busy_cycles : CounterId::idle_cycles].add(1);
      now += 1s;
      EXPECT_TRUE(looks.look_if_due(counters, now));
    }
  }

  Counters counters{2};
  WorkerLooks looks;
  WorkerLooks::Time now = std::chrono::steady_clock::now();
};

TEST_F(WorkerLook, is_content_with_workers_that_come_round_with_packets_or_without) {
  pass(20, {0, 1});
  EXPECT_TRUE(looks.all_come_round());
  EXPECT_TRUE(looks.warnings().empty());
  EXPECT_FALSE(looks.look_if_due(counters, now + 500ms)) << "it looks once a second";
}

TEST_F(WorkerLook, names_a_worker_that_stands_and_is_content_again_when_it_moves) {
  counters.worker(1).lcore = 7;
  pass(2, {0, 1});
  pass(2, {0});
  EXPECT_TRUE(looks.all_come_round()) << "two seconds are patience";
  pass(2, {0});
  EXPECT_FALSE(looks.all_come_round());
  ASSERT_EQ(looks.warnings().size(), 1u);
  EXPECT_NE(looks.warnings()[0].find("worker 1 on lcore 7"), std::string::npos) << looks.warnings()[0];
  pass(1, {0, 1});
  EXPECT_TRUE(looks.all_come_round());
  EXPECT_TRUE(looks.warnings().empty());
}

TEST_F(WorkerLook, says_nothing_of_workers_that_were_stopped_together_with_it) {
  pass(2, {0, 1});
  now += 60s;
  pass(1, {});
  EXPECT_TRUE(looks.all_come_round());
}

} // namespace
} // namespace weir::dataplane::worker_looks_test
