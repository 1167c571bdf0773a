// What a plan promises, and the same from the record of its generation.
#include "control/plan/promise.hpp"

#include <gtest/gtest.h>

namespace weir::plan::promise_test {
namespace {

// Figures of at most six digits, which the record keeps whole.
Plan plan_with(bool seesaw, bool compact) {
  Plan plan;
  plan.candidates.emplace_back();
  plan.allow_filter.chosen = seesaw ? "seesaw" : "none";
  plan.deny_filter.compact = compact;
  plan.deny_filter.samples = 12'345;
  plan.deny_filter.false_positive_budget = 1e-4;
  plan.deny_filter.stack.psi = 0.625;
  plan.deny_filter.stack.layers.resize(3);
  plan.deny_filter.hot = 17;
  plan.deny_filter.built = DenyFilterPlan::Built{1234, {0.1, 0.2, 0.3}, 5e-4, 1e-2, 3, 1.5};
  return plan;
}

TEST(Promise, of_a_plan_is_read_back_from_its_record) {
  for (const bool seesaw : {false, true})
    for (const bool compact : {false, true}) {
      const Plan plan = plan_with(seesaw, compact);
      const Promise promise = promise_of(plan);
      EXPECT_EQ(decode_promise(to_json(plan)), promise) << to_json(plan);
      EXPECT_EQ(promise.allow.learns, seesaw);
      EXPECT_EQ(promise.deny.compact, compact);
      EXPECT_DOUBLE_EQ(promise.deny.efpr, 5e-4);
      EXPECT_EQ(promise.deny.rates.size(), 3u);
      EXPECT_DOUBLE_EQ(promise.deny.tolerated, compact ? 1e-4 : front_tolerated);
    }
}

TEST(Promise, of_a_plan_without_filters_promises_nothing) {
  Plan plan;
  plan.candidates.emplace_back();
  EXPECT_EQ(decode_promise(to_json(plan)), promise_of(plan));
  EXPECT_FALSE(promise_of(plan).deny.stacks);
  EXPECT_FALSE(promise_of(plan).allow.predicts);
}

TEST(Promise, of_a_record_that_cannot_be_read_is_nothing) {
  for (const char *text : {"", "7", "[1]", R"({"allow_filter":7,"deny_filter":[]})"}) {
    const Promise none = decode_promise(text);
    EXPECT_FALSE(none.deny.stacks || none.deny.compact || none.allow.predicts || none.allow.learns) << text;
  }
}

} // namespace
} // namespace weir::plan::promise_test
