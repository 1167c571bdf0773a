// Lookups of IPv6 hosts beside rte_hash with 16-byte keys and a LIMIT of their own: XXH3 of sixteen
// bytes and one random line of a table as large as the IPv6 table.
#include "tests/bench/limit.hpp"
#include "tests/bench/regret.hpp"

#include <fmt/core.h>

namespace weir::bench {
namespace {

void race_at(const Options &options, std::uint32_t keys, double hits, std::vector<Candidate> &candidates,
             const RteHashLookup<WireV6> &peer, LimitLookup &limit, JsonLines &lines, Grid &grid,
             Regret &regret) {
  const auto queries = make_rounds<WireV6>(options, keys, hits);
  std::vector<Contender> contenders;
  for (Candidate &candidate : candidates)
    contenders.push_back(
        {candidate.name(), [&](unsigned r) { return candidate.lookup().run(queries.of(r)); }});
  contenders.push_back({"rte_hash", [&](unsigned r) { return peer.run(queries.of(r)); }});
  contenders.push_back({"LIMIT", [&](unsigned r) { return limit.run(queries.of(r)); }, false});
  contenders.push_back({"LIMIT, L1", [&](unsigned r) { return limit.run_into_l1(queries.of(r)); }, false});
  const Prepare prepare = [&](unsigned round) { touch(queries.of(round)); };
  const auto outcomes = compete(contenders, queries.a_round, options.rounds(), prepare);

  const std::size_t ours = candidates.size(), best = fastest(outcomes, 0, ours);
  std::vector<std::string> cells{count_words(keys), fmt::format("{:g} %", hits)};
  for (const Outcome &outcome : outcomes) {
    cells.push_back(with_spread(outcome.figure));
    lines.line({{"bench", "lookup"},
                {"family", "ipv6"},
                {"contender", outcome.name},
                {"keys", std::uint64_t{keys}},
                {"hit_percent", hits},
                {"mlookups_per_s", outcome.figure.median},
                {"ns_per_key", 1e3 / outcome.figure.median},
                {"spread_percent", outcome.figure.spread_percent}});
  }
  cells.insert(cells.end(),
               {outcomes[best].name, short_number(ratio_of(outcomes[best], outcomes[ours + 1]).median),
                short_number(ratio_of(outcomes[best], outcomes[ours + 2]).median),
                short_number(ratio_of(outcomes[best], outcomes[ours]).median)});
  grid.rows.push_back(cells);
  regret.at(keys, hits, {outcomes.begin(), outcomes.begin() + static_cast<std::ptrdiff_t>(ours)},
            [&](std::vector<Outcome> &of_plans) {
              go_on(of_plans, std::span(contenders).first(ours), queries.a_round, 2 * options.rounds(),
                    prepare);
            });
}

void bench_lookup_v6(const Options &options, std::vector<Standing> &standings) {
  JsonLines lines(options, "lookup_v6");
  Regret regret(options, Family::ipv6, "IPv6");
  Grid grid{{"keys", "hits"}, {}};
  for (const PlanShape &shape : plan_shapes()) grid.columns.emplace_back(shape.name);
  for (const char *name :
       {"rte_hash", "LIMIT", "LIMIT, L1", "best plan", "/ LIMIT", "/ LIMIT, L1", "/ rte_hash"})
    grid.columns.emplace_back(name);
  std::vector<std::uint32_t> sizes{1'000'000};
  if (!options.quick) sizes = {100'000, 1'000'000, 10'000'000};
  for (const std::uint32_t keys : sizes) {
    calibrate(options);
    const auto entries = make_entries_v6(keys);
    auto candidates = make_candidates({}, entries);
    const RteHashLookup<WireV6> peer(keys);
    LimitLookup limit(least_table_bytes(candidates));
    for (const double hits : {100.0, 1.0})
      race_at(options, keys, hits, candidates, peer, limit, lines, grid, regret);
  }
  show(options, "lookup_v6", "lookups of IPv6 hosts, one core, million a second", grid);
  regret.finish(standings);
}

const Benchmark lookup_v6_benchmark{12, "lookup_v6", bench_lookup_v6};

} // namespace
} // namespace weir::bench
