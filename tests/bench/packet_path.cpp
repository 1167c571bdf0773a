// Packets a second through the real worker on ring ports, beside the same loop without lookup and the
// same loop with rte_hash.
//
//   worker        dataplane::Worker with an image of N hosts, group bits in the lines, no front filter
//   chained       the same with a chained predictor; in a quick run not at ten million keys, where training
//                 it takes seconds
//   words         the same with hosts in one word each
//   empty lists   the same worker with an image that lists nothing
//   no image      the same worker before a first generation: receive, parse, verdict, transmit
//   plain loop    receive, the worker's own parse stage, verdict, the worker's own transmit stage; one
//                 burst at a time, since there is nothing to wait for; drops the same share of packets, drawn
//                 beforehand
//   one line      the plain loop, which also prefetches and reads one random line of as much memory as `words` take for each
//                 packet, as LIMIT does (limit.hpp): what memory leaves of the plain loop; with one worker
//   rte_hash      the plain loop with rte_hash_lookup_bulk_data over the burst between parse and verdict
//
// The closing table takes the fastest of `worker`, `chained` and `words`, as the planner is there to, over
// the plain loop, and with one worker over the one that reads a line. Every contender receives the same packets with
// the same stream of source addresses (see LoopPort) and counts them in the same counters; those that look up must
// drop the same number. A figure is packets over CPU time of the worker's thread; with two workers, each on a CPU and
// a port of its own over one image, the sum of both.
#include "tests/bench/rig.hpp"
#include "tests/bench/testpmd.hpp"

#include <algorithm>
#include <array>
#include <fmt/core.h>

