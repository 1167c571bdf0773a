// What prefixes cost those who mainly list hosts: hosts and prefixes together against the hosts alone, each under its
// best plan, and against the best table of the hosts alone.
//
//   600k hosts and 3,000 prefixes   of ten lengths, as firehol publishes them. 5 % of the queries hit, half of
//                                   them hosts and half prefixes; the others lie in no /24 with a prefix
//   10M hosts and geo               the prefixes of all countries. 5 % of the queries are aimed alike, the others
//                                   are random addresses. In a full run alone
#include "tests/bench/candidates.hpp"
#include "tests/bench/prefix_queries.hpp"
#include "tests/bench/race.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <random>

namespace weir::bench {
namespace {

constexpr const char *firehol_row = "600k hosts and 3,000 prefixes / hosts alone",
                     *geo_row = "10M hosts and geo / hosts alone", *of_plans = ", best plan of each",
                     *of_table = " in a table";
constexpr double ratio_floor = 0.9, firehol_aim = 1, geo_aim = 1.2;

class Mix {
public:
  enum class Rest : std::uint8_t { untouched, random }; // where the queries lie that are aimed at nothing

  Mix(std::uint32_t hosts, const PrefixSet<WireV4> &prefixes, Rest rest)
      : hosts_(hosts), lists_(prefixes.lists), rest_(rest), prefixes_(prefixes),
        entries_(make_entries(hosts)) {
    entries_.insert(entries_.end(), prefixes.entries.begin(), prefixes.entries.end());
    std::ranges::sort(entries_);
    const auto same_prefix = [](const build::EntryV4 &a, const build::EntryV4 &b) {
      return a.host == b.host && a.length == b.length;
    };
    const auto again = std::ranges::unique(entries_, same_prefix);
    entries_.erase(again.begin(), again.end());
  }

  [[nodiscard]] std::string name() const {
    return fmt::format("{} hosts, {} prefixes", count_words(hosts_), entries_.size() - hosts_);
  }
  [[nodiscard]] std::span<const build::EntryV4> entries() const { return entries_; }
  [[nodiscard]] std::uint32_t hosts() const { return hosts_; }
  [[nodiscard]] unsigned lists() const { return lists_; }

