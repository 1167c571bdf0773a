// Where IPv4 hosts may stand, each over the same hosts: in a cuckoo table behind either predictor or a front filter, in a range map, as
// ranges of one address or as points, or in one word each.
//
//   random       anywhere
//   clustered    50 in each of some /24s, as scanners and home networks have them
//   in a row     one behind the other, as lists that name whole networks by their addresses have them
//
// alone and beside 3,000 prefixes of ten lengths, which stand in the map in either case. Hits are hosts at random, the others random
// addresses. At each point the planner is asked, with entries, share of hits and its calibration of this machine, which is measured anew for
// each set of hosts. The table at the end says what changes in place cost: a
// sixteenth as many hosts as the image has, up to 65,536, and out again.
#include "control/plan/host_home.hpp"
#include "tests/bench/candidates.hpp"
#include "tests/bench/prefix_sets.hpp"
#include "tests/bench/race.hpp"
#include "tests/bench/regret.hpp"
#include "weir/image/writer.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <random>

namespace weir::bench {
namespace {

enum class Layout : std::uint8_t { random, clustered, in_a_row };
constexpr Layout layouts[] = {Layout::random, Layout::clustered, Layout::in_a_row};
constexpr const char *name_of(Layout layout) {
  constexpr const char *names[] = {"random", "clustered", "in a row"};
  return names[static_cast<std::size_t>(layout)];
}

// The i-th of 2^32 different hosts.
std::uint32_t host_at(Layout layout, std::uint32_t i) {
  constexpr std::uint32_t a_net = 50;
  switch (layout) {
  case Layout::random: break;
  case Layout::clustered: {
    const std::uint32_t net = scrambled_address(i / a_net) & ~std::uint32_t{0xFF};
    return net | ((i % a_net) * 77 & 0xFF);
  }
  case Layout::in_a_row: return 0x0A000000 + i;
  }
  return byteswap32(scrambled_address(i));
}

std::vector<build::EntryV4> hosts_of(Layout layout, std::uint32_t hosts) {
  std::vector<build::EntryV4> entries(hosts);
  for (std::uint32_t i = 0; i < hosts; ++i) entries[i].host = host_at(layout, i);
  std::ranges::sort(entries);
  entries.erase(std::ranges::unique(entries).begin(), entries.end()); // clusters may share a /24
  return entries;
}

Queries<WireV4> queries_of(const Options &options, std::span<const build::EntryV4> entries,
                           double hit_percent) {
  const std::size_t a_round = options.quick ? 1u << 18 : 1u << 20;
  std::mt19937_64 random(44);
  Queries<WireV4> queries{std::vector<WireV4>(a_round * (options.rounds() + 1)), a_round};
  const auto bound = static_cast<std::uint32_t>(hit_percent / 100 * 4294967295.0);
  for (WireV4 &query : queries.all) {
    const std::uint64_t r = random();
    const auto place = static_cast<std::uint32_t>(r >> 32);
    query = static_cast<std::uint32_t>(r) <= bound
                ? byteswap32(entries[reduce(place, static_cast<std::uint32_t>(entries.size()))].host)
                : static_cast<std::uint32_t>(random());
  }
  return queries;
}

const std::vector<PlanShape> &homes() {
  using enum plan::FrontFilter;
  using enum plan::Predictor;
  static const std::vector<PlanShape> all{
      {"table, inline_bits", {none, inline_bits}, 0, 0},
      {"table, chained", {none, chained}, 0, 0},
      {"table, bloom", {split_block_bloom, inline_bits}, 0, 0},
      {"ranges", {none, inline_bits}, 0, 0, build::HostHome::ranges},
      {"points", {none, inline_bits}, 0, 0, build::HostHome::points},
      {"words", {none, inline_bits}, 0, 0, build::HostHome::words},
  };
  return all;
}
constexpr std::size_t first_map = 3, words = 5; // among homes(): three tables, two maps, words

// Of a table and what else answers for hosts.
std::uint64_t bytes_of(const Image &image) {
  const image::ImageView &view = image.view();
  const auto *entry = reinterpret_cast<const image::SectionEntry *>(image.region().bytes().data() +
                                                                    view.header->header_bytes);
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < view.header->section_count; ++i) bytes += entry[i].bytes;
  return bytes;
}

// Million changes a second: hosts that come, and the same ones that go.
struct Changes {
  double come = 0, go = 0;
};
Changes change(const Candidate &candidate, Layout layout, std::uint32_t hosts) {
  constexpr std::size_t batch = 1024;
  const std::uint32_t count = std::clamp<std::uint32_t>(hosts / 16, batch, 65'536);
  auto writer = image::ImageWriter::attach(candidate.image().region().bytes(), [] {});
  if (!writer) give_up(writer.error().message);
  std::vector<image::Delta> deltas(count);
  std::uint32_t next = hosts;
  for (image::Delta &delta : deltas) {
    delta.length = 32;
    delta.address = Address::from_host(host_at(layout, next++)).bytes;
  }
  const auto run = [&](image::DeltaOp op) {
    for (image::Delta &delta : deltas) delta.op = op;
    const auto start = Clock::now();
    for (std::size_t at = 0; at < deltas.size(); at += batch) {
      const auto done =
          writer->apply_batch(std::span(deltas).subspan(at, std::min(batch, deltas.size() - at)));
      if (done.needs_rebuild) return 0.0;
      writer->grace_passed();
    }
    return count / ns_since(start) * 1e3;
  };
  Changes changes;
  changes.come = run(image::DeltaOp::set);
  if (changes.come != 0) changes.go = run(image::DeltaOp::unset);
  return changes;
}

// With prefixes of another list beside them.
std::vector<build::EntryV4> with_prefixes(std::vector<build::EntryV4> hosts) {
  for (build::EntryV4 prefix : firehol_like_prefixes().entries) {
    prefix.list = ListId(1);
    hosts.push_back(prefix);
  }
  std::ranges::sort(hosts);
  return hosts;
}

// Lines of the map for one of the queries, 0: hosts stand in a table.
double map_lines(const Image &image, std::span<const WireV4> queries) {
  const table::RangeMapV4 &map = image.view().ranges_v4[Side::deny];
  if (map.empty() || map.in_use() != table::range_prefixes) return 0;
  std::uint64_t lines = 0;
  for (const WireV4 query : queries) lines += map.lines_asked(query);
  return static_cast<double>(lines) / static_cast<double>(queries.size());
}

struct Report {
  JsonLines lines;
  Grid lookups, cost;
  Figure worst_choice{0, 0};
};

// Of outcomes of homes(), those that stand where the planner wants the hosts.
std::size_t chosen_of(const std::vector<Outcome> &outcomes, build::HostHome home) {
  if (home == build::HostHome::table) return fastest(outcomes, 0, first_map); // it has its own choice there
  if (home == build::HostHome::words) return words;
  return home == build::HostHome::ranges ? first_map : first_map + 1;
}

void measure(const Options &options, Layout layout, std::uint32_t count, bool prefixes, Report &report) {
  if (count >= 1'000'000) calibrate(options); // fewer are in cache
  const auto hosts = hosts_of(layout, count);
  const auto entries = prefixes ? with_prefixes(hosts) : hosts;
  std::vector<Candidate> candidates;
  std::vector<double> build_ns;
  for (const PlanShape &shape : homes()) {
    const double start = cpu_ns();
    candidates.emplace_back(shape, entries, std::span<const build::EntryV6>{}, prefixes ? 2 : 1);
    build_ns.push_back((cpu_ns() - start) / static_cast<double>(entries.size()));
  }
  for (const double hits : {100.0, 10.0, 1.0}) {
    const auto queries = queries_of(options, hosts, hits);
    std::vector<Contender> contenders;
    for (Candidate &c : candidates)
      contenders.push_back({c.name(), [&](unsigned r) { return c.lookup().run(queries.of(r)); }});
    const auto outcomes = compete(contenders, queries.a_round, options.rounds(),
                                  [&](unsigned round) { touch(queries.of(round)); });
    const std::size_t table = fastest(outcomes, 0, first_map), map = fastest(outcomes, first_map, words);
    const Figure ratio = ratio_of(outcomes[map], outcomes[table]);
    const Figure words_ratio = ratio_of(outcomes[words], outcomes[fastest(outcomes, 0, words)]);
    const std::size_t chosen =
        chosen_of(outcomes, plan::weigh_homes(entries, hits / 100, calibration(options)).home);
    const std::size_t best = fastest(outcomes, 0, outcomes.size());
    const Figure cost = chosen == best ? Figure{1, 0} : ratio_of(outcomes[best], outcomes[chosen]);
    if (cost.median > report.worst_choice.median) report.worst_choice = cost;
    std::vector<std::string> cells{count_words(count), name_of(layout), prefixes ? "3,000" : "none",
                                   fmt::format("{:g} %", hits)};
    for (const Outcome &outcome : outcomes) cells.push_back(with_spread(outcome.figure));
    cells.insert(cells.end(), {short_number(ratio.median), short_number(words_ratio.median),
                               outcomes[chosen].name, short_number(cost.median)});
    for (const std::size_t in_map : {first_map, first_map + 1})
      cells.push_back(fmt::format("{:.2f}", map_lines(candidates[in_map].image(), queries.of(0))));
    report.lookups.rows.push_back(cells);
    for (const Outcome &outcome : outcomes)
      report.lines.line({{"bench", "host_homes"},
                         {"layout", name_of(layout)},
                         {"hosts", std::uint64_t{count}},
                         {"prefixes", std::uint64_t{entries.size() - hosts.size()}},
                         {"hit_percent", hits},
                         {"contender", outcome.name},
                         {"mlookups_per_s", outcome.figure.median},
                         {"spread_percent", outcome.figure.spread_percent}});
  }
  std::vector<std::string> cells{count_words(count), name_of(layout), prefixes ? "3,000" : "none"};
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const double bytes =
        static_cast<double>(bytes_of(candidates[i].image())) / static_cast<double>(entries.size());
    const Changes changes = change(candidates[i], layout, count);
    cells.push_back(fmt::format("{:.1f}, {:.0f}, {}, {}", bytes, build_ns[i], short_number(changes.come),
                                short_number(changes.go)));
  }
  report.cost.rows.push_back(cells);
}

void bench_host_homes(const Options &options, std::vector<Standing> &standings) {
  Report report{JsonLines(options, "host_homes"),
                {{"hosts", "layout", "prefixes", "hits"}, {}},
                {{"hosts", "layout", "prefixes"}, {}}};
  for (const PlanShape &home : homes()) {
    report.lookups.columns.emplace_back(home.name);
    report.cost.columns.emplace_back(home.name);
  }
  report.lookups.columns.insert(report.lookups.columns.end(),
                                {"better map / better table", "words / best of the others",
                                 "chosen by the plan", "fastest / chosen", "lines, ranges", "lines, points"});
  for (const std::uint32_t hosts : {10'000u, 100'000u, 1'000'000u, 3'000'000u, 10'000'000u, 30'000'000u}) {
    if (options.quick && hosts > 1'000'000) continue;
    for (const Layout layout : layouts)
      for (const bool prefixes : {false, true}) measure(options, layout, hosts, prefixes, report);
  }
  show(options, "host_homes", "where IPv4 hosts stand, one core, million lookups a second", report.lookups);
  show(options, "host_homes_cost",
       "the same: bytes a host, ns a host to build, million additions and removals a second", report.cost);
  standings.push_back(standing(
      fmt::format("home of IPv4 hosts: fastest / chosen, worst of {} points", report.lookups.rows.size()),
      1.10, 1.03, report.worst_choice, true));
}

const Benchmark host_homes_benchmark{15, "host_homes", bench_host_homes};

} // namespace
} // namespace weir::bench
