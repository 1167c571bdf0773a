#include "control/plan/model.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace weir::plan {
namespace {

struct GivenUp {
  double keys = 0, groups = 0; // by one line that `wanted` keys chose
};

// Which groups an overfull line gives up has no handy closed form: play it out, always alike.
GivenUp given_up(unsigned wanted, const TableShape &shape) {
  constexpr unsigned rounds = 400;
  std::minstd_rand random(wanted);
  GivenUp sum;
  std::vector<unsigned> in_group(shape.groups);
  for (unsigned round = 0; round < rounds; ++round) {
    std::ranges::fill(in_group, 0u);
    for (unsigned key = 0; key < wanted; ++key) ++in_group[random() / 16 % shape.groups];
    for (unsigned left = wanted; left > shape.slots;) {
      const unsigned excess = left - shape.slots;
      unsigned *best = nullptr;
      for (unsigned &n : in_group)
        if (n >= excess && (best == nullptr || n < *best)) best = &n;
      if (best == nullptr) best = &*std::ranges::max_element(in_group);
      left -= *best;
      sum.keys += *best;
      sum.groups += 1;
      *best = 0;
    }
  }
  return {sum.keys / rounds, sum.groups / rounds};
}

} // namespace

ExpectedLines expected_lines(const TableShape &shape) {
  if (shape.keys == 0 || shape.lines1 == 0) return {};
  const double mean = static_cast<double>(shape.keys) / static_cast<double>(shape.lines1);
  const auto wanted_max = static_cast<unsigned>(mean + 10 * std::sqrt(mean)) + 2;
  double keys = 0, groups = 0;
  for (unsigned wanted = shape.slots + 1; wanted <= wanted_max; ++wanted) {
    const double share = std::exp(wanted * std::log(mean) - mean - std::lgamma(wanted + 1.0)); // Poisson
    if (share < 1e-7) continue;
    const GivenUp line = given_up(wanted, shape);
    keys += share * line.keys;
    groups += share * line.groups;
  }
  return {1 + keys / mean, 1 + groups / shape.groups};
}

} // namespace weir::plan
