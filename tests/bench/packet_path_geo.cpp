// Packets a second through the real worker on a ring port when the prefixes of all countries are denied, beside the
// same loop without lookup, which drops the same share of the packets, and beside that loop when it also prefetches and
// reads one random line of as much memory as the prefixes take for each packet (packet_path.cpp, rig.hpp). Sources are the
// uniform mix of prefix_queries.hpp. Each turn of an IPv6 packet writes the first four bytes of its source; the
// other twelve are random and stay, different ones in each of the packets that go round.
#include "tests/bench/prefix_queries.hpp"
#include "tests/bench/rig.hpp"

#include <fmt/core.h>

#include <cmath>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace weir::bench {
namespace {

struct Target {
  double floor, aim;
};
// Beside the loop without lookup, and beside the one that reads a line: there the floor is what was had when the row came.
template <class Wire>
constexpr Target without_lookup = std::is_same_v<Wire, WireV4> ? Target{0.60, 0.75} : Target{0.40, 0.60};
constexpr Target with_one_line{0.70, 0.85};

template <class Wire> std::string row(std::string_view beside) {
  return fmt::format("packet path, geo {} uniform / loop {}", OfFamily<Wire>::name, beside);
}
template <class Wire> std::string row_without() { return row<Wire>("without lookup"); }
template <class Wire> std::string row_of_line() { return row<Wire>("that reads one line"); }

LoopFrame ipv6_frame(const WireV6 &source) {
  constexpr std::size_t source_at = 14 + 8;
  LoopFrame frame{{0x02, 0, 0, 0, 0, 1, 0x02, 0, 0, 0, 0, 2, 0x86, 0xDD, // Ethernet, IPv6
                   0x60, 0, 0, 0, 0, 8, 17,   64},                       // eight bytes of UDP
                  source_at};
  frame.bytes.insert(frame.bytes.end(), source.begin(), source.end());
  frame.bytes.insert(frame.bytes.end(), {0x20, 0x01, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, //
                                         0x04, 0,    0,    53,   0, 8, 0, 0}); // 1024 to 53
  return frame;
}

template <class Wire> std::vector<LoopFrame> frames_of(const PrefixQueries<Wire> &queries) {
  if constexpr (std::is_same_v<Wire, WireV4>) return {plain_frame()};
  std::mt19937_64 random(6);
  std::vector<LoopFrame> frames;
  if constexpr (std::is_same_v<Wire, WireV6>)
    for (unsigned i = 0; i < loop_packets; ++i) frames.push_back(ipv6_frame(queries.uniform(random)));
  return frames;
}

// The first four bytes of each address: all of an IPv4 one.
template <class Wire> std::vector<std::uint32_t> first_words(const std::vector<Wire> &addresses) {
  std::vector<std::uint32_t> words(addresses.size());
  for (std::size_t i = 0; i < words.size(); ++i) std::memcpy(&words[i], &addresses[i], sizeof words[i]);
  return words;
}

struct Images {
  std::unique_ptr<dataplane::AttachedImage> geo, empty;
};

struct Samples {
  std::vector<double> worker, empty_lists, plain, one_line; // million packets a second, round by round
  StageTimes stages;                                        // of `worker`
};

// A lookup may be so slow that a round takes seconds: rounds are made shorter then.
template <class Run> std::uint64_t packets_a_round(std::uint64_t most, const Run &run) {
  constexpr double round_ms_max = 40;
  std::uint64_t packets = 4096;
  while (2 * packets <= most && 2e-3 * static_cast<double>(packets) / run(packets).mpps <= round_ms_max)
    packets *= 2;
  return packets;
}

template <class Wire>
Samples race(const Options &options, const PrefixSet<Wire> &set, const Image &image, Images &images) {
  const PrefixQueries<Wire> queries(set);
  constexpr std::size_t sample = 1u << 14;
  const double share =
      static_cast<double>(WeirLookup(image.view()).run(queries.make(QueryMix::uniform, sample, 1))) /
      static_cast<double>(sample);
  const std::uint64_t most = options.quick ? 1u << 19 : 1u << 21;
  const auto sources = first_words(queries.make(QueryMix::uniform, 8 * most, 77));

  Rig rig(1, frames_of(queries));
  dataplane::Worker worker(rig.setup(0), rig.slot(), rig.counters());
  PlainLoop plain(rig, 0, nullptr, share, *images.empty), one_line(rig, 0, nullptr, share, *images.empty);
  LimitLookup limit(bytes_of_entries(image, set.lists));
  one_line.read_lines_of(limit);
  const auto work = [&](std::unique_ptr<dataplane::AttachedImage> &image_of_run, unsigned round,
                        std::uint64_t packets) {
    rig.publish(std::move(image_of_run));
    const auto run = rig.run(std::span(sources).subspan(round % 8 * most, most), packets,
                             [&](unsigned, const std::atomic<bool> &stop) { worker.run(stop); });
    image_of_run = rig.publish(nullptr);
    return run;
  };
  const std::uint64_t few = packets_a_round(most, [&](std::uint64_t n) { return work(images.geo, 0, n); });

  Samples samples;
  for (unsigned round = 0; round <= options.rounds(); ++round) { // round 0 warms up
    const auto run = [&] { return work(images.geo, round, few); };
    const Rig::Run geo = round == 0 ? run() : samples.stages.over(rig, run),
                   empty = work(images.empty, round, most);
    const auto without_lookup = [&](PlainLoop &loop) {
      return rig.run(std::span(sources).subspan(round % 8 * most, most), most,
                     [&](unsigned, const std::atomic<bool> &stop) { loop.run(stop); });
    };
    const Rig::Run without = without_lookup(plain), with_line = without_lookup(one_line);
    // Five standard deviations of the packets and of the sample, and what was in flight.
    const auto packets = static_cast<double>(few);
    const double slack = 2.5 * (std::sqrt(packets) + packets / std::sqrt(static_cast<double>(sample))) +
                         4.0 * dataplane::burst_packets_max;
    if (std::abs(static_cast<double>(geo.drops) - share * packets) > slack)
      give_up(fmt::format("the worker dropped {} of {} packets, {:.0f} were expected", geo.drops, few,
                          share * packets));
    if (round == 0) continue;
    samples.worker.push_back(geo.mpps);
    samples.empty_lists.push_back(empty.mpps);
    samples.plain.push_back(without.mpps);
    samples.one_line.push_back(with_line.mpps);
  }
  return samples;
}

template <class Wire> void leave_out(std::vector<Standing> &standings) {
  standings.push_back(
      not_measured(row_without<Wire>(), without_lookup<Wire>.floor, without_lookup<Wire>.aim, geo_remedy));
  standings.push_back(not_measured(row_of_line<Wire>(), with_one_line.floor, with_one_line.aim, geo_remedy));
}

template <class Wire>
void measure(const Options &options, const PrefixSet<Wire> &set, JsonLines &lines, Grid &grid, Grid &stages,
             std::vector<Standing> &standings) {
  const Image nothing({}, {}, false);
  dataplane::ListSlots lists;
  const dataplane::AttachContext context{workers_max, &lists, [] {}};
  const std::unique_ptr<Image> image = image_of(set.entries, set.lists);
  Images images{attached_copy(*image, 2, context), attached_copy(nothing, 1, context)};
  const Samples samples = race(options, set, *image, images);
  const Figure worker = figure_of(samples.worker), ratio = ratio_of(samples.worker, samples.plain),
               of_line = ratio_of(samples.worker, samples.one_line);
  grid.rows.push_back({fmt::format("geo, {}", OfFamily<Wire>::name), with_spread(worker),
                       with_spread(figure_of(samples.empty_lists)), with_spread(figure_of(samples.plain)),
                       with_spread(figure_of(samples.one_line)), with_spread(ratio), with_spread(of_line),
                       short_number(1e3 / worker.median)});
  samples.stages.add_row(stages, lines, fmt::format("geo, {}", OfFamily<Wire>::name));
  lines.line({{"bench", "packet_path_geo"},
              {"family", OfFamily<Wire>::name},
              {"mpps", worker.median},
              {"plain_mpps", figure_of(samples.plain).median},
              {"one_line_mpps", figure_of(samples.one_line).median},
              {"ratio", ratio.median},
              {"spread_percent", ratio.spread_percent}});
  standings.push_back(
      standing(row_without<Wire>(), without_lookup<Wire>.floor, without_lookup<Wire>.aim, ratio));
  standings.push_back(standing(row_of_line<Wire>(), with_one_line.floor, with_one_line.aim, of_line));
}

void bench_packet_path_geo(const Options &options, std::vector<Standing> &standings) {
  const auto geo = load_geo();
  if (!geo) {
    fmt::print("\npacket path, geo: not measured: {}\n", geo_remedy);
    leave_out<WireV4>(standings);
    leave_out<WireV6>(standings);
    return;
  }
  JsonLines lines(options, "packet_path_geo");
  Grid grid{
      {"list", "worker", "empty lists", "plain loop", "one line", "/ without", "/ one line", "ns a packet"},
      {}};
  Grid stages = StageTimes::grid();
  measure(options, geo->v4, lines, grid, stages, standings);
  measure(options, geo->v6, lines, grid, stages, standings);
  show(options, "packet_path_geo",
       fmt::format("packet path, prefixes of all countries, {} packets round a ring port, million a second",
                   loop_packets),
       grid);
  show(options, "packet_path_geo_stages", "TSC cycles a packet in the stages of one worker", stages);
}

const Benchmark packet_path_geo_benchmark{50, "packet_path_geo", bench_packet_path_geo};

} // namespace
} // namespace weir::bench
