// The packet path with and without packet rules, through the real worker on a ring port: one million denied hosts of which one
// packet in ten is from, and then nothing more; 1,000 patterns that no packet matches; a million exact flows, every packet of
// one; and both. What differs in time is what rules cost; a gate without any must not be slower than it was.
#include "tests/bench/rig.hpp"
#include "weir/build/flow_table_builder.hpp"
#include "weir/build/packet_rules_builder.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <random>

namespace weir::bench {
namespace {

constexpr std::uint32_t hosts = 1'000'000;
constexpr unsigned patterns = 1'000;

enum Contender : std::size_t { absent, wildcards, flows, both, contenders };
constexpr const char *names[contenders] = {"no rules", "1,000 wildcard rules", "1M flows",
                                           "1,000 rules, 1M flows"};

// Ports, protocols and prefixes of a server's networks as rules of a firewall have them; the packets of a rig go to UDP 53 of
// 198.51.100.1, which none of them names.
std::vector<image::RulePattern> wildcard_patterns() {
  std::mt19937_64 random(7);
  std::vector<image::RulePattern> all;
  for (unsigned i = 0; i < patterns; ++i) {
    image::RulePattern p = build::any_packet(RuleId(static_cast<std::uint16_t>(i)));
    p.family = 4;
    p.to_length = static_cast<std::uint8_t>(16 + random() % 17);
    const Address to = masked(
        Address::from_host(0xC6000000 | static_cast<std::uint32_t>(random() % (1u << 24))), p.to_length);
    p.to = to.bytes;
    p.names_protocol = p.names_ports = 1;
    p.protocol = random() % 2 == 0 ? 6 : 17;
    p.from_port_last = 65'535;
    p.to_port_first = static_cast<std::uint16_t>(1024 + random() % 60'000);
    p.to_port_last = static_cast<std::uint16_t>(p.to_port_first + (random() % 4 == 0 ? random() % 100 : 0));
    all.push_back(p);
  }
  return all;
}

// Of a source that a rig sends from, as its frame has it: UDP from 1024 to port 53 of 198.51.100.1.
std::vector<image::FlowV4> exact_flows(std::span<const std::uint32_t> sources) {
  std::vector<image::FlowV4> all;
  const std::uint32_t to = byteswap32(0xC6336401),
                      ports = byteswap16(1024) | std::uint32_t{byteswap16(53)} << 16;
  for (const std::uint32_t source : sources)
    all.push_back({source | std::uint64_t{to} << 32,
                   image::flow_word::leading_to(image::flow_word::asked(ports, 17), RuleId(0))});
  std::ranges::sort(all, {}, &image::FlowV4::addresses);
  all.erase(std::ranges::unique(all).begin(), all.end());
  return all;
}

std::unique_ptr<dataplane::AttachedImage> build_gate(std::span<const build::EntryV4> entries,
                                                     std::span<const std::uint32_t> sources,
                                                     Contender contender,
                                                     const dataplane::AttachContext &context) {
  std::vector<std::byte> rules, table;
  if (contender != absent) {
    std::vector<image::RuleEntry> list;
    const std::vector<image::RulePattern> all =
        contender == flows ? std::vector<image::RulePattern>{} : wildcard_patterns();
    for (std::size_t i = 0; i < std::max<std::size_t>(all.size(), 1); ++i)
      list.push_back(build::rule_entry(fmt::format("r{}", i), RuleAction::count));
    rules = build::build_packet_rules({.rules = list, .patterns = all, .ports = {}}).value();
  }
  if (contender == flows || contender == both)
    table = build::build_flow_table({.v4 = exact_flows(sources), .v6 = {}, .seed = 5}).value();
  return attached_gate(entries, Generation(1 + contender), context, [&](build::BuildInput &input) {
    input.packet_rules = rules;
    input.flows = table;
  });
}

void bench_packet_rules(const Options &options, std::vector<Standing> &standings) {
  JsonLines lines(options, "packet_rules");
  Grid grid{{"rules", "million packets a second", "of the path without", "ns a packet more"}, {}};
  Rig rig(1);
  dataplane::ListSlots lists;
  dataplane::RuleKeeping keeping;
  dataplane::AttachContext context{1, &lists, [] {}};
  context.rules = &keeping;
  const auto entries = make_entries(hosts);
  const auto sources = make_queries(hosts, 10, options.quick ? 1u << 20 : 1u << 23, 77);
  const std::span flow_sources = std::span(sources).first(1'000'000);
  std::array<std::unique_ptr<dataplane::AttachedImage>, contenders> images;
  for (std::size_t i = 0; i < contenders; ++i)
    images[i] = build_gate(entries, flow_sources, static_cast<Contender>(i), context);
  const std::size_t round_packets = flow_sources.size() / 2;
  std::array<std::vector<double>, contenders> mpps, ns;
  dataplane::Worker worker(rig.setup(0), rig.slot(), rig.counters());
  for (unsigned round = 0; round <= options.rounds(); ++round) { // round 0 warms up
    std::array<double, contenders> now{};
    for (std::size_t i = 0; i < contenders; ++i) {
      rig.publish(std::move(images[i]));
      now[i] = rig.run(flow_sources.subspan(round % 2 * round_packets, round_packets), round_packets,
                       [&](unsigned, const std::atomic<bool> &stop) { worker.run(stop); })
                   .mpps;
      images[i] = rig.publish(nullptr);
    }
    if (round == 0) continue;
    for (std::size_t i = 0; i < contenders; ++i) {
      mpps[i].push_back(now[i]);
      ns[i].push_back(1e3 / now[i] - 1e3 / now[absent]);
    }
  }
  for (std::size_t i = 0; i < contenders; ++i) {
    const Figure cost = figure_of(ns[i]);
    grid.rows.push_back({names[i], with_spread(figure_of(mpps[i])),
                         with_spread(ratio_of(mpps[i], mpps[absent])),
                         i == absent ? "-" : with_spread(cost)});
    lines.line({{"bench", "packet_rules"},
                {"contender", names[i]},
                {"mpps", figure_of(mpps[i]).median},
                {"ns_a_packet", i == absent ? 0 : cost.median}});
    if (i != absent)
      standings.push_back(
          standing(fmt::format("packet rules, {}, ns a packet", names[i]), 150, 90, cost, true));
  }
  show(options, "packet_rules", "the packet path with packet rules, 1M denied hosts, one worker", grid);
}

const Benchmark packet_rules_benchmark{51, "packet_rules", bench_packet_rules};

} // namespace
} // namespace weir::bench