namespace weir::bench {
namespace {

enum Contender : std::size_t {
  weir,
  weir_chained,
  weir_words,
  empty_lists,
  no_image,
  plain_loop,
  one_line,
  with_rte_hash,
  contenders
};
constexpr const char *names[contenders] = {"worker",   "chained",    "words",    "empty lists",
                                           "no image", "plain loop", "one line", "rte_hash"};
constexpr Contender whole_work[] = {weir, weir_chained, weir_words};

struct Images {
  std::unique_ptr<dataplane::AttachedImage> full, chained, words, empty;
};

struct Samples : std::array<std::vector<double>, contenders> { // round by round, million packets a second
  StageTimes stages, word_stages;                              // of `worker` and of `words`
};

// `sources` hold eight rounds' addresses, so that no round meets those of the last.
Samples compete(Rig &rig, Images &images, const rte_hash *peer, LimitLookup &limit,
                std::span<const std::uint32_t> sources, double hit_percent, unsigned rounds) {
  const std::size_t round_packets = sources.size() / 8;
  Samples samples;
  std::vector<std::unique_ptr<dataplane::Worker>> workers;
  std::vector<std::unique_ptr<PlainLoop>> plain, limited, hashed;
  for (unsigned id = 0; id < rig.workers(); ++id) {
    workers.push_back(std::make_unique<dataplane::Worker>(rig.setup(id), rig.slot(), rig.counters()));
    plain.push_back(std::make_unique<PlainLoop>(rig, id, nullptr, hit_percent / 100, *images.empty));
    limited.push_back(std::make_unique<PlainLoop>(rig, id, nullptr, hit_percent / 100, *images.empty));
    limited.back()->read_lines_of(limit);
    hashed.push_back(std::make_unique<PlainLoop>(rig, id, peer, 0, *images.empty));
  }
  for (unsigned round = 0; round <= rounds; ++round) { // round 0 warms up
    const auto addresses = sources.subspan(round % 8 * round_packets, round_packets);
    const auto run = [&](const auto &loops) {
      return rig.run(addresses, round_packets / rig.workers(),
                     [&](unsigned id, const std::atomic<bool> &stop) { loops[id]->run(stop); });
    };
    Rig::Run runs[contenders];
    for (const auto &[contender, image] : {std::pair{weir, &images.full},
                                           {weir_chained, &images.chained},
                                           {weir_words, &images.words},
                                           {empty_lists, &images.empty}}) {
      if (!*image) continue;
      rig.publish(std::move(*image));
      StageTimes *times = nullptr;
      if (round > 0 && contender == weir) times = &samples.stages;
      if (round > 0 && contender == weir_words) times = &samples.word_stages;
      runs[contender] = times ? times->over(rig, [&] { return run(workers); }) : run(workers);
      *image = rig.publish(nullptr);
    }
    runs[no_image] = run(workers);
    runs[plain_loop] = run(plain);
    if (rig.workers() == 1) runs[one_line] = run(limited);
    runs[with_rte_hash] = run(hashed);
    // The worker stops with bursts in flight that the plain loop does not have.
    const auto expected = static_cast<double>(runs[with_rte_hash].drops);
    for (const Contender c : whole_work)
      if (runs[c].mpps > 0 && std::abs(static_cast<double>(runs[c].drops) - expected) >
                                  4.0 * dataplane::burst_packets_max * rig.workers())
        give_up(fmt::format("{} dropped {} packets, the loop with rte_hash {}", names[c], runs[c].drops,
                            expected));
    if (round > 0)
      for (std::size_t i = 0; i < contenders; ++i)
        if (runs[i].mpps > 0) samples[i].push_back(runs[i].mpps);
  }
  return samples;
}

Figure ns_a_packet(std::vector<double> mpps) {
  for (double &sample : mpps) sample = 1e3 / sample;
  return figure_of(std::move(mpps));
}

// The fastest of those that do the whole work: what the planner is there to choose.
Contender best_plan(const Samples &samples) {
  return *std::ranges::max_element(
      whole_work, {}, [&](Contender c) { return samples[c].empty() ? 0.0 : figure_of(samples[c]).median; });
}

void add_row(Grid &grid, JsonLines &lines, std::uint32_t keys, double hit_percent, unsigned workers,
             const Samples &samples, std::span<const double> without) {
  std::vector<std::string> row{count_words(keys), fmt::format("{:g} %", hit_percent),
                               std::to_string(workers)};
  for (std::size_t i = 0; i < contenders; ++i) {
    if (samples[i].empty()) {
      row.emplace_back("-");
      continue;
    }
    const Figure f = figure_of(samples[i]);
    row.push_back(with_spread(f));
    lines.line({{"bench", "packet_path"},
                {"contender", names[i]},
                {"keys", std::uint64_t{keys}},
                {"hit_percent", hit_percent},
                {"workers", std::uint64_t{workers}},
                {"mpps", f.median},
                {"ns_per_packet", 1e3 * workers / f.median},
                {"spread_percent", f.spread_percent}});
  }
  const auto &best = samples[best_plan(samples)];
  row.push_back(with_spread(ratio_of(best, without)));
  row.push_back(samples[one_line].empty() ? "-" : with_spread(ratio_of(best, samples[one_line])));
  row.push_back(with_spread(ratio_of(best, samples[with_rte_hash])));
  row.push_back(short_number(1e3 * workers / figure_of(best).median));
  grid.rows.push_back(std::move(row));
}

void add_standings(std::uint32_t keys, double hit_percent, unsigned workers, const Samples &samples,
                   std::span<const double> without, std::vector<Standing> &standings) {
  const auto &best = samples[best_plan(samples)];
  const bool small = keys <= 1'000'000, all_hits = hit_percent == 100;
  const std::string at = fmt::format("{} keys, {:g} % hits{}", count_words(keys), hit_percent,
                                     workers == 1 ? "" : fmt::format(", {} workers", workers));
  double floor = small ? 0.50 : 0.38, aim = small ? 0.65 : 0.55;
  if (all_hits) floor = small ? 0.62 : 0.50, aim = small ? 0.72 : 0.60;
  standings.push_back(
      standing("packet path / loop without lookup, " + at, floor, aim, ratio_of(best, without)));
  if (workers > 1) return;
  // The floor is what was had when this row came.
  standings.push_back(standing("packet path / loop that reads one line, " + at, small ? 0.75 : 0.85,
                               small ? 0.90 : 0.95, ratio_of(best, samples[one_line])));
  if (small) return;
  standings.push_back(standing("packet path / loop with rte_hash, " + at, all_hits ? 2.3 : 1.6,
                               all_hits ? 3.0 : 2.2, ratio_of(best, samples[with_rte_hash])));
}

// What a packet takes in each loop; loops without keys only once.
void add_times(Grid &grid, std::uint32_t keys, const Samples &samples, const LimitLookup &limit) {
  if (keys == 1'000'000)
    for (const Contender c : {plain_loop, no_image, empty_lists})
      grid.rows.push_back({names[c], with_spread(ns_a_packet(samples[c]))});
  grid.rows.push_back({fmt::format("{} of {:.1f} MiB, {} keys", names[one_line],
                                   static_cast<double>(limit.bytes()) / (1 << 20), count_words(keys)),
                       with_spread(ns_a_packet(samples[one_line]))});
  for (const Contender c : {weir, weir_chained, weir_words, with_rte_hash})
    if (!samples[c].empty())
      grid.rows.push_back(
          {fmt::format("{}, {} keys", names[c], count_words(keys)), with_spread(ns_a_packet(samples[c]))});
}

// What is left of a packet's time when DPDK's own forwarder does less and less with it.
void show_beside_testpmd(const Options &options, JsonLines &lines, Grid grid) {
  const TestpmdFigures testpmd = run_testpmd(options);
  if (!testpmd.why_not.empty()) {
    fmt::print("\ntestpmd: not measured, {}\n", testpmd.why_not);
    return;
  }
  grid.rows.insert(grid.rows.begin(), {{"testpmd, io", with_spread(testpmd.io_ns)},
                                       {"testpmd, macswap", with_spread(testpmd.macswap_ns)}});
  lines.line(
      {{"bench", "testpmd"}, {"io_ns", testpmd.io_ns.median}, {"macswap_ns", testpmd.macswap_ns.median}});
  show(options, "testpmd", "beside testpmd on a port of the same kind, one worker, 10 % hits, ns a packet",
       grid);
}

void bench_packet_path(const Options &options, std::vector<Standing> &standings) {
  JsonLines lines(options, "packet_path");
  Grid grid{{"keys", "hits", "workers"}, {}};
  for (const char *name : names) grid.columns.emplace_back(name);
  grid.columns.insert(grid.columns.end(), {"/ without", "/ one line", "/ rte_hash", "ns a packet"});
  std::vector<std::unique_ptr<Rig>> rigs;
  for (unsigned workers = 1; workers <= std::min(workers_max, cpus()); ++workers)
    rigs.push_back(std::make_unique<Rig>(workers));

  Grid one_worker{{"", "ns a packet"}, {}}, stages = StageTimes::grid();
  const Image nothing({}, {}, false);
  for (const std::uint32_t keys : {1'000'000u, 10'000'000u}) {
    const auto entries = make_entries(keys);
    const Image image(entries, {}, false);
    const RteHashLookup<WireV4> peer(keys);
    dataplane::ListSlots lists;
    const dataplane::AttachContext context{workers_max, &lists, [] {}};
    const Image words(entries, {}, plan::Option{}, 1, build::HostHome::words);
    LimitLookup limit(words.report().deny_v4_bytes());
    Images images{attached_copy(image, 3, context), nullptr, attached_copy(words, 4, context),
                  attached_copy(nothing, 1, context)};
    if (!options.quick || keys == 1'000'000)
      images.chained = attached_copy(
          Image(entries, {}, plan::Option{plan::FrontFilter::none, plan::Predictor::chained}), 2, context);
    for (const double hit_percent : {10.0, 100.0}) {
      const auto sources = make_queries(keys, hit_percent, options.quick ? 1u << 22 : 1u << 24, 77);
      for (const auto &rig : rigs) {
        if (rig->workers() > 1 && options.quick && hit_percent == 100) continue;
        const Samples samples =
            compete(*rig, images, peer.table(), limit, sources, hit_percent, options.rounds());
        const auto &without = samples[plain_loop];
        add_row(grid, lines, keys, hit_percent, rig->workers(), samples, without);
        add_standings(keys, hit_percent, rig->workers(), samples, without, standings);
        if (rig->workers() > 1) continue;
        if (hit_percent == 10) add_times(one_worker, keys, samples, limit);
        const std::string at = fmt::format("{} keys, {:g} % hits", count_words(keys), hit_percent);
        samples.stages.add_row(stages, lines, at);
        samples.word_stages.add_row(stages, lines, at + ", words");
      }
    }
  }
  show(options, "packet_path",
       fmt::format("packet path, {} packets round a ring port, million packets a second", loop_packets),
       grid);
  show(options, "packet_path_stages", "TSC cycles a packet in the stages of one worker", stages);
  show_beside_testpmd(options, lines, std::move(one_worker));
}

const Benchmark packet_path_benchmark{50, "packet_path", bench_packet_path};

} // namespace
} // namespace weir::bench
