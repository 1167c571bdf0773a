// Lookups of IPv4 hosts: every candidate that a plan can choose, beside rte_hash and LIMIT, from
// tables that fit a first-level cache to 64M keys, at several shares of hits.
#include "tests/bench/limit.hpp"
#include "tests/bench/regret.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace weir::bench {
namespace {

struct Target {
  double floor = 0, aim = 0;
};

// What design asks of a size; sizes without targets only draw the curves.
struct Size {
  std::uint32_t keys;
  std::vector<double> hits_percent;
  Target of_limit{}, of_peer_hits{}, of_peer_misses{};
};

const std::vector<Size> &sizes() {
  static const std::vector<double> all{100, 10, 1, 0.1}, ends{100, 1};
  static const std::vector<Size> list{
      {10'000, ends},
      {30'000, ends},
      {100'000, all},
      {300'000, ends},
      {1'000'000, all, {0.55, 0.75}, {6, 9}, {3.5, 4.5}},
      {3'000'000, ends},
      {10'000'000, all, {0.75, 0.9}, {4.5, 6}, {4.2, 5}},
      {30'000'000, ends},
      {64'000'000, all, {0.75, 0.9}, {3.8, 4.8}, {2, 2.6}},
  };
  return list;
}

bool has_targets(const Size &size) { return size.of_limit.floor > 0; }

// A quick run leaves out what lies between the sizes that have targets, and 64M.
bool is_measured(const Options &options, const Size &size) {
  if (!options.quick) return true;
  return size.keys <= 10'000'000 && (has_targets(size) || size.keys == 100'000 || size.keys == 10'000);
}

struct Report {
  JsonLines lines;
  Grid grid;
  Regret regret;
  std::vector<Standing> &standings;
};

std::string limit_row(const Size &size) {
  return fmt::format("lookup / LIMIT, {} IPv4 keys, 100 % hits", count_words(size.keys));
}
std::string peer_row(const Size &size, double hits) {
  return fmt::format("lookup / rte_hash, {}, {} IPv4 keys, {:g} % hits", hits == 1 ? "best plan" : "all hits",
                     count_words(size.keys), hits == 1 ? 1.0 : 100.0);
}

void leave_out(const Size &size, const std::string &why, std::vector<Standing> &standings) {
  standings.push_back(not_measured(limit_row(size), size.of_limit.floor, size.of_limit.aim, why));
  standings.push_back(not_measured(peer_row(size, 100), size.of_peer_hits.floor, size.of_peer_hits.aim, why));
  standings.push_back(
      not_measured(peer_row(size, 1), size.of_peer_misses.floor, size.of_peer_misses.aim, why));
}

void write_lines(const Size &size, double hits, const std::vector<Outcome> &outcomes,
                 const std::vector<Candidate> &candidates, JsonLines &lines) {
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const bool ours = i < candidates.size();
    lines.line({{"bench", "lookup"},
                {"family", "ipv4"},
                {"contender", outcomes[i].name},
                {"keys", std::uint64_t{size.keys}},
                {"hit_percent", hits},
                {"mlookups_per_s", outcomes[i].figure.median},
                {"ns_per_key", 1e3 / outcomes[i].figure.median},
                {"spread_percent", outcomes[i].figure.spread_percent},
                {"lines_per_lookup", ours ? candidates[i].lines_per_lookup() : 0.0},
                {"table_bytes", ours ? candidates[i].table_bytes() : std::uint64_t{0}}});
  }
}

void race_at(const Options &options, const Size &size, double hits, std::vector<Candidate> &candidates,
             const RteHashLookup<WireV4> &peer, LimitLookup &limit, Report &report) {
  const auto queries = make_rounds<WireV4>(options, size.keys, hits);
  std::vector<Contender> contenders;
  for (Candidate &candidate : candidates) {
    candidate.restart_count();
    contenders.push_back(
        {candidate.name(), [&](unsigned r) { return candidate.lookup().run(queries.of(r)); }});
  }
  contenders.push_back({"rte_hash", [&](unsigned r) { return peer.run(queries.of(r)); }});
  contenders.push_back({"LIMIT", [&](unsigned r) { return limit.run(queries.of(r)); }, false});
  contenders.push_back({"LIMIT, L1", [&](unsigned r) { return limit.run_into_l1(queries.of(r)); }, false});
  const Prepare prepare = [&](unsigned round) { touch(queries.of(round)); };
  const auto outcomes = compete(contenders, queries.a_round, options.rounds(), prepare);

  const std::size_t ours = candidates.size(), tables = plan_shapes().size();
  const std::size_t best = fastest(outcomes, 0, ours);
  const Figure of_peer = ratio_of(outcomes[best], outcomes[ours]);
  const Figure of_limit = ratio_of(outcomes[best], outcomes[ours + 1]);
  std::vector<std::string> cells{count_words(size.keys), fmt::format("{:g} %", hits)};
  for (const Outcome &outcome : outcomes) cells.push_back(with_spread(outcome.figure));
  cells.insert(cells.end(), {outcomes[best].name, short_number(of_limit.median),
                             short_number(ratio_of(outcomes[best], outcomes[ours + 2]).median),
                             short_number(of_peer.median)});
  report.grid.rows.push_back(cells);
  write_lines(size, hits, std::vector(outcomes.begin(), outcomes.end() - 1), candidates, report.lines);
  report.regret.at(
      size.keys, hits, {outcomes.begin(), outcomes.begin() + static_cast<std::ptrdiff_t>(tables)},
      [&](std::vector<Outcome> &of_plans) {
        go_on(of_plans, std::span(contenders).first(tables), queries.a_round, 2 * options.rounds(), prepare);
      });

  if (!has_targets(size)) return;
  if (hits == 100)
    report.standings.push_back(standing(limit_row(size), size.of_limit.floor, size.of_limit.aim, of_limit));
  if (hits == 100 || hits == 1) {
    const Target &target = hits == 1 ? size.of_peer_misses : size.of_peer_hits;
    report.standings.push_back(standing(peer_row(size, hits), target.floor, target.aim, of_peer));
  }
}

std::string lines_row(const Size &size, const std::string &predictor, bool stored) {
  return fmt::format("lines per lookup, {}, {} key, {}", predictor, stored ? "stored" : "absent",
                     count_words(size.keys));
}

// Counted by the burst pipeline itself over queries that all hit, or all miss.
void count_lines(const Size &size, Candidate &candidate, std::vector<Standing> &standings) {
  for (const bool stored : {true, false}) {
    candidate.restart_count();
    (void)candidate.lookup().run(make_queries(size.keys, stored ? 100 : 0, 1u << 18, 3));
    standings.push_back(standing(lines_row(size, plan::name_of(candidate.shape().option.predictor), stored),
                                 candidate.shape().lines_floor, candidate.shape().lines_aim,
                                 {candidate.lines_per_lookup(), 0}, true));
  }
}

void measure(const Options &options, const Size &size, Report &report) {
  calibrate(options);
  const auto entries = make_entries(size.keys);
  auto candidates = make_candidates(entries, {});
  candidates.emplace_back(words_shape(), entries, std::span<const build::EntryV6>());
  const RteHashLookup<WireV4> peer(size.keys);
  LimitLookup limit(least_table_bytes(candidates));
  for (const double hits : size.hits_percent) race_at(options, size, hits, candidates, peer, limit, report);
  if (size.keys == 10'000'000) // lines do not depend on the size
    for (Candidate &candidate : candidates)
      if (candidate.shape().lines_floor != 0) count_lines(size, candidate, report.standings);
}

void bench_lookup(const Options &options, std::vector<Standing> &standings) {
  Report report{
      JsonLines(options, "lookup"), {{"keys", "hits"}, {}}, Regret(options, Family::ipv4, "IPv4"), standings};
  for (const PlanShape &shape : plan_shapes()) report.grid.columns.emplace_back(shape.name);
  report.grid.columns.emplace_back(words_shape().name);
  for (const char *name :
       {"rte_hash", "LIMIT", "LIMIT, L1", "best plan", "/ LIMIT", "/ LIMIT, L1", "/ rte_hash"})
    report.grid.columns.emplace_back(name);

  constexpr unsigned long pages_for_64M = 3200; // 1400 for rte_hash, 360 for each image and for LIMIT
  for (const Size &size : sizes()) {
    if (!is_measured(options, size)) {
      if (has_targets(size)) leave_out(size, "a quick run goes up to 10M keys", standings);
    } else if (size.keys > 10'000'000 && free_hugepages() < pages_for_64M) {
      fmt::print("\n{} keys are not measured: that takes {} free hugepages\n", count_words(size.keys),
                 pages_for_64M);
      if (has_targets(size)) leave_out(size, "", standings); // a miss
    } else {
      measure(options, size, report);
    }
  }
  show(options, "lookup", "lookups of IPv4 hosts, one core, million a second", report.grid);
  report.regret.finish(standings);
}

const Benchmark lookup_benchmark{10, "lookup", bench_lookup};

} // namespace
} // namespace weir::bench
