// What became of changes since weir-control began.
#pragma once

#include "weir/base/histogram.hpp"

#include <array>
#include <cstdint>

namespace weir::control {

struct ChangeTally {
  static constexpr std::array<double, 8> bounds{0.05, 0.2, 1, 5, 15, 60, 300, 1800};
  std::uint64_t failed = 0;
  Histogram<bounds.size()> seconds{bounds}; // until the rules were live or stored, of those that went well
};

} // namespace weir::control
