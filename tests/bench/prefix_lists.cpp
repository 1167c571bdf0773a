// Lists that are mainly prefixes, beside DPDK's longest-prefix matches and LIMIT: the sets of prefix_sets.hpp, asked
// in the mixes of prefix_queries.hpp. weir's lookup asks an image of the plain plan; LIMIT's memory is as large as
// what the prefixes add to an image.
//
//   geo             prefixes by country, both families
//   BGP-like        a synthetic full table, both families
//   six countries   of geo, IPv4
//   random          20k, 100k and 250k prefixes of lengths 16 to 24
//
// A quick run asks geo and 100k random prefixes alone. All that are exact must name the same list for an address.
#include "tests/bench/gate.hpp"
#include "tests/bench/limit.hpp"
#include "tests/bench/lpm_peers.hpp"
#include "tests/bench/paced_race.hpp"
#include "tests/bench/prefix_queries.hpp"

#include <fmt/core.h>

#include <array>
#include <set>

namespace weir::bench {
namespace {

struct Target {
  double floor = 0, aim = 0;
  [[nodiscard]] bool is_set() const { return floor > 0; }
};

struct SetTargets {
  const char *family, *peer, *set;
  Target of_peer, of_limit, bytes;

  [[nodiscard]] std::string peer_row() const {
    return fmt::format("{} {}, worst of four mixes / {}", family, set, peer);
  }
  [[nodiscard]] std::string limit_row() const { return fmt::format("{} {}, uniform / LIMIT", family, set); }
  [[nodiscard]] std::string bytes_row() const { return fmt::format("bytes an {} prefix, {}", family, set); }
};

constexpr std::array all_targets{
    SetTargets{"IPv4", "rte_fib", "geo", {1.7, 2.5}, {0.45, 0.65}, {8, 6}},
    SetTargets{"IPv4", "rte_fib", "BGP-like", {1.7, 2.5}, {0.45, 0.65}, {}},
    SetTargets{"IPv6", "rte_fib6", "geo", {1.2, 1.6}, {}, {12, 9}},
    SetTargets{"IPv6", "rte_fib6", "BGP-like", {2.2, 3}, {}, {}},
};
constexpr Target sections_target{0.3, 0.1};
constexpr const char *sections_row = "1.16M prefixes (geo, both families), sorted to image sections, s";

const SetTargets *targets_of(const std::string &family, const std::string &set) {
  for (const SetTargets &targets : all_targets)
    if (targets.family == family && targets.set == set) return &targets;
  return nullptr;
}

void leave_out(const std::string &set, const std::string &why, std::vector<Standing> &standings) {
  for (const SetTargets &of : all_targets) {
    if (of.set != set) continue;
    standings.push_back(not_measured(of.peer_row(), of.of_peer.floor, of.of_peer.aim, why));
    if (of.of_limit.is_set())
      standings.push_back(not_measured(of.limit_row(), of.of_limit.floor, of.of_limit.aim, why));
    if (of.bytes.is_set())
      standings.push_back(not_measured(of.bytes_row(), of.bytes.floor, of.bytes.aim, why, true));
  }
}

struct Report {
  const Options &options;
  std::vector<Standing> &standings;
  JsonLines lines;
  Grid v4, v6, sizes;
};

// ---- one set ------------------------------------------------------------------------------------

template <class Wire> struct PeersOf;
template <> struct PeersOf<WireV4> {
  RteFib fib;
  std::unique_ptr<RteLpm> lpm; // none where its rules would take too long to add

  PeersOf(const PrefixSet<WireV4> &set, const Options &options) : fib(set) {
    const double steps_max = options.quick ? 1e9 : 2e10;
    if (RteLpm::steps_to_build(set) <= steps_max) lpm = std::make_unique<RteLpm>(set);
  }
  void add_to(std::vector<PacedContender<WireV4>> &contenders) const {
    if (lpm)
      contenders.push_back(
          {"rte_lpm", [this](auto q) { return lpm->run(q); }, [this](auto q) { return lpm->list_words(q); }});
  }
};
template <> struct PeersOf<WireV6> {
  RteFib6 fib;
  PeersOf(const PrefixSet<WireV6> &set, const Options &) : fib(set) {}
  void add_to(std::vector<PacedContender<WireV6>> &) const {}
};

template <class Wire> class SetRace {
public:
  using Of = OfFamily<Wire>;

  SetRace(const PrefixSet<Wire> &set, Report &report)
      : set_(set), report_(report), image_(image_of(set.entries, set.lists)),
        bytes_(bytes_of_entries(*image_, set.lists)), limit_(bytes_), peers_(set, report.options) {}

  void run() {
    add_size();
    Figure worst, uniform;
    for (const QueryMix mix : all_query_mixes) {
      const auto outcomes = race(mix);
      const Figure of_peer = ratio_of(outcomes[0], outcomes[1]);
      if (worst.median == 0 || of_peer.median < worst.median) worst = of_peer;
      if (mix == QueryMix::uniform) uniform = ratio_of(outcomes[0], *of(outcomes, "LIMIT"));
      add_row(mix, outcomes);
    }
    const SetTargets *targets = targets_of(Of::name, set_.name);
    if (!targets) return;
    const auto add = [&](const std::string &row, const Target &target, const Figure &figure, bool less) {
      if (target.is_set()) report_.standings.push_back(standing(row, target.floor, target.aim, figure, less));
    };
    add(targets->peer_row(), targets->of_peer, worst, false);
    add(targets->limit_row(), targets->of_limit, uniform, false);
    add(targets->bytes_row(), targets->bytes, {bytes_a_prefix(), 0}, true);
  }

private:
  static constexpr bool is_v4 = Of::bits == 32;

  [[nodiscard]] double bytes_a_prefix() const {
    return static_cast<double>(bytes_) / static_cast<double>(set_.entries.size());
  }
  [[nodiscard]] static const Outcome *of(const std::vector<Outcome> &outcomes, const std::string &name) {
    const auto it = std::ranges::find(outcomes, name, &Outcome::name);
    return it == outcomes.end() ? nullptr : &*it;
  }

  std::vector<Outcome> race(QueryMix mix) {
    const Options &options = report_.options;
    // A few queries for each line of a table: other contenders have emptied the caches since its last turn.
    constexpr std::size_t a_round = 1u << 19;
    const unsigned stretches = options.quick ? options.rounds() + 1 : 8;
    const Queries<Wire> queries{PrefixQueries<Wire>(set_).make(mix, a_round * stretches, 42), a_round};
    weir_.emplace(image_->view()); // counts lines from here on
    std::vector<PacedContender<Wire>> contenders{
        {"weir", [&](auto q) { return weir_->run(q); }, [&](auto q) { return weir_->list_words(q); }},
        {peers_.fib.name, [&](auto q) { return peers_.fib.run(q); },
         [&](auto q) { return peers_.fib.list_words(q); }}};
    peers_.add_to(contenders);
    contenders.push_back({"LIMIT", [&](auto q) { return limit_.run(q); }});
    contenders.push_back({"LIMIT, L1", [&](auto q) { return limit_.run_into_l1(q); }});
    return compete<Wire>(contenders, queries, options.rounds());
  }

  void add_row(QueryMix mix, const std::vector<Outcome> &outcomes) {
    const std::string peer = fmt::format("{}, {}", peers_.fib.name, peers_.fib.lookup_name());
    const std::string slash_peer = fmt::format("/ {}", peers_.fib.name);
    Grid &grid = is_v4 ? report_.v4 : report_.v6;
    grid.columns = {"set",   "mix",       "weir",  peer,      "rte_lpm",
                    "LIMIT", "LIMIT, L1", "lines", "/ LIMIT", slash_peer};
    if (!is_v4) std::erase(grid.columns, "rte_lpm");
    std::vector<std::string> cells{set_.name, name_of(mix)};
    for (const std::string name : {"weir", peers_.fib.name, "rte_lpm", "LIMIT", "LIMIT, L1"}) {
      if (!is_v4 && name == "rte_lpm") continue;
      const Outcome *outcome = of(outcomes, name);
      cells.push_back(outcome ? with_spread(outcome->figure) : "-");
      if (!outcome) continue;
      report_.lines.line({{"bench", "prefix_lists"},
                          {"family", Of::name},
                          {"set", set_.name},
                          {"mix", name_of(mix)},
                          {"contender", name},
                          {"mlookups_per_s", outcome->figure.median},
                          {"ns_per_key", 1e3 / outcome->figure.median},
                          {"spread_percent", outcome->figure.spread_percent}});
    }
    const double lines = weir_->lines_per_lookup(); // 0: it asked one question at a time, which counts none
    cells.insert(cells.end(), {lines > 0 ? fmt::format("{:.2f}", lines) : "-",
                               short_number(ratio_of(outcomes[0], *of(outcomes, "LIMIT")).median),
                               short_number(ratio_of(outcomes[0], outcomes[1]).median)});
    grid.rows.push_back(cells);
  }

  void add_size() {
    std::set<unsigned> lengths;
    for (const auto &entry : set_.entries) lengths.insert(entry.length);
    const build::BuildReport &built = image_->report();
    report_.sizes.rows.push_back(
        {fmt::format("{} {}", Of::name, set_.name), std::to_string(set_.entries.size()),
         std::to_string(lengths.size()), std::to_string(set_.lists), fmt::format("{:.2f}", bytes_a_prefix()),
         fmt::format("{:.1f}", static_cast<double>(bytes_) / (1 << 20)),
         fmt::format("{:.0f}", built.build_ms), fmt::format("{:.0f}", built.verify_ms)});
    report_.lines.line({{"bench", "prefix_lists"},
                        {"family", Of::name},
                        {"set", set_.name},
                        {"prefixes", std::uint64_t{set_.entries.size()}},
                        {"bytes", bytes_},
                        {"build_ms", built.build_ms},
                        {"verify_ms", built.verify_ms}});
  }

  const PrefixSet<Wire> &set_;
  Report &report_;
  std::unique_ptr<Image> image_;
  std::uint64_t bytes_;
  std::optional<WeirLookup> weir_;
  LimitLookup limit_;
  PeersOf<Wire> peers_;
};

// ---- all of them --------------------------------------------------------------------------------

// What the builder takes from sorted prefixes of both families to filled sections, without asking every key.
void time_sections(const Geo &geo, const Options &options, std::vector<Standing> &standings) {
  std::vector<double> seconds;
  run_on_all_cpus();
  for (unsigned i = 0; i < (options.quick ? 3u : 5u); ++i)
    seconds.push_back(Image(geo.v4.entries, geo.v6.entries, plain_plan, geo.v4.lists).report().build_ms /
                      1e3);
  run_on_cpu(0);
  standings.push_back(
      standing(sections_row, sections_target.floor, sections_target.aim, figure_of(seconds), true));
}

void bench_prefix_lists(const Options &options, std::vector<Standing> &standings) {
  Report report{options, standings, JsonLines(options, "prefix_lists"), {}, {}, {}};
  report.sizes.columns = {"set",      "prefixes",  "lengths",          "lists", "bytes a prefix",
                          "all, MiB", "build, ms", "ask every key, ms"};
  if (const auto geo = load_geo()) {
    SetRace<WireV4>(geo->v4, report).run();
    SetRace<WireV6>(geo->v6, report).run();
    time_sections(*geo, options, standings);
    if (!options.quick) SetRace<WireV4>(geo->few, report).run();
  } else {
    fmt::print("\nprefix lists: geo is not measured: {}\n", geo_remedy);
    leave_out("geo", geo_remedy, standings);
    standings.push_back(
        not_measured(sections_row, sections_target.floor, sections_target.aim, geo_remedy, true));
  }
  if (options.quick) {
    leave_out("BGP-like", "a quick run asks geo and random prefixes alone", standings);
  } else {
    SetRace<WireV4>(bgp_like_v4(), report).run();
    SetRace<WireV6>(bgp_like_v6(), report).run();
  }
  for (const std::uint32_t count :
       options.quick ? std::vector{100'000u} : std::vector{20'000u, 100'000u, 250'000u})
    SetRace<WireV4>(random_prefixes(count), report).run();

  show(options, "prefix_lists", "lists of IPv4 prefixes, one core, million addresses a second", report.v4);
  if (!report.v6.rows.empty())
    show(options, "prefix_lists_v6", "lists of IPv6 prefixes, one core, million addresses a second",
         report.v6);
  show(options, "prefix_lists_memory", "what prefixes take in an image", report.sizes);
}

const Benchmark prefix_lists_benchmark{14, "prefix_lists", bench_prefix_lists};

} // namespace
} // namespace weir::bench
