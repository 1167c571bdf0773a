// The answer of layers against the expression that it stands for, for every pattern of accepting layers.
#include "weir/filter/and_not.hpp"

#include <gtest/gtest.h>

namespace weir::filter::and_not_test {
namespace {

// F_i & ~(F_i+1 & ~ ...) of layers whose bits say whether they accept.
bool expression(unsigned accepts, std::size_t layer, std::size_t depth) {
  return layer < depth && (accepts >> layer & 1) != 0 && !expression(accepts, layer + 1, depth);
}

TEST(AndNot, is_the_expression_for_any_number_of_layers) {
  for (std::size_t depth = 0; depth <= 9; ++depth)
    for (unsigned accepts = 0; accepts < 1u << depth; ++accepts)
      EXPECT_EQ(and_not(0, depth, [&](std::size_t layer) { return (accepts >> layer & 1) != 0; }),
                expression(accepts, 0, depth))
          << depth << " layers, " << accepts;
}

TEST(AndNot, goes_on_behind_layers_that_accept) {
  for (std::size_t from = 0; from <= 5; ++from)
    for (unsigned rest = 0; rest < 64; ++rest) {
      const unsigned accepts = rest << from | ((1u << from) - 1);
      EXPECT_EQ(and_not(from, from + 6, [&](std::size_t layer) { return (accepts >> layer & 1) != 0; }),
                expression(accepts, 0, from + 6))
          << from << " accept, then " << rest;
    }
}

} // namespace
} // namespace weir::filter::and_not_test
