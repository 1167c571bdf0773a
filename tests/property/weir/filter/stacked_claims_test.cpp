// What [Stacked] says of its formulas, number by number.
#include "weir/build/stacked_model.hpp"

#include <gtest/gtest.h>

namespace weir::build::stacked_claims_test {
namespace {

// §4.1: with 1 % in every layer the error of a_1 (1 - a_2) is at most a millionth, whatever the depth.
TEST(StackedClaims, the_first_two_layers_tell_what_an_unknown_negative_sees) {
  for (unsigned layers = 3; layers <= 9; layers += 2) {
    const std::vector<double> rates(layers, 0.01);
    const double left_out = unknown_rate(rates) - 0.01 * (1 - 0.01);
    EXPECT_GT(left_out, 0.98e-6) << layers;
    EXPECT_LT(left_out, 1.001e-6) << layers;
  }
}

// §4.2: as many known negatives as keys and 1 % in every layer take 2 % more than one such filter.
TEST(StackedClaims, layers_of_one_percent_take_two_percent_more) {
  EXPECT_NEAR(equal_size_bound(bloom_law, 0.01, 1) / bloom_law.bits(0.01), 1.0202, 1e-4);
  const std::vector<double> rates(9, 0.01);
  double bits = 0;
  for (std::size_t i = 0; i < rates.size(); ++i) bits += keys_in_layer(rates, i, 1, 1) * bloom_law.bits(0.01);
  EXPECT_NEAR(bits / bloom_law.bits(0.01), 1.0202, 1e-4);
}

// §6: at 5 % half as many known negatives as keys with a quarter of the questions are about enough.
TEST(StackedClaims, a_quarter_of_the_questions_is_about_enough_at_five_percent) {
  EXPECT_TRUE(stack_is_smaller(bloom_law, 0.05, 0.26, 0.5));
  EXPECT_FALSE(stack_is_smaller(bloom_law, 0.05, 0.24, 0.5));
}

// §6, figure 8c: nothing saved where next to nobody asks for known negatives, up to seven bits where all do.
TEST(StackedClaims, up_to_seven_bits_are_saved_at_one_percent) {
  EXPECT_EQ(size_gain(bloom_law, 0.01, 0.02, 1).saved(), 0);
  EXPECT_NEAR(size_gain(bloom_law, 0.01, 1, 0.5).saved(), 6.46, 0.01);
  EXPECT_NEAR(size_gain(bloom_law, 0.01, 1, 0.25).saved(), 6.98, 0.01);
}

} // namespace
} // namespace weir::build::stacked_claims_test