  // 5 % are aimed: at hosts alone, or at hosts and prefixes by halves.
  [[nodiscard]] std::vector<WireV4> queries(bool with_prefixes, std::size_t count) const {
    std::mt19937_64 random(2);
    std::vector<WireV4> out(count);
    for (WireV4 &query : out) {
      const std::uint64_t share = random() % 1000;
      if (share < 25 || (share < 50 && !with_prefixes))
        query = scrambled_address(reduce(static_cast<std::uint32_t>(random()), hosts_));
      else if (share < 50)
        query = prefixes_.inside(random);
      else
        query = rest_ == Rest::random ? prefixes_.uniform(random) : prefixes_.untouched(random);
    }
    return out;
  }

private:
  std::uint32_t hosts_;
  unsigned lists_;
  Rest rest_;
  PrefixQueries<WireV4> prefixes_;
  std::vector<build::EntryV4> entries_;
};

// And hosts in words, and all in the range map.
std::vector<PlanShape> with_other_homes(std::span<const PlanShape> shapes) {
  std::vector<PlanShape> out(shapes.begin(), shapes.end());
  out.push_back(words_shape());
  out.push_back({"map of ranges", {}, 0, 0, build::HostHome::ranges});
  out.push_back({"map of points", {}, 0, 0, build::HostHome::points});
  return out;
}

struct Ratios {
  Figure of_plans,
      of_table; // hosts and prefixes to hosts alone: by the best plan of each; to those in a table
};

// Tables come first among `shapes`, maps last.
Ratios race(const Options &options, const Mix &mix, std::span<const PlanShape> shapes, JsonLines &lines,
            Grid &grid) {
  std::vector<Candidate> with, alone;
  {
    const auto hosts = make_entries(mix.hosts());
    for (const PlanShape &shape : shapes) {
      with.emplace_back(shape, mix.entries(), std::span<const build::EntryV6>{}, mix.lists());
      const bool in_map = shape.home == build::HostHome::ranges || shape.home == build::HostHome::points;
      if (in_map) continue; // random hosts alone are no faster there
      alone.emplace_back(shape, hosts, std::span<const build::EntryV6>{});
    }
  }
  const std::size_t a_round = options.quick ? 1u << 18 : 1u << 20, all = a_round * (options.rounds() + 1);
  const Queries<WireV4> mixed{mix.queries(true, all), a_round}, hosts{mix.queries(false, all), a_round};
  std::vector<Contender> contenders;
  for (Candidate &c : with)
    contenders.push_back({"mix, " + c.name(), [&](unsigned r) { return c.lookup().run(mixed.of(r)); }});
  for (Candidate &c : alone)
    contenders.push_back(
        {"hosts, " + c.name(), [&](unsigned r) { return c.lookup().run(hosts.of(r)); }, false});
  const auto outcomes = compete(contenders, a_round, options.rounds());
  const std::size_t n = with.size(), others = alone.size(), tables = others - 1;

  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t beside = n + (i < others ? i : fastest(outcomes, n, n + others) - n);
    const Figure ratio = ratio_of(outcomes[i], outcomes[beside]);
    grid.rows.push_back({mix.name(), with[i].name(), with_spread(outcomes[i].figure),
                         with_spread(outcomes[beside].figure), short_number(ratio.median),
                         fmt::format("{:.2f}", with[i].lines_per_lookup()),
                         fmt::format("{:.2f}", alone[beside - n].lines_per_lookup())});
    lines.line({{"bench", "mix"},
                {"lists", mix.name()},
                {"contender", with[i].name()},
                {"mlookups_per_s", outcomes[i].figure.median},
                {"hosts_mlookups_per_s", outcomes[beside].figure.median},
                {"ratio", ratio.median},
                {"spread_percent", ratio.spread_percent}});
  }
  const Outcome &best = outcomes[fastest(outcomes, 0, n)];
  return {ratio_of(best, outcomes[fastest(outcomes, n, n + others)]),
          ratio_of(best, outcomes[fastest(outcomes, n, n + tables)])};
}

void add(const std::string &row, double aim, const Ratios &ratios, std::vector<Standing> &standings) {
  standings.push_back(standing(row + of_plans, ratio_floor, aim, ratios.of_plans));
  standings.push_back(standing(row + of_table, ratio_floor, aim, ratios.of_table));
}
void leave_out_geo(const std::string &why, std::vector<Standing> &standings) {
  for (const char *of : {of_plans, of_table})
    standings.push_back(not_measured(std::string(geo_row) + of, ratio_floor, geo_aim, why));
}

void bench_mix(const Options &options, std::vector<Standing> &standings) {
  JsonLines lines(options, "mix");
  Grid grid{
      {"lists", "candidate", "mix", "hosts alone", "mix / hosts alone", "lines, mix", "lines, hosts alone"},
      {}};
  const PrefixSet<WireV4> few = firehol_like_prefixes();
  add(firehol_row, firehol_aim,
      race(options, Mix(600'000, few, Mix::Rest::untouched), with_other_homes(plan_shapes()), lines, grid),
      standings);

  if (options.quick) {
    leave_out_geo("a quick run mixes 600k hosts alone", standings);
  } else if (const auto geo = load_geo()) {
    std::vector<PlanShape> shapes; // a front filter pays for itself with neither
    std::ranges::copy_if(plan_shapes(), std::back_inserter(shapes), [](auto &s) { return !s.has_front(); });
    add(geo_row, geo_aim,
        race(options, Mix(10'000'000, geo->v4, Mix::Rest::random), with_other_homes(shapes), lines, grid),
        standings);
  } else {
    fmt::print("\nmix: geo is not measured: {}\n", geo_remedy);
    leave_out_geo(geo_remedy, standings);
  }
  show(options, "mix", "hosts and prefixes together, 5 % of the queries aimed, million a second", grid);
}

const Benchmark mix_benchmark{14, "mix", bench_mix};

} // namespace
} // namespace weir::bench
