// The packet path with and without a memory of offenders, through the real worker on a ring port: one million denied hosts, no
// packet or one in ten denied, all others asked. The classifier is 64 trees of depth 4 in front of six groups, the memory holds
// 200,000 insertions at 1 % wrong accepts. What differs in time, by packet asked, is what the memory costs.
#include "tests/bench/rig.hpp"
#include "tests/support/random_trees.hpp"
#include "weir/build/offenders_builder.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>

namespace weir::bench {
namespace {

constexpr std::uint32_t hosts = 1'000'000;
constexpr unsigned groups = 6;

enum Contender : std::size_t { absent, rotating, slbf, by_header, contenders };
constexpr const char *names[contenders] = {"no offenders", "rotating", "g-SLBF", "g-SLBF, header"};

struct Model {
  std::vector<std::byte> trees, neighbours;
  std::array<float, groups - 1> thresholds{-0.8F, -0.4F, 0, 0.4F, 0.8F};
  // Shares of a classifier with an AUC near 0.87.
  std::array<build::ScoreGroup, groups> shares{
      {{0.03, 0.30}, {0.07, 0.25}, {0.14, 0.19}, {0.20, 0.13}, {0.26, 0.08}, {0.30, 0.05}}};
};
Model model_for(OffenderElement element) {
  constexpr std::array<unsigned, 64> depths = [] {
    std::array<unsigned, 64> all{};
    all.fill(4);
    return all;
  }();
  return {.trees = test::random_trees(depths, image::offender_features(element), 3),
          .neighbours = std::vector<std::byte>(image::offender_neighbours)};
}

std::vector<std::byte> section_of(Contender contender) {
  const auto element = contender == by_header ? OffenderElement::header : OffenderElement::source;
  static constexpr std::array<build::ScoreGroup, 1> all{{{1, 1}}};
  const Model model = model_for(element);
  build::OffendersInput in;
  in.element = element;
  in.targets = {.accepted = 0.01, .missed = 0.1, .gap = 200'000};
  auto plan = contender == rotating
                  ? build::plan_rotating_offenders({}, all, in.targets)
                  : build::plan_stable_offenders(model.thresholds, model.shares, in.targets);
  if (!plan) give_up(plan.error().message);
  in.plan = std::move(*plan);
  in.seed = 0x5EED;
  if (contender != rotating) {
    in.model = 1;
    in.trees = model.trees;
    in.neighbours = model.neighbours;
  }
  auto section = build::build_offenders(in);
  if (!section) give_up(section.error().message);
  return std::move(*section);
}

std::unique_ptr<dataplane::AttachedImage> build_gate(std::span<const build::EntryV4> entries,
                                                     Contender contender,
                                                     const dataplane::AttachContext &context) {
  std::vector<std::byte> section;
  return attached_gate(entries, Generation(1 + contender), context, [&](build::BuildInput &input) {
    if (contender != absent) input.offenders = section = section_of(contender);
  });
}

void bench_offenders(const Options &options, std::vector<Standing> &standings) {
  JsonLines lines(options, "offenders");
  Grid grid{{"denied", "memory", "million packets a second", "of the path without", "ns a packet asked"}, {}};
  Rig rig(1);
  dataplane::ListSlots lists;
  dataplane::OffenderMemories memories("", 1, false);
  dataplane::AttachContext context{1, &lists, [] {}};
  context.offenders = &memories;
  const auto entries = make_entries(hosts);
  std::array<std::unique_ptr<dataplane::AttachedImage>, contenders> images;
  for (std::size_t i = 0; i < contenders; ++i)
    images[i] = build_gate(entries, static_cast<Contender>(i), context);
  for (const double hit_percent : {0.0, 10.0}) {
    const auto sources = make_queries(hosts, hit_percent, options.quick ? 1u << 22 : 1u << 24, 77);
    const std::size_t round_packets = sources.size() / 8;
    std::array<std::vector<double>, contenders> mpps, ns_asked;
    dataplane::Worker worker(rig.setup(0), rig.slot(), rig.counters());
    for (unsigned round = 0; round <= options.rounds(); ++round) { // round 0 warms up
      std::array<double, contenders> now{};
      for (std::size_t i = 0; i < contenders; ++i) {
        rig.publish(std::move(images[i]));
        now[i] = rig.run(std::span(sources).subspan(round % 8 * round_packets, round_packets), round_packets,
                         [&](unsigned, const std::atomic<bool> &stop) { worker.run(stop); })
                     .mpps;
        images[i] = rig.publish(nullptr);
      }
      if (round == 0) continue;
      for (std::size_t i = 0; i < contenders; ++i) {
        mpps[i].push_back(now[i]);
        ns_asked[i].push_back((1e3 / now[i] - 1e3 / now[absent]) / (1 - hit_percent / 100));
      }
    }
    for (std::size_t i = 0; i < contenders; ++i) {
      const Figure cost = figure_of(ns_asked[i]);
      grid.rows.push_back({fmt::format("{:g} %", hit_percent), names[i], with_spread(figure_of(mpps[i])),
                           with_spread(ratio_of(mpps[i], mpps[absent])),
                           i == absent ? "-" : with_spread(cost)});
      lines.line({{"bench", "offenders"},
                  {"contender", names[i]},
                  {"hit_percent", hit_percent},
                  {"mpps", figure_of(mpps[i]).median},
                  {"ns_per_packet_asked", i == absent ? 0 : cost.median}});
      if (i != absent)
        standings.push_back(
            standing(fmt::format("offenders, {}, ns a packet asked, {:g} % denied", names[i], hit_percent),
                     120, 60, cost, true));
    }
  }
  show(options, "offenders", "the packet path with a memory of offenders, 1M denied hosts, one worker", grid);
}

const Benchmark offenders_benchmark{50, "offenders", bench_offenders};

} // namespace
} // namespace weir::bench
