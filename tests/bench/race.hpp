// Contenders of one question, taking turns over the same queries.
#pragma once

#include "tests/bench/bench.hpp"

#include <span>

namespace weir::bench {

struct Contender {
  std::string name;
  std::function<std::uint64_t(unsigned round)>
      run;           // answers the round's queries, returns how many were found
  bool exact = true; // its count of hits means something
};

struct Outcome {
  std::string name;
  std::vector<double> mlookups; // million lookups a second, round by round
  Figure figure;
};

// Done before each turn, and not timed. Who comes second finds the queries in a cache where they were not for the
// first one, which decides between those that answer a thousand million a second: touch() reads them.
using Prepare = std::function<void(unsigned round)>;

// Outcomes in the order of the contenders. Ends the program when exact contenders disagree.
[[nodiscard]] std::vector<Outcome> compete(const std::vector<Contender> &contenders,
                                           std::size_t queries_a_round, unsigned rounds,
                                           const Prepare &prepare = {});

// The same race goes on for so many rounds among the first of `outcomes`, whose figures then count all
// rounds.
void go_on(std::vector<Outcome> &outcomes, std::span<const Contender> contenders, std::size_t queries_a_round,
           unsigned rounds, const Prepare &prepare = {});

[[nodiscard]] Figure ratio_of(const Outcome &a, const Outcome &b);

// The fastest of those in [first, last).
[[nodiscard]] std::size_t fastest(const std::vector<Outcome> &outcomes, std::size_t first, std::size_t last);

} // namespace weir::bench
