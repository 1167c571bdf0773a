// What is wrong, by an answer of `status`.
#include "control/base/health.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace weir::control::health_test {
namespace {

using Json = nlohmann::json;

Json well() {
  return {{"generation", 3},
          {"dataplane",
           {{"connected", true}, {"in_sync", true}, {"generation", 3}, {"warnings", Json::array()}}}};
}

TEST(Health, has_nothing_to_say_of_a_gate_that_is_well) {
  const Health health = health_of(well());
  EXPECT_TRUE(health.faults.empty());
  EXPECT_TRUE(health.warnings.empty());
}

TEST(Health, a_worker_that_stands_still_is_a_fault_and_other_sentences_of_the_dataplane_are_warnings) {
  Json status = well();
  status["dataplane"]["faults"] = Json::array({"worker 1 on lcore 2 has not come round its loop for 4 s"});
  status["dataplane"]["warnings"] = Json::array({"port wan: 17 packets were lost"});
  const Health health = health_of(status);
  ASSERT_EQ(health.faults.size(), 1u);
  EXPECT_EQ(health.faults.front(), "worker 1 on lcore 2 has not come round its loop for 4 s");
  EXPECT_EQ(health.warnings, std::vector<std::string>{"port wan: 17 packets were lost"});
}

} // namespace
} // namespace weir::control::health_test
