#include "tests/bench/race.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace weir::bench {

void go_on(std::vector<Outcome> &outcomes, std::span<const Contender> contenders, std::size_t queries_a_round,
           unsigned rounds, const Prepare &prepare) {
  for (unsigned round = 0; round <= rounds; ++round) { // round 0 warms up
    const Contender *first = nullptr;
    std::uint64_t expected = 0;
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      const Contender &contender = contenders[i];
      if (prepare) prepare(round);
      const double start = cpu_ns();
      const std::uint64_t found = contender.run(round);
      const double ns = cpu_ns() - start;
      if (round > 0) outcomes[i].mlookups.push_back(static_cast<double>(queries_a_round) / ns * 1e3);
      if (!contender.exact) continue;
      if (!first) {
        first = &contender;
        expected = found;
      }
      if (found != expected)
        give_up(fmt::format("{} found {} of {} queries, {} found {}", contender.name, found, queries_a_round,
                            first->name, expected));
    }
  }
  for (std::size_t i = 0; i < contenders.size(); ++i) outcomes[i].figure = figure_of(outcomes[i].mlookups);
}

std::vector<Outcome> compete(const std::vector<Contender> &contenders, std::size_t queries_a_round,
                             unsigned rounds, const Prepare &prepare) {
  std::vector<Outcome> outcomes;
  for (const Contender &contender : contenders) outcomes.push_back({contender.name, {}, {}});
  go_on(outcomes, contenders, queries_a_round, rounds, prepare);
  return outcomes;
}

Figure ratio_of(const Outcome &a, const Outcome &b) { return ratio_of(a.mlookups, b.mlookups); }

std::size_t fastest(const std::vector<Outcome> &outcomes, std::size_t first, std::size_t last) {
  std::size_t best = first;
  for (std::size_t i = first; i < last; ++i)
    if (outcomes[i].figure.median > outcomes[best].figure.median) best = i;
  return best;
}

} // namespace weir::bench
