#include "tests/bench/paced_race.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace weir::bench {
namespace {

constexpr std::size_t queries_min = 2048;
constexpr double round_ms_max = 20; // of one contender

template <class Wire>
double seconds_of(const PacedContender<Wire> &contender, std::span<const Wire> queries) {
  touch(queries);
  const double start = cpu_ns();
  (void)contender.run(queries);
  return (cpu_ns() - start) / 1e9;
}

// The largest power of two of the queries, as far as there are so many, that stays within the time of a round.
template <class Wire>
std::size_t queries_a_round(const PacedContender<Wire> &contender, std::span<const Wire> queries) {
  std::size_t count = queries_min;
  while (2 * count <= queries.size() && 2e3 * seconds_of(contender, queries.first(count)) <= round_ms_max)
    count *= 2;
  return std::min(count, queries.size());
}

template <class Wire>
void compare_answers(std::span<const PacedContender<Wire>> contenders, std::span<const Wire> queries) {
  const PacedContender<Wire> *first = nullptr;
  std::vector<std::uint32_t> expected;
  for (const PacedContender<Wire> &contender : contenders) {
    if (!contender.list_words) continue;
    const auto words = contender.list_words(queries);
    if (!first) {
      first = &contender;
      expected = words;
    }
    const auto [at, other] = std::ranges::mismatch(words, expected);
    if (at != words.end())
      give_up(fmt::format("{} answers query {} with {}, {} with {}", contender.name, at - words.begin(), *at,
                          first->name, *other));
  }
}

} // namespace

template <class Wire>
std::vector<Outcome> compete(std::span<const PacedContender<Wire>> contenders, const Queries<Wire> &queries,
                             unsigned rounds) {
  std::vector<Outcome> outcomes;
  std::vector<std::size_t> counts;
  std::size_t common = queries.a_round;
  for (const PacedContender<Wire> &contender : contenders) {
    outcomes.push_back({contender.name, {}, {}});
    counts.push_back(queries_a_round(contender, queries.of(0)));
    if (contender.list_words) common = std::min(common, counts.back());
  }
  compare_answers(contenders, queries.of(0).first(common));

  for (unsigned round = 1; round <= rounds; ++round) {
    const PacedContender<Wire> *first = nullptr;
    std::uint64_t expected = 0;
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      const auto asked = queries.of(round).first(counts[i]);
      const auto in_common = asked.first(std::min(common, asked.size()));
      touch(asked); // nobody gains from whoever asked them before
      (void)contenders[i].run(queries.of(round + 1).first(counts[i] / 4 / burst_keys * burst_keys));
      const double start = cpu_ns();
      const std::uint64_t found = contenders[i].run(in_common);
      if (asked.size() > in_common.size()) (void)contenders[i].run(asked.subspan(in_common.size()));
      outcomes[i].mlookups.push_back(static_cast<double>(asked.size()) / (cpu_ns() - start) * 1e3);
      if (!contenders[i].list_words) continue;
      if (!first) {
        first = &contenders[i];
        expected = found;
      }
      if (found != expected)
        give_up(fmt::format("{} found {} of {} queries, {} found {}", contenders[i].name, found, common,
                            first->name, expected));
    }
  }
  for (Outcome &outcome : outcomes) outcome.figure = figure_of(outcome.mlookups);
  return outcomes;
}

template std::vector<Outcome> compete(std::span<const PacedContender<WireV4>>, const Queries<WireV4> &,
                                      unsigned);
template std::vector<Outcome> compete(std::span<const PacedContender<WireV6>>, const Queries<WireV6> &,
                                      unsigned);

} // namespace weir::bench
