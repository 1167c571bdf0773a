// What lists beside a million denied hosts cost a packet: packets a second through the real worker on a ring port with an
// allow list of one host, of one network or of 10,000 hosts, with 3,000 denied prefixes (prefix_sets.hpp), and with both,
// beside the hosts alone. One packet in ten is of a denied host, the others of random addresses; hosts are in words.
#include "tests/bench/prefix_sets.hpp"
#include "tests/bench/rig.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <string>

namespace weir::bench {
namespace {

constexpr std::uint32_t denied_hosts = 1'000'000, allowed_hosts = 10'000;
constexpr double hit_percent = 10;
constexpr ListId allowed{1};

struct Lists {
  const char *name;
  std::vector<build::EntryV4> prefixes, allow; // beside the denied hosts
  double floor = 0, aim = 0;                   // beside the hosts alone; 0: no target
};

std::vector<Lists> lists_to_measure() {
  const build::EntryV4 host{.host = 0xC0000201, .list = allowed},
      network{.host = 0xC0000200, .length = 24, .list = allowed};
  std::vector<build::EntryV4> many;
  for (std::uint32_t i = 0; i < allowed_hosts; ++i)
    many.push_back({.host = byteswap32(scrambled_address(denied_hosts + i)), .list = allowed});
  std::ranges::sort(many);
  const std::vector<build::EntryV4> prefixes = firehol_like_prefixes().entries;
  return {{"hosts alone", {}, {}},
          {"one host is allowed", {}, {host}, 0.85, 0.95},
          {"one network is allowed", {}, {network}, 0.85, 0.95},
          {"10k hosts are allowed", {}, many, 0.65, 0.90},
          {"3,000 prefixes are denied", prefixes, {}, 0.75, 0.90},
          {"3,000 prefixes are denied, one host is allowed", prefixes, {host}, 0.70, 0.90}};
}

struct Measured {
  Lists lists;
  std::unique_ptr<dataplane::AttachedImage> image;
  std::vector<double> mpps; // round by round
  std::uint64_t drops = 0;
  StageTimes stages;
};

std::unique_ptr<dataplane::AttachedImage> attached(const Lists &lists, Generation generation,
                                                   const dataplane::AttachContext &context) {
  std::vector<build::EntryV4> deny = make_entries(denied_hosts);
  deny.insert(deny.end(), lists.prefixes.begin(), lists.prefixes.end());
  std::ranges::sort(deny);
  return attached_gate(deny, generation, context, [&](build::BuildInput &input) {
    input.lists.push_back({.name = "allowed", .number = allowed, .side = Side::allow});
    input.allow.v4 = lists.allow;
  });
}

void bench_packet_lists(const Options &options, std::vector<Standing> &standings) {
  dataplane::ListSlots slots;
  const dataplane::AttachContext context{workers_max, &slots, [] {}};
  std::vector<Measured> all;
  for (Lists &lists : lists_to_measure()) {
    auto image = attached(lists, Generation(all.size() + 1), context);
    all.push_back({std::move(lists), std::move(image), {}, 0, {}});
  }
  const std::size_t packets = options.quick ? 1u << 19 : 1u << 21;
  const auto sources = make_queries(denied_hosts, hit_percent, 8 * packets, 77);
  Rig rig(1);
  dataplane::Worker worker(rig.setup(0), rig.slot(), rig.counters());
  for (unsigned round = 0; round <= options.rounds(); ++round) // round 0 warms up
    for (Measured &m : all) {
      rig.publish(std::move(m.image));
      const auto run = [&] {
        return rig.run(std::span(sources).subspan(round % 8 * packets, packets), packets,
                       [&](unsigned, const std::atomic<bool> &stop) { worker.run(stop); });
      };
      const Rig::Run done = round == 0 ? run() : m.stages.over(rig, run);
      m.image = rig.publish(nullptr);
      if (round == 0) continue;
      m.mpps.push_back(done.mpps);
      m.drops += done.drops;
    }

  JsonLines lines(options, "packet_lists");
  Grid grid{{"lists", "million a second", "/ hosts alone", "ns a packet"}, {}};
  Grid stages = StageTimes::grid();
  for (const Measured &m : all) {
    // Prefixes can only add to what is dropped, and what is allowed here is not denied.
    if (m.drops < all[0].drops || (m.lists.prefixes.empty() && m.drops != all[0].drops))
      give_up(fmt::format("{}: {} packets were dropped, {} with the hosts alone", m.lists.name, m.drops,
                          all[0].drops));
    const Figure figure = figure_of(m.mpps), ratio = ratio_of(m.mpps, all[0].mpps);
    grid.rows.push_back(
        {m.lists.name, with_spread(figure), with_spread(ratio), short_number(1e3 / figure.median)});
    m.stages.add_row(stages, lines, m.lists.name);
    lines.line({{"bench", "packet_lists"},
                {"lists", m.lists.name},
                {"mpps", figure.median},
                {"ratio", ratio.median},
                {"spread_percent", ratio.spread_percent}});
    if (m.lists.floor != 0)
      standings.push_back(standing(fmt::format("packets, {} / hosts alone", m.lists.name), m.lists.floor,
                                   m.lists.aim, ratio));
  }
  show(options, "packet_lists",
       fmt::format("packet path, lists beside {} denied hosts, {:g} % of the packets denied",
                   count_words(denied_hosts), hit_percent),
       grid);
  show(options, "packet_lists_stages", "TSC cycles a packet in the stages of one worker", stages);
}

const Benchmark packet_lists_benchmark{50, "packet_lists", bench_packet_lists};

} // namespace
} // namespace weir::bench
