// A race between contenders that differ a thousandfold: each is asked as much of a round's queries as it answers in
// a few milliseconds. Each turn begins with a quarter as many other queries, which are not timed: a table of a few
// MiB lies in no cache any more when the turns of the others are over, and to fetch it again would take LIMIT up to
// half of a round. What contenders find is compared over the stretch that all of them are asked, and, before the
// race, answer by answer over a stretch at its beginning.
#pragma once

#include "tests/bench/contenders.hpp"
#include "tests/bench/race.hpp"

#include <functional>

namespace weir::bench {

template <class Wire> struct PacedContender {
  std::string name;
  std::function<std::uint64_t(std::span<const Wire>)> run; // how many were found
  // For each query the number of the list that has it + 1, 0 for none. Empty: it answers nothing that means anything.
  std::function<std::vector<std::uint32_t>(std::span<const Wire>)> list_words{};
};

// Outcomes in the order of the contenders. Ends the program when they disagree.
template <class Wire>
[[nodiscard]] std::vector<Outcome> compete(std::span<const PacedContender<Wire>> contenders,
                                           const Queries<Wire> &queries, unsigned rounds);

} // namespace weir::bench
