// Keys that follow from a seed.
#pragma once

#include "weir/base/hash.hpp"

#include <cstdint>

namespace weir::test {

// The `number`th key of a seed; none comes twice. remix() tells layers of one set of keys apart and takes
// what is between them in the lowest bits: under two seeds as they come, numbers in a row are the same keys
// in another order.
[[nodiscard]] inline KeyHash seeded_key(std::uint64_t seed, std::uint64_t number) {
  return {remix(KeyHash{number}, remix(KeyHash{seed}, remix_factor_1))};
}

} // namespace weir::test
