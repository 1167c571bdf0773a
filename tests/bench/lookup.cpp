// Lookups a second on one core, beside rte_hash and LIMIT, at several sizes and shares of hits.
#include "tests/bench/contenders.hpp"

#include <fmt/core.h>

#include <map>

namespace weir::bench {
namespace {

struct Contender {
  std::string name;
  std::function<std::uint64_t(std::span<const std::uint32_t>)> run;
  bool exact = true; // its count of hits means something
};

// Million lookups a second of each contender, in the order given.
std::vector<Figure> compete(const std::vector<Contender> &contenders, std::span<const std::uint32_t> queries,
                            unsigned rounds) {
  std::vector<std::vector<double>> samples(contenders.size());
  std::uint64_t expected = 0;
  for (unsigned round = 0; round <= rounds; ++round) // round 0 warms up
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      const double start = cpu_ns();
      const std::uint64_t found = contenders[i].run(queries);
      const double ns = cpu_ns() - start;
      if (round > 0) samples[i].push_back(static_cast<double>(queries.size()) / ns * 1e3);
      if (!contenders[i].exact) continue;
      if (expected == 0) expected = found;
      if (found != expected)
        give_up(fmt::format("{} found {} of {} queries, others {}", contenders[i].name, found, queries.size(),
                            expected));
    }
  std::vector<Figure> figures;
  for (auto &s : samples) figures.push_back(figure_of(std::move(s)));
  return figures;
}

// Lines that a lookup touches in the tables, from the tables as built: a share `hit` of the queries
// asks for stored keys.
double lines_per_lookup(const build::TableReport &table, double hit) {
  return hit * table.lines_hit + (1 - hit) * table.lines_absent;
}

double floor_of(const std::map<std::uint32_t, double> &by_size, std::uint32_t keys) {
  const auto it = by_size.find(keys);
  return it == by_size.end() ? 0 : it->second;
}

void add_standings(std::uint32_t keys, double hit_percent, const std::vector<Figure> &f,
                   std::vector<Standing> &standings) {
  const double best = std::max(f[0].median, f[1].median), limit = f[3].median, peer = f[2].median;
  const std::string at = fmt::format("{}M IPv4 keys, {:g} % hits", keys / 1'000'000, hit_percent);
  const bool small = keys <= 1'000'000;
  standings.push_back({"lookup / LIMIT, " + at, 0.85, small ? 0.98 : 0.95, best / limit});
  static const std::map<std::uint32_t, double> hit_floor{{1'000'000, 6}, {10'000'000, 4.5}},
      hit_aim{{1'000'000, 9}, {10'000'000, 6}}, miss_floor{{1'000'000, 3}, {10'000'000, 2.3}},
      miss_aim{{1'000'000, 4}, {10'000'000, 3.6}};
  if (hit_percent == 100)
    standings.push_back(
        {"lookup / rte_hash, " + at, floor_of(hit_floor, keys), floor_of(hit_aim, keys), best / peer});
  if (hit_percent == 1)
    standings.push_back({"lookup / rte_hash, best plan, " + at, floor_of(miss_floor, keys),
                         floor_of(miss_aim, keys), best / peer});
}

} // namespace

static void bench_lookup(const Options &options, std::vector<Standing> &standings) {
  JsonLines lines(options, "lookup");
  fmt::print("\nlookups, one core, million a second (medians of {} interleaved rounds, +- half the quartile "
             "distance)\n",
             options.rounds());
  fmt::print("{:>5} {:>6}  {:>14} {:>14} {:>14} {:>14}  {:>8} {:>8} {:>7}\n", "keys", "hits", "weir none",
             "weir bloom", "rte_hash", "LIMIT", "/limit", "/hash", "lines");
  for (const std::uint32_t keys : {1'000'000u, 10'000'000u}) {
    const auto entries = make_entries(keys);
    Image plain(entries, {}, false), fronted(entries, {}, true);
    WeirLookup weir_none(plain.view()), weir_bloom(fronted.view());
    RteHashLookup peer(keys);
    LimitLookup limit(plain.report().deny_v4.bytes);
    const std::vector<Contender> contenders{
        {"weir, front filter none", [&](auto q) { return weir_none.run(q); }},
        {"weir, front filter split_block_bloom", [&](auto q) { return weir_bloom.run(q); }},
        {"rte_hash_lookup_bulk_data", [&](auto q) { return peer.run(q); }},
        {"LIMIT", [&](auto q) { return limit.run(q); }, false},
    };
    for (const double hit_percent : {100.0, 10.0, 1.0}) {
      const auto queries = make_queries(keys, hit_percent, options.quick ? 1u << 19 : 1u << 21, 42);
      const auto f = compete(contenders, queries, options.rounds());
      const double touched = lines_per_lookup(plain.report().deny_v4, hit_percent / 100);
      const double best = std::max(f[0].median, f[1].median);
      std::string row = fmt::format("{:>4}M {:>4g} % ", keys / 1'000'000, hit_percent);
      for (const Figure &one : f) row += fmt::format(" {:>7.1f} +-{:>3.0f}%", one.median, one.spread_percent);
      fmt::print("{}   {:>7.2f}  {:>7.2f} {:>7.3f}\n", row, best / f[3].median, best / f[2].median, touched);
      std::fflush(stdout);
      for (std::size_t i = 0; i < f.size(); ++i)
        lines.line({{"bench", "lookup"},
                    {"family", "ipv4"},
                    {"contender", contenders[i].name},
                    {"keys", std::uint64_t{keys}},
                    {"hit_percent", hit_percent},
                    {"mlookups_per_s", f[i].median},
                    {"ns_per_key", 1e3 / f[i].median},
                    {"spread_percent", f[i].spread_percent},
                    {"lines_per_lookup", i == 0 ? touched : 0.0},
                    {"hugepages", std::uint64_t{plain.region().hugepages()}}});
      add_standings(keys, hit_percent, f, standings);
    }
    standings.push_back({fmt::format("lines per lookup, inline_bits, stored key, {}M", keys / 1'000'000),
                         1.10, 1.07, plain.report().deny_v4.lines_hit, true});
    standings.push_back({fmt::format("lines per lookup, inline_bits, absent key, {}M", keys / 1'000'000),
                         1.10, 1.07, plain.report().deny_v4.lines_absent, true});
  }
}

static const Benchmark lookup_benchmark{10, "lookup", bench_lookup};

} // namespace weir::bench
